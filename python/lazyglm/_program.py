"""The program ``lazyglm``, which the wheel brings along. The package itself is loaded only when it is asked for: the program starts at once."""

import signal
import sys

from lazyglm._core import run_program


def main() -> None:
    """Runs the program with the arguments of this process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the program has a handler of its own
    sys.exit(run_program(["lazyglm", *sys.argv[1:]]))
