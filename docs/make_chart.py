"""Draws docs/time-to-optimum.svg from the records of `make bench-optimum`: `python3 docs/make_chart.py`.

Each group of bars is one problem: seconds until the objective is within 1e-6 of the optimum, on one thread. The scale is logarithmic.
A solver that did not arrive in the time it was given has an open bar.
"""

import html
import math
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
RECORD = HERE.parent / "bench/records/2026-11-15/optimum.txt"
SOLVERS = {"lazyglm newton": "#1f6feb", "glmnet": "#bf8700", "LIBLINEAR -s 6 -R": "#8250df", "skglm": "#57606a"}
SETS = {"imdb_train": "imdb", "elife_methods": "eLife"}
LINE = re.compile(r"\s+(\S+)\s+(\S+)  (\S.*?)\s{2,}(\S+)\s+(\S+)\s+(\S+)\s+(\S+)(\s|$)")
LEAST, MOST, WIDTH, HEIGHT, LEFT, TOP = 0.05, 20.0, 760, 300, 46, 64


def read(text: str) -> dict[tuple[str, str], dict[str, float | None]]:
    """The seconds to 1e-6 by problem (set, l1) with l2 = 0, and by solver; None if it did not arrive."""
    found: dict[tuple[str, str], dict[str, float | None]] = {}
    name = ""
    for line in text.splitlines():
        if (head := line.split(":")[0]) in SETS and "rows" in line:
            name = head
        match = LINE.match(line)
        if name and match and match[3] in SOLVERS and match[2] == "0":
            seconds = None if match[7] == "-" else float(match[7])
            found.setdefault((name, match[1]), {})[match[3]] = seconds
        if line and not line.startswith(" ") and head not in SETS:
            name = ""
    return found


def y(seconds: float) -> float:
    """The height of a time in the picture."""
    share = math.log(seconds / LEAST) / math.log(MOST / LEAST)
    return TOP + (HEIGHT - TOP - 56) * (1 - share)


def draw(found: dict[tuple[str, str], dict[str, float | None]]) -> str:
    """The picture."""
    parts = [f'<text x="{LEFT}" y="20" class="t">Seconds to within 1e-6 of the optimum (one thread; dashed: did not arrive in 8 to 12 s)</text>']
    for k, (solver, colour) in enumerate(SOLVERS.items()):
        x = LEFT + 170 * k
        parts.append(f'<rect x="{x}" y="32" width="12" height="12" fill="{colour}"/><text x="{x + 17}" y="42">{solver}</text>')
    for seconds in (0.1, 1, 10):
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y(seconds):.1f}" y2="{y(seconds):.1f}" class="g"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(seconds) + 4:.1f}" text-anchor="end">{seconds:g} s</text>')
    step = (WIDTH - LEFT - 20) / len(found)
    for k, ((name, l1), times) in enumerate(found.items()):
        for j, (solver, colour) in enumerate(SOLVERS.items()):
            if solver not in times:
                continue
            seconds, x = times[solver], LEFT + 8 + k * step + j * 22
            top, fill = (y(MOST), "none") if seconds is None else (y(seconds), colour)
            dash = ' stroke-dasharray="3 3"' if seconds is None else ""
            parts.append(f'<rect x="{x:.1f}" y="{top:.1f}" width="18" height="{y(LEAST) - top:.1f}" fill="{fill}" stroke="{colour}"{dash}/>')
            label = "–" if seconds is None else f"{seconds:.2g}"
            parts.append(f'<text x="{x + 9:.1f}" y="{top - 4:.1f}" text-anchor="middle" class="s">{label}</text>')
        middle = LEFT + k * step + step / 2 - 8
        parts.append(f'<text x="{middle:.1f}" y="{HEIGHT - 36}" text-anchor="middle">{html.escape(SETS[name])}</text>')
        parts.append(f'<text x="{middle:.1f}" y="{HEIGHT - 20}" text-anchor="middle">l1 = {l1}</text>')
    style = "text{font:12px sans-serif;fill:#57606a}.t{font-weight:bold}.s{font-size:10px}.g{stroke:#d0d7de}"
    inside = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"><style>{style}</style>\n{inside}\n</svg>\n'


if __name__ == "__main__":
    found = read(RECORD.read_text())
    if len(found) != 6:
        sys.exit(f"{RECORD}: expected three values of l1 for each of two sets, found {len(found)}")
    (HERE / "time-to-optimum.svg").write_text(draw(found))
