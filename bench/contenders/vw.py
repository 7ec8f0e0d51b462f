"""Vowpal Wabbit, driven by its own command line, as `python -m vowpalwabbit` does.

Features. A numeric name is its own number, plus the number of its namespace, modulo 2^b; a namespace whose name is a
number is that number. So the namespace is named after the slot next to the constant's: feature j has slot
constant + 1 + j, and no two share one if 2^b has room for all and the constant.

Weights. A model file holds weights that still owe gravity and contraction; loading it for testing (`-t`) and writing
it as text gives those it predicts with (tests/test_vw.py compares with its own predictions).

Clock. It starts after `import vowpalwabbit` and ends when the model is written: the program that its users may have
instead of the Python package has no interpreter to start.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
import time
from pathlib import Path

from bench import measure
from bench.contenders import CACHE_EPOCH, TEXT_TO_MODEL, Contender, Missing, Outcome, Settings, Tools

CONSTANT = 11650396  # the number of its bias, before the modulus


def contenders(tools: Tools) -> list[Contender]:
    try:
        importlib.metadata.version("vowpalwabbit")
    except importlib.metadata.PackageNotFoundError:
        raise Missing("not installed") from None
    # Its default (adaptive, normalised, invariant) is what its users run; --sgd is the algorithm nearest to ours.
    return [Vw("vw", "", tools), Vw("vw --sgd", "--sgd", tools)]


def bits(width: int) -> int:
    """The least b, from its default of 18 on, with room for `width` features and the constant."""
    return max(18, width.bit_length())  # 2^bit_length > width, hence ≥ width + 1


def first_slot(b: int) -> int:
    """The slot of feature 0."""
    return (CONSTANT + 1) % (1 << b)


def weights_of(text: str, b: int) -> tuple[dict[int, float], float]:
    """Weights and bias from a model as text: lines `slot:weight`."""
    slots = {int(slot): float(weight) for slot, weight in re.findall(r"^(\d+):(\S+)", text, re.MULTILINE)}
    bias = slots.pop(CONSTANT % (1 << b), 0.0)
    return {(slot - first_slot(b)) % (1 << b): weight for slot, weight in slots.items()}, bias


class Vw(Contender):
    def __init__(self, name: str, flags: str, tools: Tools):
        self.name, self.flags, self.python = name, flags, tools.python

    def version(self) -> str:
        return importlib.metadata.version("vowpalwabbit")

    def jobs(self) -> dict[str, str | None]:
        return {TEXT_TO_MODEL: None, CACHE_EPOCH: None}

    def child(self, *args) -> measure.Cost:
        return measure.run([self.python, "-m", "bench.contenders.vw", "--quiet", *args])

    def prepare(self, job: str, data, settings: Settings) -> Path | None:
        from bench import svmlight  # here, so that the child does not load numpy for it

        b = bits(data.width)
        text, cache = data.folder / "train.vw", data.folder / "train.vw.cache"
        if not text.exists():
            svmlight.to_vw(data.train, text, str(first_slot(b)), data.greater)
        if job == CACHE_EPOCH and not cache.exists():
            self.child("-d", text, "--cache_file", cache, "-k", "-b", b, "--loss_function", "logistic")
        return cache if job == CACHE_EPOCH else None

    def run(self, job: str, data, settings: Settings, epochs: int) -> Outcome:
        model = data.folder / "vw.model"
        source = ["--cache_file", data.folder / "train.vw.cache"] if job == CACHE_EPOCH else ["-d", data.folder / "train.vw"]
        cost = self.child(
            *source, "--passes", epochs, "--holdout_off", "-b", bits(data.width), "--loss_function", "logistic",
            "--l1", settings.l1, "--l2", settings.l2, "-f", model, *self.flags.split(),
        )  # fmt: skip
        said = json.loads(cost.stdout.splitlines()[-1])
        return Outcome(said["seconds"], cost.wall, cost.cpu, cost.peak, model, notes={"bits": bits(data.width)})

    def learnt(self, outcome: Outcome) -> tuple[dict[int, float], float]:
        text = outcome.model.with_suffix(".txt")
        self.child("-i", outcome.model, "-t", "-d", "/dev/null", "--readable_model", text)
        return weights_of(text.read_text(), outcome.notes["bits"])


def main(args: list[str]) -> None:
    """The child: the body of `python -m vowpalwabbit`, with a clock around it."""
    import vowpalwabbit

    start = time.perf_counter()
    vowpalwabbit.Workspace(arg_list=args).finish()
    print(json.dumps({"seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main(sys.argv[1:])
