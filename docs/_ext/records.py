"""The age of a measurement: ``{record}`2026-11-15/optimum.txt``` links a record and marks it if the code it measures has changed since (`ages.py`).

A build without git shows the link alone. A path that does not exist stops the build, because its changes would go unseen.
"""

import re

from ages import RECORDS, ROOT, changes_since, missing_paths, watched
from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util import logging

log = logging.getLogger(__name__)


def role(name, rawtext, text, lineno, inliner, options=None, content=None):
    """A link to a record with its date, and a mark if the code has changed since."""
    known = watched(text)
    if not (ROOT / RECORDS / text).is_file() or known is None:
        log.warning("there is no record %r, or _ext/ages.py does not say what it measures", text)
        return [nodes.literal(text, text)], []
    date = re.match(r"\d{4}-\d\d-\d\d", text)
    words = f"record of {date[0]}" if date else "record"
    shown = [nodes.literal(text, f"{RECORDS}/{text}"), nodes.Text(f" ({words}")]
    if count := changes_since(text, known):
        shown += [nodes.Text("; "), nodes.emphasis("", f"older than the code: {count} changes since")]
    return [*shown, nodes.Text(")")], []


def setup(app):
    if missing := missing_paths():
        raise ExtensionError(f"_ext/ages.py: MEASURES names paths that do not exist: {', '.join(missing)}")
    app.add_role("record", role)
    return {"parallel_read_safe": True}
