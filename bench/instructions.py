"""Instructions of the parser, the cache, the kernel, the lanes and the judge on made data, compared with those in the repository.

    python3 -m bench.instructions            compare with bench/instructions.json; fails if a part needs 5 % more
    python3 -m bench.instructions --record   write bench/instructions.json

The counter is valgrind, whose processor is the same on every x86-64 machine with AVX2. A count is that of two runs of a part without
that of one, so that making the data does not count. Without valgrind, or with another compiler than that of the record, nothing can be
compared: the reason is printed, and the run succeeds. It needs Python alone, and cargo.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

RECORD = Path(__file__).parent / "instructions.json"
PARTS = ["parser_counts", "parser_decimals", "reader_vw", "cache", "kernel", "lanes", "judge"]
MOST = 1.05  # times the count of the record


def compiler() -> str:
    return subprocess.run(["rustc", "--version"], capture_output=True, check=True, text=True).stdout.strip()


def obstacle(record: dict | None) -> str | None:
    """Why nothing can be counted, or compared with a record."""
    if platform.machine() != "x86_64":
        return f"the counts are those of x86-64, and this machine is {platform.machine()}"
    if shutil.which("valgrind") is None:
        return "valgrind, which counts instructions, is not installed"
    flags = Path("/proc/cpuinfo")
    if flags.exists() and " avx2 " not in flags.read_text():
        return "the counts are those of AVX2, which this processor does not have"
    if record is not None and record["compiler"] != compiler():
        return f"the record is of {record['compiler']}, and this is {compiler()}: run --record with it before and after a change"
    overrides = [name for name in os.environ if name.startswith("CARGO_PROFILE_RELEASE") or name == "RUSTFLAGS"]
    if record is not None and overrides:
        return f"{', '.join(overrides)} would change the code that is counted"
    return None


def build() -> Path:
    cargo = ["cargo", "build", "--locked", "--release", "--quiet", "-p", "lazyglm", "--example", "instructions"]
    subprocess.run(cargo, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "release/examples/instructions"


def run(program: Path, part: str, times: int) -> int:
    """Instructions of the whole process."""
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    one_thread = os.environ | {"RAYON_NUM_THREADS": "1"}
    done = subprocess.run([*tool, program, part, str(times)], capture_output=True, text=True, env=one_thread)
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode != 0 or found is None:
        raise SystemExit(f"{part}: {done.stderr}")
    return int(found[1].replace(",", ""))


def count(program: Path, part: str) -> int:
    return run(program, part, 2) - run(program, part, 1)


def verdicts(record: dict[str, int], now: dict[str, int]) -> list[tuple[str, int | None, int, bool]]:
    """Each part: its count in the record and now, and whether it passes. A part without a record does not."""
    return [(part, record.get(part), n, part in record and n <= MOST * record[part]) for part, n in now.items()]


def main() -> int:
    parser = argparse.ArgumentParser(description="count instructions, and compare them with those in the repository")
    parser.add_argument("--record", action="store_true", help="write bench/instructions.json")
    asked = parser.parse_args()
    record = None if asked.record else json.loads(RECORD.read_text())
    why = obstacle(record)
    if why is not None:
        print(f"instructions: skipped, because {why}")
        return 0
    program = build()
    now = {part: count(program, part) for part in PARTS}
    if record is None:
        RECORD.write_text(json.dumps({"compiler": compiler(), "instructions": now}, indent=2) + "\n")
        record = {"instructions": now}
    found = verdicts(record["instructions"], now)
    for part, before, n, passes in found:
        share = "no record" if before is None else f"{100 * (n / before - 1):+.1f} %"
        print(f"{part:<16} {n:>14,} {share:>10}{'' if passes else '   FAILED'}")
    if all(passes for *_, passes in found):
        return 0
    print("more instructions than in bench/instructions.json: make the part cheaper, or say why it must cost more, and --record")
    return 1


if __name__ == "__main__":
    sys.exit(main())
