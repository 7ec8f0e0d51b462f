"""
Time to the optimum
===================

Seconds until the objective is within 10⁻⁶ of the optimum, for lazyglm and its peers: the newest record of ``make bench-optimum``. All
solvers minimise the same objective, on one thread, and the same code judges all of them.
"""

import re
from pathlib import Path

import matplotlib.pyplot as plt

folder = next(parent for parent in Path.cwd().resolve().parents if (parent / "bench/records").is_dir())
record = max((folder / "bench/records").glob("*/optimum.txt"))
text = record.read_text()
line = re.compile(r"\s+(\S+)\s+(\S+)  (\S.*?)\s{2,}(\S+)\s+(\S+)\s+(\S+)\s+(\S+)(\s|$)")
solvers = {"lazyglm newton": "o", "glmnet": "s", "LIBLINEAR -s 6 -R": "^", "skglm": "x", "celer": "+", "scikit-learn": "d"}
seconds: dict[str, dict[str, float]] = {name: {} for name in solvers}
current = ""
for row in text.splitlines():
    if re.match(r"\w+: .*rows", row):
        current = row.split(":")[0]
    if (found := line.match(row)) and found[3] in solvers and found[7] != "-":
        problem = f"{current}  l1 {found[1]}  l2 {found[2]}"
        if problem.startswith("npm_downloads  l1 1.06e-05"):  # no solver came near the optimum in its time
            continue
        seconds[found[3]][problem] = float(found[7])

problems = list(seconds["lazyglm newton"])
figure, axes = plt.subplots(figsize=(8, 0.28 * len(problems) + 1.5))
for name, marker in solvers.items():
    if not seconds[name]:
        continue
    known = [(seconds[name][problem], k) for k, problem in enumerate(problems) if problem in seconds[name]]
    axes.plot([t for t, _ in known], [k for _, k in known], marker, label=name, markersize=6, fillstyle="none")
axes.set_yticks(range(len(problems)), problems, fontsize=8)
axes.invert_yaxis()
axes.set(xscale="log", xlabel=f"seconds (record of {record.parent.name}); a missing mark did not arrive within its limit")
axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.06 if len(problems) > 20 else -0.14), ncols=4)
figure.tight_layout()
