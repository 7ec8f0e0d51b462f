"""The Python estimators against scikit-learn's, both sides in one run.

    python -m bench.python.run --data PATH [--parts epoch,call] [--rows N] [--repeats N] [--limit SECONDS]

PATH is a file with two classes, or the folder of the data sets. Each part says what is wanted, and shows the quality beside the time.
"""

import argparse
import importlib
import json
import os
import platform
import warnings
from pathlib import Path

PARTS = ("epoch", "call", "imports", "memory", "exact", "cv", "auto", "sgd", "intercept")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder of data sets, or for epoch, call, imports and memory a file")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--rows", type=int, help="of epoch and memory: the first so many")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--limit", type=float, default=20, help="seconds for each contender of exact, cv and auto")
    parser.add_argument("--sets", help="of exact, cv, auto, sgd and intercept")
    parser.add_argument("--record", type=Path, help="a file for what is printed")
    parser.add_argument("--scratch", type=Path, default=Path("target/bench-data"))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    import lazyglm
    import sklearn

    lines, records = [], []

    def show(text, **record):
        print(text, flush=True)
        lines.append(text)
        if record:
            records.append(record)

    load = ", ".join(f"{one:.2f}" for one in os.getloadavg())
    show(f"lazyglm {lazyglm.__version__}, scikit-learn {sklearn.__version__}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {load}")
    for name in asked.parts.split(","):
        part = importlib.import_module(f"bench.python.parts.{name}")
        show(f"\n{name}: {part.__doc__.strip().splitlines()[0]}")
        part.run(asked.data, asked, lambda text, name=name, **record: show(text, **({"part": name} | record if record else {})))
    if asked.record:
        asked.record.parent.mkdir(parents=True, exist_ok=True)
        asked.record.write_text("\n".join(lines) + "\n\n" + json.dumps(records) + "\n")


if __name__ == "__main__":
    main()
