"""What the benchmark prints, kept so that a record holds the same text and every single run."""

from __future__ import annotations

import json
from pathlib import Path


class Report:
    """Prints lines and keeps them. With a file name X, writes X.txt (the text) and X.json (every run) after each part."""

    def __init__(self, record: Path | None, facts: dict):
        self.record, self.facts = record, facts
        self.lines: list[str] = []
        self.runs: list[dict] = []
        self.wrong = False  # whether a reported objective differed from the judge's

    def say(self, text: str = "") -> None:
        print(text, flush=True)
        self.lines.append(text)

    def once(self, text: str) -> None:
        """Prints a line unless it was printed before."""
        if text not in self.lines:
            self.say(text)

    def keep(self, run: dict) -> None:
        self.runs.append(run)

    def write(self) -> None:
        if self.record is None:
            return
        self.record.parent.mkdir(parents=True, exist_ok=True)
        self.record.with_suffix(".txt").write_text("\n".join(self.lines) + "\n")
        kept = {"facts": self.facts, "runs": self.runs}
        self.record.with_suffix(".json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
