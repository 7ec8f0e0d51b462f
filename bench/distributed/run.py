"""Measures what distributed training must keep: python -m bench.distributed.run [--data FILE.svm --binary lazyglm]."""

import argparse
import os
import sys

from bench.distributed import memory, quality


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--data", help="two classes, svmlight: also against the program on these")
    parser.add_argument("--binary", help="the program")
    parser.add_argument("--l1", type=float, default=1e-4)
    parser.add_argument("--l2", type=float, default=1e-5)
    parser.add_argument("--only", choices=["quality", "engine", "memory", "real"])
    asked = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    good = []
    if asked.only in (None, "quality"):
        good.append(quality.measure(asked.rows, asked.columns))
    if asked.only in (None, "memory"):
        good.append(memory.measure())
    if asked.only in (None, "engine"):
        from bench.distributed import engine

        good.append(engine.measure(asked.rows, asked.columns, asked.repeats))
    if asked.data and asked.only in (None, "real"):
        from bench.distributed import real

        good.append(real.measure(asked.data, asked.binary, asked.l1, asked.l2))
    print("all as good as they must be" if all(good) else "NOT all as good as they must be")
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
