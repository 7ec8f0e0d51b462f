"""Figures as a table for reading. What they mean is decided elsewhere."""

from __future__ import annotations


def table(heads: list[str], rows: list[list[str]]) -> str:
    """The first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    def line(row: list[str]) -> str:
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))
        return "  ".join(["    " + row[0].ljust(widths[0]), *rest]).rstrip()

    return "\n".join(map(line, [heads, *rows]))


def seconds(x: float | None) -> str:
    return "-" if x is None else f"{x:.3f}"


def times(x: float | None) -> str:
    return "-" if x is None else f"{x:.2f} ×"


def number(x: float | None) -> str:
    return "-" if x is None else f"{x:.6f}"


def count(x: int | None) -> str:
    return "-" if x is None else f"{x:,}"


def megabytes(x: int | None) -> str:
    return "-" if x is None else f"{x / 1e6:.0f} MB"
