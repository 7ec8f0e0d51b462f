"""Entry point of the program ``lazyglm``, which is part of the wheel. The estimators are not imported, so the program starts fast."""

import signal
import sys

from lazyglm._core import run_program


def main() -> None:
    """Runs the program with the arguments of this process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the program has a handler of its own
    sys.exit(run_program(["lazyglm", *sys.argv[1:]]))
