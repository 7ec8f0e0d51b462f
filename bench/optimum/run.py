"""Time from data in memory to a distance from the minimum, for lazyglm's Newton solver and its peers.

    make bench-optimum DATA=DIR [SETS=a,b] [LIMIT=60] [REPEATS=2]

For each set in DIR (X.svm), its first 80 % of rows, λ₁ ∈ λ₁_max·{1/10, 1/100, 1/1000} and λ₂ ∈ {0, λ₁}: every contender climbs its
ladder of tolerances, and one judge computes F of what comes of each rung. F* is the least F anybody found. A time to a
distance e is the least of a rung with (F − F*)/F* ≤ e; a time to a gap e, of one whose weights `lazyglm certify` proves to be
that near (λ₂ > 0; a peer's weights are certified like ours).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from bench import svmlight
from bench.optimum import peers

SETS = ["elife_methods", "imdb_train", "npm_downloads", "rcv1_small", "a9a", "w8a"]
SHARES = [10, 100, 1000]
NEAR = [1e-3, 1e-6]
OURS = "lazyglm newton"
TOLERANCES = ["3e-1", "1e-1", "3e-2", "1e-2", "1e-3", "1e-4", "1e-5", "1e-6", "1e-7", "1e-9"]


class Problem:
    """A set, its first 80 % of rows, in memory and in files."""

    def __init__(self, source: Path, folder: Path):
        rows = list(svmlight.lines(source))
        self.file = folder / f"{source.stem}.svm"
        self.file.write_bytes(b"\n".join(rows[: len(rows) * 8 // 10]) + b"\n")
        read = svmlight.read(self.file)
        self.regression = len(np.unique(read.targets[:10000])) > 2
        self.y = read.targets if self.regression else svmlight.signs(read.targets)
        shape = (len(read), read.width())
        self.X = sp.csr_matrix((read.values, read.columns, read.starts.astype(np.int32)), shape=shape)
        columns = self.X.tocsc()
        self.arrays = folder / f"{source.stem}.npz"
        np.savez(
            self.arrays, values=columns.data, rows=columns.indices.astype(np.int32),
            starts=columns.indptr.astype(np.int32), shape=shape, targets=self.y, regression=self.regression,
        )

    def objective(self, w, b, l1, l2) -> float:
        """F: the judge. Shares no code with anybody."""
        full = np.zeros(self.X.shape[1])
        full[: len(w)] = w
        scores = self.X @ full + b
        losses = 0.5 * (scores - self.y) ** 2 if self.regression else np.logaddexp(0.0, -self.y * scores)
        return float(losses.mean() + l1 * np.abs(full).sum() + l2 / 2 * full @ full)

    def l1_max(self) -> float:
        """At the best bias for no weights the slopes are y − mean (squared), or those of the share of a class."""
        mean = self.y.mean() if self.regression else (self.y > 0).mean()
        slopes = (mean - self.y) if self.regression else mean - (self.y > 0)
        return float(np.abs(self.X.T @ slopes).max() / len(self.y))


def ours(binary: str, problem: Problem, l1: float, l2: float, folder: Path, limit: float, threads: int):
    """Rung by rung; seconds are those from data in memory to weights, which is what the program calls seconds_train."""
    loss = "squared" if problem.regression else "logistic"
    spent = 0.0
    for tolerance in TOLERANCES:
        call = [binary, "train", problem.file, "--solver", "newton", "--loss", loss, "--l1", repr(l1), "--l2", repr(l2)]
        call += ["--tolerance", tolerance, "--threads", str(threads), "-o", folder / "model", "--json", "--quiet"]
        try:
            done = subprocess.run(call, capture_output=True, text=True, timeout=limit + 60)
        except subprocess.TimeoutExpired:
            return
        if done.returncode != 0:
            sys.exit(f"lazyglm failed: {done.stderr}")
        report = json.loads(done.stdout)
        table = subprocess.run([binary, "inspect", folder / "model", "--tsv"], capture_output=True, text=True, check=True)
        w, b = np.zeros(problem.X.shape[1]), 0.0
        for line in table.stdout.splitlines():
            name, value = line.split("\t")
            if name == "(bias)":
                b = float(value)
            else:
                w[int(name)] = float(value)
        F = problem.objective(w, b, l1, l2)
        if abs(F - report["objective"]) > 1e-6 * abs(F):
            sys.exit(f"lazyglm reports F = {report['objective']}, the judge finds {F}")
        spent += report["seconds_train"]
        yield {
            "rung": tolerance, "seconds": report["seconds_train"], "F": F, "nonzeros": int(np.count_nonzero(w)),
            "gap": report["relative_gap"], "stop": report["stop"],
        }
        if spent > limit:
            return


def peer(binary: str, name: str, problem: Problem, l1: float, l2: float, folder: Path, limit: float):
    """The same of a peer; it is stopped when its time is up."""
    call = [sys.executable, "-m", "bench.optimum.child", name, problem.arrays, repr(l1), repr(l2), folder / "peer", repr(limit)]
    out = subprocess.run(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    for line in out.splitlines():
        rung = json.loads(line)
        found = np.load(rung.pop("weights"))
        w, b = found["w"], float(found["b"])
        rung["F"] = problem.objective(w, b, l1, l2)
        rung["nonzeros"] = int(np.count_nonzero(w))
        rung["gap"] = certified(binary, problem, w, b, l1, l2, folder) if l2 > 0 else None
        yield rung


def certified(binary: str, problem: Problem, w, b: float, l1: float, l2: float, folder: Path) -> float:
    """The relative duality gap of weights found elsewhere, on the problem that our model names. Not timed."""
    table = folder / "weights.tsv"
    lines = [f"(bias)\t{b!r}"] + [f"{j}\t{float(w[j])!r}" for j in np.flatnonzero(w)]
    table.write_text("\n".join(lines) + "\n")
    call = [binary, "certify", folder / "model", problem.file, "--weights", table, "--l1", repr(l1), "--l2", repr(l2), "--json"]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"lazyglm certify failed: {done.stderr}")
    return json.loads(done.stdout)["relative_gap"]


def best(runs: list[list[dict]], enough) -> float | None:
    """The least time, over all turns and rungs, of those that came near enough."""
    return min((r["seconds"] for run in runs for r in run if enough(r)), default=None)


def versions(binary: str) -> str:
    """The versions of lazyglm, with its commit, and of the peers in Python."""
    found = [subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.strip()]
    for package in ("numpy", "scikit-learn", "liblinear-official", "skglm", "celer"):
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return "; ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--limit", type=float, default=60, help="seconds a contender may take for one problem")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of lazyglm; the peers use one")
    parser.add_argument("--shares", default=",".join(map(str, SHARES)))
    parser.add_argument("--only", default="", help="names of peers, by parts of them: lib,sk")
    parser.add_argument("--record", type=Path)
    args = parser.parse_args()
    known, missing = peers.find()
    known = {n: p for n, p in known.items() if any(part in n.lower() for part in args.only.lower().split(","))}
    missing and print("missing:", "; ".join(missing))
    print(f"{args.repeats} turns, {args.limit:g} seconds per contender and problem; {versions(args.binary)}", flush=True)
    record = []
    for name in args.sets.split(","):
        with tempfile.TemporaryDirectory() as folder:
            record += one_set(args, args.data / f"{name}.svm", Path(folder), known)
            args.record and args.record.write_text(json.dumps(record, indent=1))


def one_set(args, source: Path, folder: Path, known: dict) -> list[dict]:
    problem = Problem(source, folder)
    most = problem.l1_max()
    print(f"\n{source.stem}: {problem.X.shape[0]} rows, {problem.X.nnz} non-zeros, l1_max {most:.4g}", flush=True)
    print(f"{'l1':>10} {'l2':>10}  {'who':<20} {'F':>14} {'non-zeros':>10} {'s to 1e-3':>10} {'s to 1e-6':>10} {'gap 1e-3':>10} {'gap 1e-6':>10}", flush=True)
    record = []
    for share in args.shares.split(","):
        for l2_share in (0, 1):
            l1 = most / float(share)
            l2 = l2_share * l1
            runs: dict[str, list] = {OURS: []}
            runs |= {n: [] for n, p in known.items() if not p.supports(problem.regression, l2)}
            for _ in range(args.repeats):  # by turns
                for who in runs:
                    limit = args.limit / args.repeats
                    rungs = (
                        ours(args.binary, problem, l1, l2, folder, limit, args.threads)
                        if who == OURS
                        else peer(args.binary, who, problem, l1, l2, folder, limit)
                    )
                    runs[who].append(list(rungs))
            least = min(r["F"] for who in runs.values() for run in who for r in run)
            for who, turns in runs.items():
                last = min((r for run in turns for r in run), key=lambda r: r["F"], default=None)
                times = [best(turns, lambda r: r["F"] - least <= near * abs(least)) for near in NEAR]
                times += [best(turns, lambda r: r["gap"] is not None and r["gap"] <= near) for near in NEAR if l2 > 0]
                shown = [f"{t:10.3f}" if t is not None else f"{'-':>10}" for t in times]
                tail = f"{last['F']:14.9f} {last['nonzeros']:10d}" if last else f"{'-':>14} {'-':>10}"
                print(f"{l1:10.3g} {l2:10.3g}  {who:<20} {tail} {' '.join(shown)}", flush=True)
                record.append({"set": source.stem, "l1": l1, "l2": l2, "who": who, "runs": turns, "seconds": times})
    return record


if __name__ == "__main__":
    main()
