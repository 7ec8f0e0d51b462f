"""Runs one command and tells what it cost: `python launch.py RESULT COMMAND...`, RESULT a file of JSON.

A process of its own, and one that imports next to nothing, because Linux counts the memory of the process that
started a child into the child's peak: started from the judge, which holds the data, every contender would seem to
need at least as much as the judge. What is left is a floor of some 10 MB, this process itself.
"""

import json
import os
import resource
import subprocess
import sys
import time


def main() -> int:
    result, command = sys.argv[1], sys.argv[2:]
    start = time.perf_counter()
    child = subprocess.Popen(command)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kibibytes
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    with open(result, "w") as file:
        json.dump(
            {
                "code": child.returncode,
                "wall": wall,
                "cpu": usage.ru_utime + usage.ru_stime,
                "peak": usage.ru_maxrss * unit,
                "floor": floor,
            },
            file,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
