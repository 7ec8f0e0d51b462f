"""What is shown of a run while it goes on."""

from __future__ import annotations

from typing import Any


class Watching:
    """What is shown of a run: lines with ``verbose``, a bar with ``progress``."""

    def __init__(self, estimator: Any, model: int, models: int) -> None:
        self.estimator, self.of = estimator, f" of model {model + 1}" if models > 1 else ""
        self.bar: Any = None

    def __enter__(self) -> Any:
        if self.estimator.progress:
            from lazyglm._show import _bar

            self.bar = _bar(self.estimator.max_iter)
        return self.show if self.estimator.verbose or self.estimator.progress else None

    def show(self, figures: dict[str, Any]) -> None:
        if self.bar is not None:
            self.bar.update(1)
            self.bar.set_postfix(objective=f"{figures['objective']:.6f}", nonzeros=figures["nonzeros"])
        if self.estimator.verbose:
            print(
                f"-- Round {figures['round']}{self.of}: objective {figures['objective']:.6f}, nonzeros {figures['nonzeros']}, "
                f"{figures['solver']}, steps back {figures['rejected']}"
            )

    def __exit__(self, *error: Any) -> None:
        if self.bar is not None:
            self.bar.close()
