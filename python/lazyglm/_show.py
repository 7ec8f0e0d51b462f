"""What a run shows: lines with ``verbose``, a bar with ``progress``."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

Watch = Callable[..., None]


@contextlib.contextmanager
def watching(estimator: Any, models: int, epochs: int) -> Iterator[Watch | None]:
    """What to call at the end of each epoch, or nothing."""
    if not (estimator.verbose or estimator.progress):
        yield None
        return
    started, bar = time.perf_counter(), _bar(models * epochs) if estimator.progress else None

    def watch(
        model: int, epoch: int, loss: float, objective: float, score: float | None, norm: float, nonzeros: int, bias: float, t: int
    ) -> None:  # fmt: skip
        if bar is not None:
            bar.update(1)
            bar.set_postfix(objective=f"{objective:.6f}", nonzeros=nonzeros)
        if estimator.verbose:
            held = "" if score is None else f", Validation score: {score:f}"
            of = f" of model {model + 1}" if models > 1 else ""
            print(f"-- Epoch {epoch}{of}")
            print(
                f"Norm: {norm:.2f}, NNZs: {nonzeros}, Bias: {bias:.6f}, T: {t}, Avg. loss: {loss:f}, "
                f"Objective: {objective:f}{held}"
            )
            print(f"Total training time: {time.perf_counter() - started:.2f} seconds.")

    try:
        yield watch
    finally:
        if bar is not None:
            bar.close()


def _bar(total: int) -> Any:
    """tqdm's bar, of the notebook if there is one."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True needs tqdm: pip install 'lazyglm[progress]'") from None
    return tqdm(total=total, unit=" epochs")
