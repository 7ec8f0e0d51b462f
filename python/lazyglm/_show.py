"""Progress of a run: lines with ``verbose``, a bar with ``progress``."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

Watch = Callable[..., None]


@contextlib.contextmanager
def watching(estimator: Any, total: int | None, shown: Callable[..., tuple[float, int, str]]) -> Iterator[Watch | None]:
    """What to call at the end of each of ``total`` epochs or rounds, or ``None`` if nothing is shown.

    With a total of 1, the first argument of the call is the share that is done; with None, the number of calls is unknown.
    ``shown`` makes the objective, the number of non-zeros and the lines for ``verbose`` from the arguments of the call.
    """
    verbose, progress = getattr(estimator, "verbose", 0), estimator.progress
    if not (verbose or progress):
        yield None
        return
    bar = _bar(total) if progress else None

    def watch(*figures: Any) -> None:
        objective, nonzeros, lines = shown(*figures)
        if bar is not None:
            bar.update(1 if total is None or total > 1 else max(figures[0] - bar.n, 0))
            if objective == objective:  # not of paths, whose models have one each
                bar.set_postfix(**{"objective" if total is not None else "loss": f"{objective:.6f}", "nonzeros": nonzeros})
        if verbose:
            print(lines)

    try:
        yield watch
        if bar is not None:
            bar.total = bar.n if bar.total is None else bar.total
            bar.update(bar.total - bar.n)  # a run that ends early is done, too
    finally:
        if bar is not None:
            bar.close()


def epochs_of(models: int) -> Callable[..., tuple[float, int, str]]:
    """What is shown of each epoch of so many models, as :func:`watching` takes it."""
    started = time.perf_counter()

    def shown(
        model: int, epoch: int, loss: float, objective: float, score: float | None, norm: float, nonzeros: int, bias: float, t: int
    ) -> tuple[float, int, str]:  # fmt: skip
        held = "" if score is None else f", Validation score: {score:f}"
        of = f" of model {model + 1}" if models > 1 else ""
        figures = f"Norm: {norm:.2f}, NNZs: {nonzeros}, Bias: {bias:.6f}, T: {t}, Avg. loss: {loss:f}, Objective: {objective:f}{held}"
        seconds = time.perf_counter() - started
        return objective, nonzeros, f"-- Epoch {epoch}{of}\n{figures}\nTotal training time: {seconds:.2f} seconds."

    return shown


def steps_of() -> Callable[..., tuple[float, int, str]]:
    """What is shown of each step of a solver, as :func:`watching` takes it: its first figure is the share that is done."""
    started = time.perf_counter()

    def shown(share: float, objective: float, nonzeros: int, stage: str) -> tuple[float, int, str]:
        seconds = time.perf_counter() - started
        return objective, nonzeros, f"-- {100 * share:.0f} %, Objective: {objective:f}, NNZs: {nonzeros}, {seconds:.2f} seconds"

    return shown


def penalties() -> Callable[..., tuple[float, int, str]]:
    """What is shown of a search along penalties, as :func:`watching` takes it."""
    started = time.perf_counter()

    def shown(share: float, objective: float, nonzeros: int, stage: str) -> tuple[float, int, str]:
        return objective, nonzeros, f"-- {100 * share:.0f} % of the models, {time.perf_counter() - started:.2f} seconds"

    return shown


def candidates() -> Callable[..., tuple[float, int, str]]:
    """What is shown of each model of a search without a known end, and of the steps of the chosen one."""
    started, count = time.perf_counter(), 0

    def shown(share: float, loss: float, nonzeros: int, stage: str) -> tuple[float, int, str]:
        nonlocal count
        count += 1
        what = "Held-out loss" if stage == "choosing" else "Objective"
        seconds = time.perf_counter() - started
        return loss, nonzeros, f"-- {count} ({stage}), {what}: {loss:f}, NNZs: {nonzeros}, {seconds:.2f} seconds"

    return shown


class PlainBar:
    """A bar of text on standard error, where tqdm is not installed."""

    def __init__(self, total: int | None) -> None:
        self.total, self._said, self._started = total, -1, time.perf_counter()
        self.n: float = 0
        self._figures = ""

    def update(self, more: float) -> None:
        self.n += more
        if self.total is None:
            sys.stderr.write(f"\r{self.n:.0f} models, {time.perf_counter() - self._started:.0f} s{self._figures}")
            sys.stderr.flush()
            return
        share = 1.0 if self.total == 0 else self.n / self.total
        if int(100 * share) == self._said:
            return
        self._said = int(100 * share)
        seconds = time.perf_counter() - self._started
        left = seconds / share - seconds if share > 0 else float("nan")
        filled = "#" * int(30 * share)
        sys.stderr.write(f"\r{self._said:3d} % [{filled:<30}] {seconds:.0f} s, {left:.0f} s left{self._figures}")
        sys.stderr.flush()

    def set_postfix(self, **figures: Any) -> None:
        self._figures = "".join(f", {name}={value}" for name, value in figures.items())

    def close(self) -> None:
        sys.stderr.write("\n")


def _bar(total: int | None) -> Any:
    """tqdm's bar, of the notebook if there is one; a bar of text without tqdm."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return PlainBar(total)
    if total is None:
        return tqdm(unit=" models")
    return tqdm(total=total, unit=" epochs") if total > 1 else tqdm(total=1, bar_format="{percentage:3.0f} %|{bar}| {elapsed}<{remaining}{postfix}")
