"""
Memory against time
===================

``--memory`` limits the memory of training. Rows that do not fit are read from a cache on disk, one window at a time. This example trains the same model with several
limits and plots the peak memory of the process against its time. The objective stays the same, because the optimum does not depend on where the rows are.
"""

import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

program = os.environ.get("LAZYGLM", "lazyglm")
folder = Path(tempfile.mkdtemp())

# %%
# The data: 60,000 rows with 20 of 2,000 features each.

rng = np.random.default_rng(0)
with open(folder / "data.svm", "w") as out:
    for _ in range(60_000):
        features = np.unique(rng.integers(1, 2000, size=20))
        target = int(np.sum(features % 7 == 0) + rng.normal() > 3)
        out.write(f"{target} {' '.join(f'{j}:1' for j in features)}\n")


# %%
# One run for each limit. Linux shows the peak memory of a process as ``VmHWM``.


def run(limit):
    command = [program, "train", folder / "data.svm", "--l1", "1e-3", "--json", "--quiet"]
    command += ["--memory", limit] if limit else []
    peak = 0
    with open(folder / "report.json", "w") as report:
        process = subprocess.Popen(command, stdout=report)
    while process.poll() is None:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
        peak = max(peak, int(found[1]) if found else 0)
        time.sleep(0.005)
    assert process.returncode == 0
    report = json.loads((folder / "report.json").read_text())
    seconds = sum(report[f"seconds_{stage}"] for stage in ("read", "search", "train", "evaluate"))
    return peak / 1024, seconds, report["objective"]


run("40M")  # writes the cache, which all further runs read
limits = ["36M", "40M", "48M", None]
memory, seconds, objectives = np.array([run(limit) for limit in limits]).T

# %%
# A smaller limit usually costs time, because rows are read again. All runs reach the same objective.

assert np.ptp(objectives) < 1e-3 * objectives.mean()
plt.plot(memory, seconds, "o-")
for limit, x, y in zip(limits, memory, seconds):
    plt.annotate(f"--memory {limit}" if limit else "no limit", (x, y), textcoords="offset points", xytext=(6, 6))
plt.xlabel("peak memory (MB)")
plt.ylabel("seconds")
plt.ylim(bottom=0)
plt.margins(x=0.15)
plt.title("Memory against time")
plt.tight_layout()
plt.show()
