"""One contender a file, behind one door.

A file in this folder is found by itself. It has a function `contenders(tools)` that gives a list of `Contender`s,
or raises `Missing` with the reason why there are none. Nothing outside the file needs to know the name.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from pathlib import Path

TEXT_TO_MODEL = "text-to-model"  # svmlight text → model file, one epoch
CACHE_EPOCH = "cache-epoch"  # the same from the contender's own cache of the data, any number of epochs


class Missing(Exception):
    """A contender, or a job of one, that cannot take part here, and why."""


@dataclasses.dataclass
class Tools:
    """What contenders may need to find."""

    lazyglm: Path  # the program under test
    python: Path  # an interpreter with requirements.txt installed


@dataclasses.dataclass
class Settings:
    """What is to be minimised, the same for all."""

    l1: float
    l2: float
    eta0: float | None = None  # a starting rate, for those that take one in our sense


@dataclasses.dataclass
class Outcome:
    """What a timed run cost, and where its model is."""

    seconds: float  # what the table shows; see README.md for where the clock starts
    wall: float  # of the whole process, whatever it is
    cpu: float  # of all threads
    peak: int  # bytes resident at most
    model: Path
    objective: float | None = None  # F as the contender itself reports it, to be checked by the judge
    notes: dict = dataclasses.field(default_factory=dict)  # further figures, kept in the record


class Contender:
    """A trainer with one set of flags."""

    name: str
    flags: str  # what is not its default, as its user would type it; for the record

    def version(self) -> str:
        raise NotImplementedError

    def jobs(self) -> dict[str, str | None]:
        """Each job by name: None if it can do it, else why not."""
        return {TEXT_TO_MODEL: None}

    def prepare(self, job: str, data, settings: Settings) -> Path | None:
        """Not timed: converts the text, makes the cache. Gives the file it made, if any."""
        return None

    def run(self, job: str, data, settings: Settings, epochs: int) -> Outcome:
        """Timed."""
        raise NotImplementedError

    def learnt(self, outcome: Outcome) -> tuple[dict[int, float], float]:
        """Not timed: weights by the index as written, zeros may be left out; and the bias."""
        raise NotImplementedError


def find(tools: Tools) -> tuple[list[Contender], list[str]]:
    """All contenders, lazyglm first, for the others are set against it; and who is missing, and why."""
    names = sorted((m.name for m in pkgutil.iter_modules(__path__)), key=lambda n: (n != "lazyglm", n))
    found, missing = [], []
    for name in names:
        try:
            found += importlib.import_module(f"{__name__}.{name}").contenders(tools)
        except Missing as why:
            missing.append(f"{name}: {why}")
    return found, missing
