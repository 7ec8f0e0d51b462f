"""What a run shows: lines with ``verbose``, a bar with ``progress``."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

Watch = Callable[..., None]


@contextlib.contextmanager
def watching(estimator: Any, total: int, shown: Callable[..., tuple[float, int, str]]) -> Iterator[Watch | None]:
    """What to call at the end of each of ``total`` epochs or rounds, or ``None`` if nothing is shown.

    ``shown`` makes the objective, the number of non-zeros and the lines for ``verbose`` from the arguments of the call.
    """
    if not (estimator.verbose or estimator.progress):
        yield None
        return
    bar = _bar(total) if estimator.progress else None

    def watch(*figures: Any) -> None:
        objective, nonzeros, lines = shown(*figures)
        if bar is not None:
            bar.update(1)
            bar.set_postfix(objective=f"{objective:.6f}", nonzeros=nonzeros)
        if estimator.verbose:
            print(lines)

    try:
        yield watch
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


def _bar(total: int) -> Any:
    """tqdm's bar, of the notebook if there is one."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True needs tqdm: pip install 'lazyglm[progress]'") from None
    return tqdm(total=total, unit=" epochs")
