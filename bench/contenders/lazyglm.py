"""lazyglm: the program as built by `cargo build --release`."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from bench import measure
from bench.contenders import CACHE_EPOCH, TEXT_TO_MODEL, Contender, Missing, Outcome, Settings, Tools


def contenders(tools: Tools) -> list[Contender]:
    if not tools.lazyglm.exists():
        raise Missing("no program; `make build` first")
    return [
        Lazyglm(tools.lazyglm, "lazyglm", "", []),
        Lazyglm(tools.lazyglm, "lazyglm, in order", "--order sequential --eta0 (given)", ["--order", "sequential"]),
    ]


class Lazyglm(Contender):
    def __init__(self, program: Path, name: str, flags: str, extra: list[str]):
        self.program, self.name, self.flags, self.extra = program, name, flags, extra
        self.help = said(program, "train", "--help")

    def version(self) -> str:
        commit = said("git", "-C", measure.ROOT, "describe", "--always", "--dirty").strip()
        return f"{said(self.program, '--version').strip().removeprefix('lazyglm ')} ({commit or 'no commit'})"

    def has(self, flag: str) -> bool:
        """Flags come and go between versions: what this build has, it says itself."""
        return re.search(rf"^\s+(-\w, )?{flag}(\s|=|$)", self.help, re.MULTILINE) is not None

    def jobs(self) -> dict[str, str | None]:
        return {TEXT_TO_MODEL: None, CACHE_EPOCH: None if self.has("--cache") else "this build has no --cache"}

    def command(self, data, settings: Settings, epochs: int, cache: str) -> list:
        command = [self.program, "train", data.train, "-o", self.model(data), "--json", "--quiet"]
        command += ["--l1", settings.l1, "--l2", settings.l2, "--epochs", epochs]
        if self.has("--cache"):
            command += ["--cache", cache]
        if self.extra and settings.eta0 is not None:
            command += ["--eta0", settings.eta0]
        return command + self.extra

    def model(self, data) -> Path:
        return data.folder / "lazyglm.model"

    def prepare(self, job: str, data, settings: Settings) -> Path | None:
        if job != CACHE_EPOCH:
            return None
        before = files(data.folder)
        self.train(data, settings, 1, "auto")
        made = files(data.folder) - before - {self.model(data)}
        # Where it keeps a cache is its own affair; what appeared beside the data, or there before, is it.
        return max(made or cache_like(data.folder), key=lambda file: file.stat().st_size, default=None)

    def train(self, data, settings: Settings, epochs: int, cache: str, more: list | None = None) -> Outcome:
        home = {**os.environ, "XDG_CACHE_HOME": str(data.folder / "cache")}  # nothing outside this folder
        cost = measure.run(self.command(data, settings, epochs, cache) + (more or []), env=home)
        report = json.loads(cost.stdout)
        notes = {key: report.get(key) for key in ("seconds_read", "seconds_train", "eta0", "rows", "features")}
        return Outcome(cost.wall, cost.wall, cost.cpu, cost.peak, self.model(data), report["objective"], notes)

    def run(self, job: str, data, settings: Settings, epochs: int) -> Outcome:
        return self.train(data, settings, epochs, "auto" if job == CACHE_EPOCH else "off")

    def learnt(self, outcome: Outcome) -> tuple[dict[int, float], float]:
        model = json.loads(said(self.program, "inspect", outcome.model, "--json"))
        return {int(w["feature"]): w["weight"] for w in model["weights"]}, model["bias"]


def said(*command) -> str:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True).stdout


def files(folder: Path) -> set[Path]:
    return {file for file in folder.rglob("*") if file.is_file()}


def cache_like(folder: Path) -> set[Path]:
    """A cache from an earlier run: named after the text, or in the folder given for caches."""
    return {f for f in files(folder) if f.name.startswith("train.svm.") or folder / "cache" in f.parents}
