"""Output of the program on a page: the directive ``{lazyglm-output} train --help`` runs the program when the site is built and shows what it prints.

So a page always shows the output of the present program, and a verb or a flag that was removed breaks the build. The directive must not have the
name of one of Sphinx's own, such as ``program``: Sphinx would run its own directive, which shows nothing.
"""

import subprocess

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx.util import logging

log = logging.getLogger(__name__)


class Program(Directive):
    """Shows the standard output of the program for some arguments."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"after": directives.unchanged}

    def run(self):
        config = self.state.document.settings.env.config
        words = self.arguments[0].split()
        try:
            done = subprocess.run([config.lazyglm_program, *words], capture_output=True, text=True, timeout=60)
        except OSError as error:
            log.warning("cannot run %s: %s", config.lazyglm_program, error)
            return []
        if done.returncode != 0:
            log.warning("lazyglm %s ended with %d: %s", self.arguments[0], done.returncode, done.stderr)
        if not (text := done.stdout.rstrip()):
            log.warning("lazyglm %s printed nothing", self.arguments[0])
        block = nodes.literal_block(text, text)
        block["language"] = "text"
        return [block]


def setup(app):
    app.add_config_value("lazyglm_program", "lazyglm", "env")
    app.add_directive("lazyglm-output", Program)
    return {"parallel_read_safe": True}
