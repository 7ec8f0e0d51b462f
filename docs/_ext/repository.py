"""Links from pages of the site to files of the repository, which are written as readers of the repository need them.

The pages of `PROJECT` are copied into the site, so links to them work there too. A link to a record of a benchmark shows the age of the record. A
link to any other file outside `docs/` becomes the path of that file, and a link to a file that does not exist is a warning.
"""

import os
import re
from pathlib import Path

from sphinx.util import logging

log = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parents[2]
PROJECT = ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "README.md", "bench/README.md"]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s:]+)(#[^)\s]*)?\)")


def _page(path: str) -> str:
    """The name of the copy of a project page, without its ending."""
    return "project/" + path.removesuffix(".md").replace("/", "-").lower()


def copy_pages(app):
    """Copies the pages of the project beside the others; pages that have not changed keep their time."""
    folder = Path(app.srcdir) / "project"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        if f"project/{old.stem}" not in map(_page, PROJECT):
            old.unlink()
    for path in PROJECT:
        text, copy = (ROOT / path).read_text(), Path(app.srcdir) / f"{_page(path)}.md"
        if not copy.exists() or copy.read_text() != text:
            copy.write_text(text)


def rewrite(app, docname, source):
    """Replaces links that leave `docs/`."""
    copied = next((path for path in PROJECT if _page(path) == docname), None)
    folder = (ROOT / copied).parent if copied else (Path(app.srcdir) / docname).parent

    def link(match):
        image, words, target, anchor = match.groups()
        path = Path(os.path.normpath(folder / target))
        if not path.exists():
            log.warning("the link to %r leads nowhere", target, location=docname)
            return match[0]
        inside = path.relative_to(ROOT).as_posix()
        if inside in PROJECT:
            target = f"/{_page(inside)}.md"
        elif inside.startswith("bench/records/") and path.is_file():
            said = "" if words.startswith("record") else f"{words}: "  # the role says that it is a record, and its age
            return f"{said}{{record}}`{inside.removeprefix('bench/records/')}`"
        elif inside.startswith("docs/"):
            target = f"/{inside.removeprefix('docs/')}" + ("/index.md" if path.is_dir() else "")
        else:
            return f"{words} (`{inside}`)" if words.strip("`") != inside else f"`{inside}`"
        return f"{image}[{words}]({target}{anchor or ''})"

    text = source[0]
    parts = re.split(r"(^```.*?^```)", text, flags=re.M | re.S)  # code blocks stay as they are
    source[0] = "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def setup(app):
    app.connect("builder-inited", copy_pages)
    app.connect("source-read", rewrite)
    return {"parallel_read_safe": True}
