"""Starts a command through launch.py and brings back what it cost and what it printed."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

TIMEOUT = 1800  # seconds; a contender that hangs must not hang the table


class Failed(Exception):
    """A command that did not end well, with the end of what it said."""


@dataclasses.dataclass
class Cost:
    """What one process cost."""

    wall: float  # seconds from start to end
    cpu: float  # seconds of all its threads together
    peak: int  # bytes resident at most
    stdout: str


def run(command: list, env: dict | None = None) -> Cost:
    """Runs a command to its end; `Failed` if it does not end with 0."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "cost.json"
        launch = [sys.executable, "-I", "-S", str(ROOT / "bench" / "launch.py"), str(result)]
        done = subprocess.run(
            launch + [str(part) for part in command],
            cwd=ROOT,  # children are modules of this package
            env=env,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        name = Path(str(command[0])).name
        if not result.exists():
            raise Failed(f"{name} did not start: {last_lines(done.stderr)}")
        cost = json.loads(result.read_text())
        if cost["code"] != 0:
            raise Failed(f"{name} ended with {cost['code']}: {last_lines(done.stderr)}")
        return Cost(cost["wall"], cost["cpu"], cost["peak"], done.stdout)


def last_lines(text: str) -> str:
    return " / ".join(text.strip().splitlines()[-3:])
