"""`make bench`: every contender, every job, on made or given data; tables to read, a record to keep.

    python -m bench.run [--rows N] [--data DIR] [--repeats N] [--binary FILE] [--no-record]
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path

from bench import contenders, data, jobs, judge, machine, measure, own, show, svmlight

ROOM = measure.ROOT / "target" / "bench-data"
RECORDS = measure.ROOT / "bench" / "records"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.run", description="The end-to-end benchmark.")
    parser.add_argument("--rows", type=int, default=200_000, help="rows to make [default: 200000, about 270 MB]")
    parser.add_argument("--data", type=Path, help="a folder of svmlight files, instead of made rows")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each contender [default: 3]")
    parser.add_argument("--l1", type=float, default=1e-6)
    parser.add_argument("--l2", type=float, default=1e-6)
    parser.add_argument("--eta0", type=float, help="rate of 'lazyglm, in order' [default: what lazyglm finds, untimed]")
    parser.add_argument("--only", help="contenders whose names have one of these, separated by commas")
    parser.add_argument("--binary", type=Path, default=Path("target/release/lazyglm"), help="the program under test")
    parser.add_argument("--no-record", action="store_true", help="write nothing into bench/records")
    args = parser.parse_args()
    if args.rows < 1000 or args.repeats < 1:
        parser.error("at least 1000 rows and one turn")
    return args


def main() -> int:
    args = arguments()
    tools = contenders.Tools(args.binary.resolve(), Path(sys.executable))
    who, missing = contenders.find(tools)
    if args.only:
        who = [c for c in who if any(part in c.name for part in args.only.split(","))]
    for line in missing:
        print(f"missing   {line}")
    if not who:
        print("no contenders")
        return 1
    sets = data.folder(args.data.resolve(), ROOM) if args.data else [data.made(args.rows, ROOM)]
    if not sets:
        print("no .svm files there")
        return 1
    for one in sets:
        try:
            record = bench(one, who, args)
        except judge.Disagreement as wrong:
            print(f"{one.name}: the judge disagrees: {wrong}")
            return 1
        except ValueError as unfit:
            print(f"{one.name}: left out: {unfit}\n")
            continue
        if not args.no_record:
            write(record, one.name)
    return 0


def bench(one: data.Data, who: list, args: argparse.Namespace) -> dict:
    """All jobs on one data set."""
    train, held_out = svmlight.read(one.train), svmlight.read(one.held_out)
    settings = contenders.Settings(args.l1, args.l2, args.eta0)
    judge_ = judge.Judge(train, held_out, args.l1, args.l2)
    one.width, one.greater = train.width(), float(train.targets.max())
    size = {"rows": len(train), "held_out": len(held_out), "nonzeros": len(train.values), "features": one.width - 1}
    size["bytes"] = one.train.stat().st_size
    if settings.eta0 is None and who[0].name == jobs.OURS:
        settings.eta0 = who[0].run(contenders.TEXT_TO_MODEL, one, settings, 1).notes["eta0"]
    record = {
        "data": one.name, "size": size, "l1": args.l1, "l2": args.l2, "eta0": settings.eta0, "repeats": args.repeats,
        "machine": machine.facts(), "jobs": [],
    }  # fmt: skip
    print(show.head(record))
    for job in (contenders.TEXT_TO_MODEL, contenders.CACHE_EPOCH):
        result = jobs.compete(job, who, one, settings, judge_, args.repeats)
        record["jobs"].append(result)
        print(show.job(result), flush=True)
    record["jobs"].append(own.cache_size(who, one, settings))
    print(show.cache_size(record["jobs"][-1]), flush=True)
    record["jobs"].append(own.memory(who, one, settings, judge_, args.repeats))
    print(show.memory(record["jobs"][-1]), flush=True)
    return record


def write(record: dict, name: str) -> None:
    folder = RECORDS / datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    print(f"record    {path.relative_to(measure.ROOT)}\n")


if __name__ == "__main__":
    sys.exit(main())
