"""The age of a record: whether the code that it measures has changed since it was written.

A record is older than its code if a commit after the last one of the record touches the paths that `MEASURES` names for it. To know that,
git needs the history. This module needs no Sphinx, so that scripts can use it, too.
"""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDS = "bench/records"

# What a record measures, by the beginning of its name.
SRC = "crates/lazyglm/src"
OPTIM, TRAIN, JUDGE = f"{SRC}/optim", f"{SRC}/train", f"{SRC}/eval/objective"
NEWTON = [f"{OPTIM}/newton", f"{SRC}/problem/dual_point", JUDGE]
SEARCH = [f"{TRAIN}/search", f"{TRAIN}/minimiser.rs"]
AUTO = [
    f"{TRAIN}/auto.rs", f"{TRAIN}/penalty_search", f"{TRAIN}/fold.rs", f"{TRAIN}/holdout_score.rs", f"{TRAIN}/ftrl_candidate.rs",
    f"{TRAIN}/tf_idf_choice.rs", f"{SRC}/data/dataset/counts.rs", f"{OPTIM}/newton", f"{OPTIM}/ftrl.rs",
]
MEASURES = {
    "optimum": NEWTON,
    "exact_softmax": [f"{OPTIM}/softmax_newton", JUDGE],
    "exact_ovr": [*NEWTON, f"{TRAIN}/heads"],
    "exact_hinge": NEWTON,
    "exact_ridge": NEWTON,
    "exact_path": [*NEWTON, *SEARCH],
    "exact_cv": [*NEWTON, *SEARCH],
    "exact_disk": [*NEWTON, f"{TRAIN}/out_of_core", f"{SRC}/problem/windows"],
    "defaults": AUTO,
    "default_time": [*AUTO, JUDGE],
    "made": [f"{OPTIM}/kernel", f"{OPTIM}/ledger", f"{OPTIM}/row_loop.rs", f"{OPTIM}/sgd.rs", f"{SRC}/data"],
    "before_after": [f"{OPTIM}/kernel"],
    "audit": ["Cargo.lock", "python/Cargo.lock", "fuzz/Cargo.lock"],
    "soak": [f"{SRC}/data/bytes", f"{SRC}/problem/windows"],
    "fuzz": [f"{SRC}/data/format", f"{SRC}/data/bytes", f"{SRC}/util/checkpoint"],
    "limits": [f"{SRC}/data/bytes", f"{OPTIM}/softmax.rs", f"{OPTIM}/row_loop.rs"],
    "sanitize": [f"{SRC}/simd", f"{OPTIM}/kernel"],
    "kills": [f"{SRC}/util/checkpoint", f"{TRAIN}/chain.rs"],
    "checkpoint-labels": [f"{SRC}/util/checkpoint", f"{TRAIN}/chain.rs"],
    "python_exact": NEWTON,
    "python_speed": [f"{OPTIM}/kernel", f"{OPTIM}/row_loop.rs", *NEWTON, f"{TRAIN}/penalty_search"],
    "python": [f"{OPTIM}/bias_rate.rs", f"{OPTIM}/resumable.rs", f"{OPTIM}/scikit_learn_rate.rs"],
    "scaling": [f"{OPTIM}/kernel", f"{OPTIM}/lanes.rs", f"{OPTIM}/softmax.rs", f"{OPTIM}/row_loop.rs", f"{TRAIN}/search"],
    "site": ["docs/_ext", "docs/_static", "docs/_templates", "docs/conf.py", "docs/look.py"],
}


def missing_paths(measures: dict[str, list[str]] = MEASURES) -> list[str]:
    """The paths that records watch and that do not exist in the repository, in alphabetical order."""
    watched = {path for paths in measures.values() for path in paths}
    return sorted(path for path in watched if not (ROOT / path).exists())


def _last_commit(paths: list[str]) -> str | None:
    done = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%H", "--", *paths], capture_output=True, text=True)
    return done.stdout.strip() or None


def changes_since(record: str, paths: list[str]) -> int:
    """The number of commits that touched the paths after the record was written; 0 without a history."""
    written = _last_commit([f"{RECORDS}/{record}"])
    if written is None or not paths:
        return 0
    done = subprocess.run(
        ["git", "-C", ROOT, "rev-list", "--count", f"{written}..HEAD", "--", *paths], capture_output=True, text=True
    )
    return int(done.stdout or 0)


def watched(record: str) -> list[str] | None:
    """The paths whose changes make a record old; None if `MEASURES` does not know the record."""
    return next((paths for start, paths in MEASURES.items() if Path(record).name.startswith(start)), None)


def is_older(record: str) -> bool:
    """Whether the code that a record measures has changed since it was written."""
    return changes_since(record, watched(record) or []) > 0


def has_history() -> bool:
    """Whether git knows all commits. A shallow clone cannot tell the age of a record."""
    done = subprocess.run(["git", "-C", ROOT, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True)
    return done.stdout.strip() == "false"
