"""Jobs that are lazyglm's alone: training within a memory limit; and how large caches are, ours beside the others'."""

from __future__ import annotations

import dataclasses
import subprocess
import time

from bench import judge, measure
from bench.contenders import CACHE_EPOCH, Contender, Settings
from bench.contenders import lazyglm as ours

EPOCHS = 3  # enough that reading ahead matters and start-up does not
SHARE = 4  # the data are this many times the limit


def memory(who: list[Contender], data, settings: Settings, judge_: judge.Judge, repeats: int) -> dict:
    """Data of about four times the limit, within the limit and without, both from the cache."""
    result = {"job": "memory", "rows": [], "skipped": []}
    program = next((c for c in who if isinstance(c, ours.Lazyglm)), None)
    if program is None:
        result["skipped"].append("lazyglm: does not take part")
        return result
    missing = [flag for flag in ("--memory", "--cache") if not program.has(flag)]
    if missing:
        result["skipped"].append(f"lazyglm: this build has no {' and no '.join(missing)}")
        return result
    size = data.train.stat().st_size  # of the text
    limit = max(size // SHARE // 2**20, 1)
    try:
        program.prepare(CACHE_EPOCH, data, settings)
        ways = {"in memory": [], f"--memory {limit}M": ["--memory", f"{limit}M"]}
        runs, verdicts = {name: [] for name in ways}, {}
        for turn in range(repeats):
            for name, flags in ways.items():
                runs[name].append(program.train(data, settings, EPOCHS, "auto", flags))
                if turn == 0:
                    verdicts[name] = judge_.judge(*program.learnt(runs[name][0]))
                    judge.check(runs[name][0].objective, verdicts[name])
    except measure.Failed as why:
        result["skipped"].append(f"lazyglm: {why}")
        return result
    base = min(o.seconds for o in runs["in memory"])
    for name, flags in ways.items():
        best = min(runs[name], key=lambda o: o.seconds)
        row = {"contender": name, "seconds": best.seconds, "ratio": best.seconds / base, "size": size}
        row |= {"train_seconds": best.notes["seconds_train"], "peak": max(o.peak for o in runs[name])}
        row |= {"limit": limit * 2**20 if flags else None, **dataclasses.asdict(verdicts[name])}
        result["rows"].append(row)
    return result


def cache_size(who: list[Contender], data, settings: Settings) -> dict:
    """Bytes of text and of each contender's cache; and how long ours takes to open, if the program can say."""
    text = data.train.stat().st_size
    result = {"job": "cache-size", "rows": [], "skipped": [], "text": text}
    seen = set()
    for contender in who:
        why = contender.jobs().get(CACHE_EPOCH, "not its job")
        if why:
            result["skipped"].append(f"{contender.name}: {why}")
            continue
        try:
            cache = contender.prepare(CACHE_EPOCH, data, settings)
        except measure.Failed as failed:
            result["skipped"].append(f"{contender.name}: {failed}")
            continue
        if cache is None:
            result["skipped"].append(f"{contender.name}: made no cache that could be found")
            continue
        if cache in seen:  # two variants of a contender share one
            continue
        seen.add(cache)
        size = cache.stat().st_size
        row = {"contender": contender.name, "cache": size, "ratio": size / text, "open": None}
        if isinstance(contender, ours.Lazyglm):
            row["open"] = min(open_seconds(contender.program, cache) for _ in range(5))
        result["rows"].append(row)
    return result


def open_seconds(program, cache) -> float:
    """From the start of the program to an open cache: a flag that a cache cannot follow ends the run right there."""
    start = time.perf_counter()
    run = subprocess.run([str(program), "train", str(cache), "--drop", "nothing"], capture_output=True, text=True)
    said = run.stderr
    if "is a cache" not in said:
        raise measure.Failed(f"the cache was not opened: {said}")
    return time.perf_counter() - start
