"""Exact solvers against their peers: time to the optimum, with the quality of every answer beside its time.

    make bench-exact DATA=DIR [PARTS=softmax,ovr,hinge,ridge,path,cv,disk] [SETS=a,b] [REPEATS=2] [LIMIT=60] [RECORD=FILE]

Every contender solves each problem at settings from loose to tight, by turns. An independent judge (judge.py) computes F of every answer;
F* is the least F that any contender found. A time to a distance e is the least time of an answer with (F − F*)/|F*| ≤ e. A factor is the
peer's time over lazyglm's. "> t" means that the peer did not come so near, and that its longest finished fit took t seconds.
Times are those of the fit alone, from data in memory: lazyglm's `seconds_train`, a peer's call.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import machine
from bench.exact import peers
from bench.exact.contest import Context
from bench.exact.problem import Problem
from bench.exact.report import Report

PARTS = ["softmax", "ovr", "hinge", "ridge", "path", "cv", "disk"]
PACKAGES = ["numpy", "scipy", "scikit-learn", "liblinear-official", "skglm", "celer"]


def versions(binary: Path, known: dict) -> dict[str, str]:
    """Versions of lazyglm and of the peers' packages; an absent package is left out."""
    found = {"lazyglm": subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.strip()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    ask = "import importlib.metadata as m; print(m.version('adelie'))"
    for python in {peer.python for peer in known.values() if peer.python}:
        found["adelie"] = subprocess.run([python, "-c", ask], capture_output=True, text=True).stdout.strip()
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, required=True, help="the lazyglm program")
    parser.add_argument("--data", type=Path, required=True, help="folder with the sets, X.svm each")
    parser.add_argument("--parts", default=",".join(PARTS), help="parts to run [default: all]")
    parser.add_argument("--sets", default="", help="sets to run, by name [default: all of each part]")
    parser.add_argument("--only", default="", help="peers to run, by parts of their names, as in lib,sk [default: all]")
    parser.add_argument("--limit", type=float, default=60, help="seconds per contender and problem, for all its turns [default: 60]")
    parser.add_argument("--repeats", type=int, default=2, help="turns per contender and problem [default: 2]")
    parser.add_argument("--record", type=Path, help="write what is printed to FILE.txt and every run to FILE.json")
    args = parser.parse_args()
    if unknown := set(args.parts.split(",")) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}: expected some of {','.join(PARTS)}")
    return args


def main() -> int:
    args = arguments()
    known, missing = peers.find()
    known = {n: p for n, p in known.items() if any(part in n.lower() for part in args.only.lower().split(","))}
    binary = args.binary.resolve()
    facts = {"machine": machine.facts(), "versions": versions(binary, known), "limit": args.limit, "repeats": args.repeats}
    report = Report(args.record, facts)
    report.say(f"{args.repeats} turns, {args.limit:g} seconds per contender and problem; the least time counts; × is a peer's time over lazyglm's")
    report.say("; ".join(f"{name} {version}" for name, version in facts["versions"].items()))
    report.say("; ".join(f"{key} {value}" for key, value in facts["machine"].items()))
    for one in missing:
        report.say(f"missing: {one}")
    for part in args.parts.split(","):
        run_part(part, args, Context(binary, args.data, Path(), args.limit, args.repeats, known, report))
        report.write()
    return 1 if report.wrong else 0


def run_part(part: str, args: argparse.Namespace, context: Context) -> None:
    """Runs one part on its sets, each in a folder that is removed afterwards."""
    module = importlib.import_module(f"bench.exact.parts.{part}")
    context.report.say(f"\n{part}: {module.TITLE}")
    for name in module.SETS:
        source, _, squared = name.partition(" ")
        if args.sets and source not in args.sets.split(","):
            continue
        if not (args.data / f"{source}.svm").exists():
            context.report.say(f"  {source}: no file {source}.svm in the folder")
            continue
        with tempfile.TemporaryDirectory() as folder:
            context.folder = Path(folder)
            module.run(context, Problem(args.data, source, context.folder, numbers=bool(squared)))
        context.report.write()


if __name__ == "__main__":
    sys.exit(main())
