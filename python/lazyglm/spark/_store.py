"""Shards as files beside Spark's own blocks, mapped into the memory of every Python worker of an executor.

A file holds the bytes of :mod:`lazyglm.distributed.shard_bytes`. It is written under another name and renamed: who finds a file finds
all of it. The files of a run lie in a folder of its own, named after the random number of the run, readable by us alone. Spark removes
its directories with the executor; what runs that are over have left is removed when the next one begins.
"""

from __future__ import annotations

import mmap
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable

from lazyglm.distributed.engine import EngineError
from lazyglm.distributed.shard import Shard
from lazyglm.distributed.shard_bytes import decoded, encoded

PREFIX = "lazyglm-"


def base() -> str:
    """The directory in which Spark has its own temporary files, or that of the system."""
    return os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir()


def place(run: str) -> str:
    """The folder of the shards of a run on this executor. The name holds 256 random bits: nobody can make it before us."""
    return os.path.join(base(), f"{PREFIX}{run}")


def path_of(run: str, part: int, stage: int) -> str:
    """The file of a partition of a run, changed so many times. A run is named ``leader-number``."""
    return os.path.join(place(run), f"{part}-{stage}.shard")


def write(path: str, shard: Shard) -> None:
    """Keeps a shard."""
    partial = f"{path}.part-{os.getpid()}"
    try:
        _make_private(os.path.dirname(path))
        with open(partial, "wb") as file:
            for piece in encoded(shard):
                file.write(piece)
        os.replace(partial, path)
    except OSError as error:
        _remove(partial)
        raise EngineError(f"a partition could not be kept in {os.path.dirname(path)} ({error}): give spark.local.dir more room") from None


def read(path: str) -> Shard | None:
    """A shard that lies in the file, not in this process; ``None`` if there is no file."""
    try:
        _check_private(os.path.dirname(path))
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        return None
    except ValueError:
        raise EngineError(f"{path} is empty: it was changed by another program; fit again") from None
    try:
        return Shard(**decoded(data, whole=False))
    except ValueError as error:
        raise EngineError(f"{path} was changed by another program ({error}); fit again") from None


def remove(run: str, part: int) -> None:
    """Removes all that is kept of a partition of a run here, and the folder after the last of them."""
    folder = place(run)
    for name in _names(folder):
        if name.startswith(f"{part}-"):
            _remove(os.path.join(folder, name))
    try:
        os.rmdir(folder)
    except OSError:  # another partition is still there
        pass


def sweep(leader: str, alive: Iterable[str]) -> None:
    """Removes what runs of a leader have left that are not alive any more: of partitions that were moved in the meantime."""
    kept = {f"{PREFIX}{run}" for run in alive}
    for name in _names(base()):
        if name.startswith(f"{PREFIX}{leader}-") and name not in kept:
            shutil.rmtree(os.path.join(base(), name), ignore_errors=True)


def _make_private(folder: str) -> None:
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    try:
        os.mkdir(folder, mode=0o700)
    except FileExistsError:  # made by another worker of this executor
        pass
    _check_private(folder)


def _check_private(folder: str) -> None:
    """Refuses a folder that others own or may write to."""
    found = os.lstat(folder)
    if os.name != "posix":  # owners and modes are others there
        return
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise EngineError(
            f"{folder} is not a folder of ours alone (owner {found.st_uid}, mode {stat.S_IMODE(found.st_mode):o}): "
            "another user or program made it; remove it, or set spark.local.dir to a directory that others cannot write to"
        )


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:  # another worker was faster
        pass
