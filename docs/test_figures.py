"""Figures on the pages can be checked: measurements name a record or a command, in tables and in sentences, and charts are drawn from records."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PAGES = [ROOT / "README.md", *sorted(page for page in DOCS.rglob("*.md") if DOCS / "project" not in page.parents)]

# A measured time, size, ratio or share, or a number with three decimals or more.
FIGURE = re.compile(r"(?<![\w.])\d[\d,.]*\s?(?:s|ms|µs|min|kB|MB|GB|×|%)(?![\w])|(?<![\w.])\d+\.\d{3,}(?![\w.])")

# Measured seconds, or a comparison of speeds, in a sentence. What a user sets, such as 60s, has no space before its unit.
TIMED = re.compile(r"(?<![\w.])\d[\d.,]*\s(?:s|ms|µs)(?!\w)|(?<![\w.])\d[\d.]*\s(?:times\sas\s(?:fast|slow|long)|(?:%|times)\s(?:faster|slower))")

# What tells where figures come from: a record, a command that prints them, or the words that they are computed.
SOURCE = re.compile(r"\{record\}|bench/records/|`(?:make (?:bench|soak)|lazyglm|gen|cargo|python3?) |make_figures\.py|computed from|tests/laws")


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


def sentences(text):
    """The paragraphs and the items of lists of a page, without code and tables."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"^\|.*\n", "", text, flags=re.M)
    return re.split(r"\n\s*\n|\n(?=\s*(?:- |\d+\. ))", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_sentence_with_seconds_says_where_they_come_from(page):
    assert [part for part in sentences(page.read_text()) if TIMED.search(part) and not SOURCE.search(part)] == []


def test_the_rule_for_sentences_sees_seconds_and_ratios():
    for text in ("It takes 0.5 s.", "a is 1.2 times as fast", "a is 5 % faster", "2 ms per row"):
        assert TIMED.search(text), text
    for text in ("`--every 60s`", "weights of 1,000 features", "ten times as large", "0.5 % lower"):
        assert not TIMED.search(text), text
    assert len(sentences("a\n\n- b\n- c\n  d\n\n| e |\n")) >= 3


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
    ages = _module(DOCS / "_ext/ages.py")
    assert ages.missing_paths() == []
    assert ages.missing_paths({"optimum": ["README.md", "crates/gone"]}) == ["crates/gone"]


def test_every_record_that_a_page_links_is_watched():
    ages = _module(DOCS / "_ext/ages.py")
    links = {link for page in PAGES for link in re.findall(r"(?:\{record\}`|\(bench/records/)([^`)]+)", page.read_text())}
    assert [link for link in sorted(links) if ages.watched(link) is None] == []


def _module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_chart_and_its_words_are_what_the_script_writes_from_the_newest_record():
    chart = _module(DOCS / "make_chart.py")
    readme = (ROOT / "README.md").read_text()
    assert chart.RECORD.relative_to(ROOT).as_posix() in readme, "the README names the record"
    assert chart.RECORD.parent.name in (DOCS / "time-to-optimum.svg").read_text(), "the picture names the date of its record"
    without_age = lambda text: text.replace(", older than the code](", "](")  # noqa: E731
    for path, text in chart.pages().items():
        if not chart.ages.has_history():  # a shallow clone cannot tell the age
            text, written = without_age(text), without_age(path.read_text())
        else:
            written = path.read_text()
        assert written == text, f"{path.name}: run: python3 docs/make_chart.py"


def test_the_chart_shows_a_certified_gap_and_a_problem_that_a_peer_wins():
    chart = _module(DOCS / "make_chart.py")
    found = chart.read(chart.RECORD.read_text())
    (upper, _), (lower, shown) = chart.panels(found)
    assert "certified gap" in upper and any(name == "w8a" for name, _, _ in shown), lower
    lines = "w8a: 9 rows, 9 non-zeros, l1_max 1\n        l1         l2  who  F\n" + "".join(
        f"     0.001          0  {who:<20} 0.1         88      {seconds}      {later}\n"
        for who, seconds, later in (("lazyglm newton", "0.102", "0.107"), ("scikit-learn", "0.053", "    -"))
    )
    made = chart.read(lines)
    assert made == {("w8a", "0.001", "0"): {"lazyglm newton": [0.102, 0.107], "scikit-learn": [0.053, None]}}
    assert chart.faster(made) == [(("w8a", "0.001", "0"), 0, "scikit-learn", 0.053, 0.102)]
    assert "scikit-learn is faster: it takes 0.053 s, and lazyglm 0.102 s" in chart.paragraph(made, "2026-11-15").replace("\n", " ")
