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
