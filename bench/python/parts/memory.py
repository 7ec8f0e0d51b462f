"""How far the peak of a process of its own goes beyond what it held before the fit: wanted 1.2 x weights plus 20 bytes per row."""

import gc
import multiprocessing
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from bench.python import matrices
from bench.python.parts.epoch import OPTIONS, estimators

def status(field):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


def _peak(path, dtype, estimator, answer):
    X, y = sp.load_npz(path / "X.npz").tocsr(), np.load(path / "y.npy")
    X.data = X.data.astype(dtype)
    model = estimators()[estimator](**OPTIONS)
    model.fit(X[:10], y[:10])  # what is loaded at the first call is not the data's
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    before = status("VmRSS")
    model.fit(X, y)
    answer.put(status("VmHWM") - before)


def peak(path, dtype, estimator):
    """Bytes a fit takes beyond what was held before it."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    child = context.Process(target=_peak, args=(path, dtype, estimator, answer))
    child.start()
    found = answer.get(timeout=600)
    child.join()
    return found


def run(data, asked, say):
    X, y = matrices.one(data, asked.rows)
    asked.scratch.mkdir(parents=True, exist_ok=True)
    sp.save_npz(asked.scratch / "X.npz", X, compressed=False)
    np.save(asked.scratch / "y.npy", y)
    for dtype in ("float32", "float64"):
        weights = X.shape[1] * np.dtype(dtype).itemsize
        wanted = 1.2 * weights + 20 * X.shape[0]
        say(f"  {dtype}: weights take {weights / 2**20:.2f} MiB, wanted at most {wanted / 2**20:.2f} MiB")
        for name in estimators():
            found = peak(asked.scratch, dtype, name)
            say(f"    {name:13} {found / 2**20:8.2f} MiB", who=name, dtype=dtype, bytes=found, wanted=wanted)
