"""The age of a measurement: ``{record}`2026-11-15/optimum.txt``` links a record and marks it if the code it measures has changed since.

A record is older than its code if a commit after the last one of the record touches the paths that `MEASURES` names for it. The mark
needs the history: a build without git shows the link alone. A path that does not exist stops the build, because its changes would go unseen.
"""

import re
import subprocess
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util import logging

log = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parents[2]
RECORDS = "bench/records"

# What a record measures, by the beginning of its name.
OPTIM, TRAIN = "crates/lazyglm/src/optim", "crates/lazyglm/src/train"
MEASURES = {
    "optimum": [f"{OPTIM}/newton"],
    "exact_softmax": [f"{OPTIM}/softmax_newton"],
    "exact_ovr": [f"{OPTIM}/newton", f"{TRAIN}/heads"],
    "exact_hinge": [f"{OPTIM}/newton"],
    "exact_ridge": [f"{OPTIM}/newton"],
    "exact_path": [f"{OPTIM}/newton", f"{TRAIN}/search"],
    "exact_cv": [f"{OPTIM}/newton", f"{TRAIN}/search"],
    "exact_disk": [f"{OPTIM}/newton", "crates/lazyglm/src/problem/windows"],
    "defaults": [f"{TRAIN}/penalty_search", f"{OPTIM}/newton", f"{OPTIM}/ftrl.rs"],
    "default_time": [f"{TRAIN}/penalty_search", f"{OPTIM}/newton", f"{OPTIM}/ftrl.rs"],
    "made": [f"{OPTIM}/kernel", "crates/lazyglm/src/data"],
    "before_after": [f"{OPTIM}/kernel"],
    "audit": ["Cargo.lock", "python/Cargo.lock", "fuzz/Cargo.lock"],
    "soak": ["crates/lazyglm/src/data/bytes", "crates/lazyglm/src/problem/windows"],
    "fuzz": ["crates/lazyglm/src/data/format", "crates/lazyglm/src/data/bytes", "crates/lazyglm/src/util/checkpoint"],
    "sanitize": ["crates/lazyglm/src/simd", f"{OPTIM}/kernel"],
    "kills": ["crates/lazyglm/src/util/checkpoint", f"{TRAIN}/chain.rs"],
    "checkpoint-labels": ["crates/lazyglm/src/util/checkpoint", f"{TRAIN}/chain.rs"],
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
    if written is None:
        return 0
    done = subprocess.run(
        ["git", "-C", ROOT, "rev-list", "--count", f"{written}..HEAD", "--", *paths], capture_output=True, text=True
    )
    return int(done.stdout or 0)


def role(name, rawtext, text, lineno, inliner, options=None, content=None):
    """A link to a record with its date, and a mark if the code has changed since."""
    known = next((paths for start, paths in MEASURES.items() if Path(text).name.startswith(start)), None)
    if not (ROOT / RECORDS / text).is_file() or known is None:
        log.warning("there is no record %r, or _ext/records.py does not say what it measures", text)
        return [nodes.literal(text, text)], []
    date = re.match(r"\d{4}-\d\d-\d\d", text)
    words = f"record of {date[0]}" if date else "record"
    shown = [nodes.literal(text, f"{RECORDS}/{text}"), nodes.Text(f" ({words}")]
    if count := changes_since(text, known):
        shown += [nodes.Text("; "), nodes.emphasis("", f"older than the code: {count} changes since")]
    return [*shown, nodes.Text(")")], []


def setup(app):
    if missing := missing_paths():
        raise ExtensionError(f"_ext/records.py: MEASURES names paths that do not exist: {', '.join(missing)}")
    app.add_role("record", role)
    return {"parallel_read_safe": True}
