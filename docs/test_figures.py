"""Figures on the pages can be checked: tables of measurements name a record or a command, and charts are drawn from records."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PAGES = [ROOT / "README.md", *sorted(page for page in DOCS.rglob("*.md") if DOCS / "project" not in page.parents)]

# A measured time, size, ratio or share, or a number with three decimals or more.
FIGURE = re.compile(r"(?<![\w.])\d[\d,.]*\s?(?:s|ms|µs|min|kB|MB|GB|×|%)(?![\w])|(?<![\w.])\d+\.\d{3,}(?![\w.])")

# What tells where figures come from: a record, a command that prints them, or the words that they are computed.
SOURCE = re.compile(r"\{record\}|bench/records/|`(?:make|lazyglm|gen|cargo|python3?) |make_figures\.py|computed from|tests/laws")


def tables(text):
    """The tables of a page, each with the section that it stands in."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)  # what a command printed stands below the command
    for section in re.split(r"^#+ .*$", text, flags=re.M):
        for table in re.findall(r"(?:^\|.*\n)+", section + "\n", flags=re.M):
            yield table, section


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_table_of_figures_says_where_they_come_from(page):
    for table, section in tables(page.read_text()):
        rows = table.splitlines()[2:]
        if sum(bool(FIGURE.search(row)) for row in rows) >= 2:
            assert SOURCE.search(section), f"no record and no command for the figures of\n{table}"


def test_the_rule_sees_figures():
    table = "| tool | time |\n|---|---|\n| a | 1.5 s |\n| b | 2.5 s |\n"
    [(found, section)] = tables(f"# Speed\n\n{table}")
    assert sum(bool(FIGURE.search(row)) for row in found.splitlines()[2:]) == 2 and not SOURCE.search(section)
    [(_, section)] = tables(f"# Speed\n\n{table}\n{{record}}`2026-11-15/optimum.txt`\n")
    assert SOURCE.search(section)


def test_links_to_records_lead_to_records():
    links = [link for page in PAGES for link in re.findall(r"\{record\}`([^`]+)`", page.read_text())]
    links += re.findall(r"\(bench/records/([^)]+)\)", (ROOT / "README.md").read_text())
    assert len(links) > 10
    assert [link for link in links if not (ROOT / "bench/records" / link).is_file()] == []


def test_the_code_that_records_watch_exists():
    records = _module(DOCS / "_ext/records.py")
    assert records.missing_paths() == []
    assert records.missing_paths({"optimum": ["README.md", "crates/gone"]}) == ["crates/gone"]


def _module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_chart_is_what_its_script_draws_from_the_record():
    chart = _module(DOCS / "make_chart.py")
    drawn = chart.draw(chart.read(chart.RECORD.read_text()))
    assert (DOCS / "time-to-optimum.svg").read_text() == drawn, "run: python3 docs/make_chart.py"
    assert chart.RECORD.relative_to(ROOT).as_posix() in (ROOT / "README.md").read_text(), "the README names the record"
