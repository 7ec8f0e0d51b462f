"""The reference of the program shows what the program prints."""

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parent
DIRECTIVE = re.compile(r"^```\{lazyglm-output\} (.+)$", re.M)


def test_a_page_shows_the_output_of_its_command(tmp_path):
    (tmp_path / "index.md").write_text("# Page\n\n```{lazyglm-output} --version\n```\n")
    conf = {"extensions": ["myst_parser", "program"], "lazyglm_program": sys.executable}  # any program will do
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        Sphinx(tmp_path, None, tmp_path / "out", tmp_path / "trees", "html", confoverrides=conf, status=None, warningiserror=True).build()
    finally:
        sys.path.remove(str(DOCS / "_ext"))
    shown = re.findall(r"<pre>(.*?)</pre>", (tmp_path / "out/index.html").read_text(), re.S)
    assert len(shown) == 1 and "Python 3" in shown[0]


def test_the_reference_asks_the_program():
    asked = {page.stem: DIRECTIVE.findall(page.read_text()) for page in (DOCS / "reference").glob("*.md")}
    assert len(asked["program"]) > 10 and len(asked["tables"]) == 4 and asked["messages"] == ["list messages"]


def test_the_reference_has_every_verb_and_every_name():
    source = (DOCS.parent / "crates/lazyglm-cli/src/args/mod.rs").read_text()
    verbs = re.findall(r"^    ([A-Z][a-z]+)[ (,{]", source.split("pub enum Verb {")[1].split("\n}\n")[0], re.M)
    page = (DOCS / "reference/program.md").read_text()
    assert len(verbs) > 10 and [verb for verb in verbs if f"{{lazyglm-output}} {verb.lower()} --help" not in page] == []
    python = (DOCS / "reference/python.md").read_text()
    for package in ("lazyglm", "lazyglm/distributed", "lazyglm/dask", "lazyglm/spark"):
        listed = re.search(r"__all__ = \[(.*?)\]", (DOCS.parent / f"python/{package}/__init__.py").read_text(), re.S)
        names = re.findall(r'"(\w+)"', listed[1]) if listed else []
        assert [name for name in names if not name.startswith("_") and not re.search(rf"\b{name}\b", python)] == [], package
