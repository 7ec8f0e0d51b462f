"""Draws docs/time-to-optimum.svg from the newest record of `make bench-optimum`, and writes what the pages say about it: `python3 docs/make_chart.py`.

Each group of bars is one problem, solved on one thread. The upper row shows seconds to a certified gap (l2 = l1), the lower row seconds until the
objective is near the optimum (l2 = 0). A solver that did not arrive in the time it was given has an open bar; a solver that was not run has none.
The script also writes the paragraph below the chart in the README, a table in docs/speed.md, and the age of each record that the README links.
"""

import html
import math
import re
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
import ages  # noqa: E402

ROOT = HERE.parent
RECORD = max((ROOT / "bench/records").glob("*/optimum.txt"))  # the newest: folders are named by date
OURS = "lazyglm newton"
SOLVERS = {OURS: "#1f6feb", "glmnet": "#bf8700", "LIBLINEAR -s 6 -R": "#8250df", "skglm": "#57606a", "celer": "#1a7f37", "scikit-learn": "#cf222e"}
NAMES = {"imdb_train": "imdb", "elife_methods": "eLife"}
COLUMNS = ["1e-3", "1e-6", "a gap of 1e-3", "a gap of 1e-6"]

# The rows of the picture: what is shown, the column of the record, whether l2 = l1, and the sets.
PANELS = [
    ("Seconds to a certified gap of 1e-6, with l2 = l1", 3, True, ["imdb_train", "elife_methods"]),
    ("Seconds to within 1e-3 of the optimum, with ℓ₁ alone", 0, False, ["imdb_train", "w8a"]),
]
HEAD = re.compile(r"^(\w+): (\d+) rows, (\d+) non-zeros", re.M)
LINE = re.compile(r"^\s+(\S+)\s+(\S+)  (\S.*?)\s{2,}(\S+)\s+(\S+)((?:\s+\S+)+)$")
WIDTH, PANEL, LEFT, BAR = 800, 250, 46, 19

Problem = tuple[str, str, str]  # set, l1, l2
Times = dict[str, list[float | None]]  # by solver: seconds in the order of COLUMNS, None if it did not arrive


def read(text: str) -> dict[Problem, Times]:
    """The times of each problem of a record."""
    found: dict[Problem, Times] = {}
    name = ""
    for line in text.splitlines():
        if head := HEAD.match(line):
            name = head[1]
        elif (match := LINE.match(line)) and match[3] in SOLVERS:
            times = [None if word == "-" else float(word) for word in match[6].split()]
            found.setdefault((name, match[1], match[2]), {})[match[3]] = times
    return found


def panels(found: dict[Problem, Times]) -> list[tuple[str, dict[Problem, dict[str, float | None]]]]:
    """The rows of the picture that the record has figures for."""
    rows = []
    for title, column, both, sets in PANELS:
        chosen = {p: times for name in sets for p, times in found.items() if p[0] == name and (p[2] != "0") == both}
        shown = {p: {who: t[column] for who, t in times.items() if column < len(t)} for p, times in chosen.items()}
        rows += [(title, shown)] if any(shown.values()) else []
    return rows


def draw(found: dict[Problem, Times], date: str) -> str:
    """The picture."""
    rows = panels(found)
    present = [who for who in SOLVERS if any(who in times for _, shown in rows for times in shown.values())]
    parts = [f'<text x="{LEFT}" y="22" class="t">Time to the optimum on one thread (record of {date}; open bar: did not arrive in time)</text>']
    for k, who in enumerate(present):
        x = LEFT + 122 * k
        parts.append(f'<rect x="{x}" y="34" width="12" height="12" fill="{SOLVERS[who]}"/><text x="{x + 17}" y="44">{who.removesuffix(" -s 6 -R")}</text>')
    for k, (title, shown) in enumerate(rows):
        parts += panel(title, shown, 56 + k * PANEL)
    style = "text{font:12px sans-serif;fill:#424a53}.t{font-weight:bold}.s{font-size:10px}.g{stroke:#d0d7de}"
    inside, height = "\n".join(parts), 60 + PANEL * len(rows)
    back = f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#fff"/>'
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{style}</style>\n{back}\n{inside}\n</svg>\n'


def panel(title: str, shown: dict[Problem, dict[str, float | None]], top: int) -> list[str]:
    """One row of groups of bars, on a logarithmic scale of its own."""
    known = [t for times in shown.values() for t in times.values() if t is not None]
    least, most, floor, roof = min(known) / 1.6, max(known) * 1.5, top + PANEL - 42, top + 40

    def y(seconds: float) -> float:
        return floor - (floor - roof) * math.log(seconds / least) / math.log(most / least)

    parts = [f'<text x="{LEFT}" y="{top + 16}">{title}</text>']
    for seconds in [t for t in (0.01, 0.1, 1, 10, 100) if least <= t <= most]:
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y(seconds):.1f}" y2="{y(seconds):.1f}" class="g"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(seconds) + 4:.1f}" text-anchor="end">{seconds:g} s</text>')
    step = (WIDTH - LEFT - 10) / len(shown)
    for k, ((name, l1, _), times) in enumerate(shown.items()):
        drawn = [who for who in SOLVERS if who in times]
        middle = LEFT + (k + 0.5) * step
        for j, who in enumerate(drawn):
            seconds, colour, x = times[who], SOLVERS[who], middle + (j - len(drawn) / 2) * (BAR + 2)
            at, fill, dash = (roof, "none", ' stroke-dasharray="3 3"') if seconds is None else (y(seconds), colour, "")
            parts.append(f'<rect x="{x:.1f}" y="{at:.1f}" width="{BAR - 1}" height="{floor - at:.1f}" fill="{fill}" stroke="{colour}"{dash}/>')
            label = "–" if seconds is None else f"{seconds:.2g}"
            parts.append(f'<text x="{x + BAR / 2:.1f}" y="{at - 4:.1f}" text-anchor="middle" class="s">{label}</text>')
        parts.append(f'<text x="{middle:.1f}" y="{floor + 16}" text-anchor="middle">{html.escape(NAMES.get(name, name))}, l1 = {l1}</text>')
    return parts


def faster(found: dict[Problem, Times]) -> list[tuple[Problem, int, str, float, float | None]]:
    """Where a peer is ahead: the problem, the column, the peer that is first, its seconds, and ours."""
    ahead = []
    for problem, times in found.items():
        for column in range(max(map(len, times.values()))):
            at = {who: t[column] for who, t in times.items() if column < len(t) and t[column] is not None}
            first = min(at, key=at.get, default=OURS)
            if first != OURS and OURS in times:
                ahead.append((problem, column, first.removesuffix(" -s 6 -R"), at[first], at.get(OURS)))
    return ahead


def sizes(text: str) -> str:
    """The sizes of the sets in the picture: `imdb has 20,000 rows with 136 non-zeros each`."""
    rows = {found[1]: (int(found[2]), int(found[3])) for found in HEAD.finditer(text)}
    names = [name for name in dict.fromkeys(name for _, _, _, sets in PANELS for name in sets) if name in rows]
    words = [f"{NAMES.get(name, name)} has {rows[name][0]:,} rows with {rows[name][1] / rows[name][0]:.0f} non-zeros each" for name in names]
    return listed(words) if words else ""


def listed(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def paragraph(found: dict[Problem, Times], date: str, rows: str = "") -> str:
    """What the README says below the chart: where the record is, how often lazyglm is first, and where a peer is."""
    link = linked(f"{date}/optimum.txt").replace(" ", "\0")  # textwrap does not break it
    text = f"All solvers in the chart minimise the same objective, and the same code judges them (`make bench-optimum`, {link})."
    text += f" Of the data, {rows}." if rows else ""
    columns = {title: (column, both, sets) for title, column, both, sets in PANELS}
    for place, (title, shown) in zip(("upper", "lower"), panels(found)):
        column, both, sets = columns[title]
        lost = [f for f in faster(found) if f[1] == column and f[0][0] in sets and (f[0][2] != "0") == both]
        text += f" In the {place} row, lazyglm is the fastest on {len(shown) - len(lost)} of {len(shown)} problems."
        for peer, name in dict.fromkeys((f[2], f[0][0]) for f in lost):
            theirs = listed([f"{f[3]:.3f}" for f in lost if (f[2], f[0][0]) == (peer, name)])
            mine = listed(["–" if f[4] is None else f"{f[4]:.3f}" for f in lost if (f[2], f[0][0]) == (peer, name)])
            text += f" On {NAMES.get(name, name)}, {peer} is faster: it takes {theirs} s, and lazyglm {mine} s."
    return textwrap.fill(text, 158, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def table(found: dict[Problem, Times], date: str) -> str:
    """What docs/speed.md says: every problem of the record on which a peer is the first."""
    rows = [
        f"| {NAMES.get(name, name)}, l1 {l1}, l2 {l2} | {COLUMNS[column]} | {peer} | {theirs:.3f} | {'–' if mine is None else f'{mine:.3f}'} |"
        for (name, l1, l2), column, peer, theirs, mine in faster(found)
    ]
    head = "| problem | to | first | its seconds | seconds of lazyglm |\n|---|---|---|--:|--:|"
    open_ = [f"{NAMES.get(n, n)} (l1 {a}, l2 {b}, {COLUMNS[k]})" for (n, a, b), times in found.items() for k in range(max(map(len, times.values())))
             if all(k >= len(t) or t[k] is None for t in times.values())]
    said = f"A peer is first on these problems of {{record}}`{date}/optimum.txt`, and lazyglm on all others of the record."
    said += f" No solver arrived on {listed(open_)}." if open_ else ""
    return f"{textwrap.fill(said, 158, break_long_words=False, break_on_hyphens=False)}\n\n" + "\n".join([head, *rows])


def between(text: str, what: str) -> str:
    """A page with `what` between the marks of this script."""
    return re.sub(r"(<!-- docs/make_chart\.py -->\n).*?(<!-- end -->)", lambda m: f"{m[1]}\n{what}\n\n{m[2]}", text, flags=re.S)


def linked(path: str) -> str:
    """A link of the README to a record, with a mark if the record is older than the code it measures."""
    mark = ", older than the code" if ages.is_older(path) else ""
    return f"[record of {path.split('/')[0]}{mark}](bench/records/{path})"


def aged(text: str) -> str:
    """The README with the age of each record that it links."""
    return re.sub(r"\[record of [^]]*\]\(bench/records/([^)]+)\)", lambda match: linked(match[1]), text)


def pages() -> dict[Path, str]:
    """The pages that the script writes, as they should be."""
    found, date = read(RECORD.read_text()), RECORD.parent.name
    readme, speed, index = (path.read_text() for path in (ROOT / "README.md", HERE / "speed.md", HERE / "index.md"))

    def newest(text: str) -> str:
        return re.sub(r"\{record\}`[\d-]+/optimum\.txt`", f"{{record}}`{date}/optimum.txt`", text)

    return {
        HERE / "time-to-optimum.svg": draw(found, date),
        ROOT / "README.md": aged(between(readme, paragraph(found, date, sizes(RECORD.read_text())))),
        HERE / "speed.md": newest(between(speed, table(found, date))),
        HERE / "index.md": newest(index),
    }


if __name__ == "__main__":
    if len(panels(read(RECORD.read_text()))) != len(PANELS):
        sys.exit(f"{RECORD}: expected problems with and without l2, on {', '.join(sorted({s for p in PANELS for s in p[3]}))}")
    for path, text in pages().items():
        path.write_text(text)
