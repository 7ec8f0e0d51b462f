"""The jobs every contender may enter: one after the other, by turns, judged, as plain figures.

By turns, so that whatever else the machine is doing falls on all alike. A contender that fails is a line in the
table, not the end of it; a contender whose own objective the judge cannot confirm is the end.
"""

from __future__ import annotations

import dataclasses
import statistics

from bench import judge, measure
from bench.contenders import TEXT_TO_MODEL, Contender, Outcome, Settings

OURS = "lazyglm"  # at its default settings
FURTHER = 4  # further epochs of cache-epoch: one is too short to tell from noise


def compete(job: str, who: list[Contender], data, settings: Settings, judge_: judge.Judge, repeats: int) -> dict:
    """One job on one data set: {"rows": [...], "skipped": [...]}."""
    skipped = [f"{c.name}: {why}" for c in who if (why := c.jobs().get(job, "not its job"))]
    running = [c for c in who if job in c.jobs() and not c.jobs()[job]]
    entries = []
    for contender in running:
        try:
            contender.prepare(job, data, settings)
            entries.append(Entry(contender))
        except measure.Failed as why:
            skipped.append(f"{contender.name}: {why}")
    lengths = [1] if job == TEXT_TO_MODEL else [1, 1 + FURTHER]
    for turn in range(repeats):
        for entry in list(entries):
            try:
                entry.take(job, data, settings, judge_, lengths, first=turn == 0)
            except measure.Failed as why:
                entries.remove(entry)
                skipped.append(f"{entry.contender.name}: {why}")
    return {"job": job, "rows": against_ours([entry.row() for entry in entries]), "skipped": skipped}


class Entry:
    """A contender's runs in one job."""

    def __init__(self, contender: Contender):
        self.contender = contender
        self.runs: dict[int, list[Outcome]] = {}  # by number of epochs
        self.verdicts: dict[int, judge.Verdict] = {}

    def take(self, job: str, data, settings: Settings, judge_: judge.Judge, lengths: list[int], first: bool) -> None:
        for epochs in lengths:
            outcome = self.contender.run(job, data, settings, epochs)
            self.runs.setdefault(epochs, []).append(outcome)
            if first:  # seeds are fixed: later turns give the same model
                verdict = judge_.judge(*self.contender.learnt(outcome))
                judge.check(outcome.objective, verdict)
                self.verdicts[epochs] = verdict

    def row(self) -> dict:
        least, most = min(self.runs), max(self.runs)
        runs = self.runs[least]
        best = min(runs, key=lambda o: o.seconds)
        row = {
            "contender": self.contender.name,
            "version": self.contender.version(),
            "flags": self.contender.flags,
            "seconds": best.seconds,
            "median": statistics.median(o.seconds for o in runs),
            "all": [round(o.seconds, 4) for o in runs],
            "wall": min(o.wall for o in runs),
            "cpu": best.cpu,
            "peak": max(o.peak for o in runs),
            "notes": best.notes,
            **dataclasses.asdict(self.verdicts[most]),
        }
        if most > least:  # what an epoch more costs, one rule for all: the difference of two whole runs
            longer = self.runs[most]
            row["epoch"] = (min(o.seconds for o in longer) - best.seconds) / (most - least)
            row["peak"] = max(row["peak"], *(o.peak for o in longer))
            row["longer"] = {"epochs": most, "all": [round(o.seconds, 4) for o in longer]}
            row["longer"]["notes"] = min(longer, key=lambda o: o.seconds).notes
        return row


def against_ours(rows: list[dict]) -> list[dict]:
    """Each time as a multiple of lazyglm's; without lazyglm there is nothing to set it against."""
    ours = next((row for row in rows if row["contender"] == OURS), None)
    for row in rows:
        row["ratio"] = row["seconds"] / ours["seconds"] if ours else None
        if "epoch" in row:  # two short runs may differ by noise alone, even downwards
            clear = ours and min(ours["epoch"], row["epoch"]) > 0
            row["epoch_ratio"] = row["epoch"] / ours["epoch"] if clear else None
    return rows
