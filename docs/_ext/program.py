"""What the program prints, asked when the site is built: the directive ``{program} train --help`` shows that help.

The page is right by construction, and a verb or a flag that is gone breaks the build.
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
        text = done.stdout.rstrip()
        block = nodes.literal_block(text, text)
        block["language"] = "text"
        return [block]


def setup(app):
    app.add_config_value("lazyglm_program", "lazyglm", "env")
    app.add_directive("program", Program)
    return {"parallel_read_safe": True}
