"""How long `lazyglm train DATA` takes with no flags, and how good its model is: two builds and the defaults of other tools, by turns.

    python -m bench.default_time --binary target/release/lazyglm [--before OLD/lazyglm] --data DIR [--sets a9a,imdb_train] [--repeats 3]

Sets and held-out rows are those of `bench.defaults`. The clock of lazyglm is that of the whole process: reading, searching, learning, writing. That of Vowpal
Wabbit is its reading and learning, and that of scikit-learn its `fit` alone, without reading. Seconds are the least of all turns.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import tempfile
import time
from pathlib import Path

from bench.defaults import split
from bench.rates import sets

CLASSES = ("20news_train", "medline_sections")  # targets that are numbers, but name classes


def ours(binary: Path, learn: Path, judge: Path, folder: Path) -> tuple[float, float, str]:
    """Seconds and held-out loss of no flags, and what was chosen."""
    model = folder / "model"
    flags = ["--task", "classify"] if learn.name.startswith(CLASSES) else []
    started = time.monotonic()
    run = subprocess.run([binary, "train", learn, "-o", model, "--cache", "off", "--json", "--quiet", *flags], capture_output=True, text=True, check=True)
    seconds = time.monotonic() - started
    report = json.loads(run.stdout)
    judged = subprocess.run([binary, "evaluate", model, judge, "--json", "--quiet"], capture_output=True, text=True, check=True)
    stages = ", ".join(f"{report[f'seconds_{stage}']:.2f} {stage}" for stage in ("read", "search", "train", "evaluate"))
    return seconds, json.loads(judged.stdout)["loss"], f"{report['solver']}, {report['nonzeros']} non-zeros, {len(report['tried'])} tried; {stages}"


def sklearn(learn: Path, judge: Path, _folder: Path) -> tuple[float, float, str]:
    """Seconds and held-out loss of SGDClassifier or SGDRegressor at their defaults."""
    import numpy as np
    from sklearn.datasets import load_svmlight_files
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    X, y, Z, z = load_svmlight_files([str(learn), str(judge)])
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    model = SGDClassifier(loss="log_loss", random_state=1) if len(set(y)) == 2 else SGDRegressor(random_state=1)
    started = time.monotonic()
    model.fit(X, y)
    seconds = time.monotonic() - started
    if len(set(y)) == 2:
        loss = np.mean(np.logaddexp(0, -np.where(z == max(y), 1, -1) * model.decision_function(Z)))
    else:
        loss = 0.5 * np.mean((model.predict(Z) - z) ** 2)
    return seconds, float(loss), f"{int(model.n_iter_)} epochs"


def vw(passes: int):
    """Vowpal Wabbit at its defaults, with so many passes."""

    def run(learn: Path, judge: Path, folder: Path) -> tuple[float, float, str]:
        import vowpalwabbit

        targets = {line.partition(" ")[0] for line in learn.open()}
        greater = max(map(float, targets)) if len(targets) == 2 else None
        target = lambda text: float(text) if greater is None else (1 if float(text) == greater else -1)  # noqa: E731
        rows = [line.partition(" ")[::2] for line in learn.open()]
        file = folder / "learn.vw"
        file.write_text("".join(f"{target(first)} | {rest}" for first, rest in rows))
        loss = "squared" if greater is None else "logistic"
        cache = f"--passes {passes} -k --cache_file {folder / 'vw.cache'}" if passes > 1 else ""
        started = time.monotonic()
        learnt = vowpalwabbit.Workspace(f"-d {file} -b 20 --quiet --loss_function {loss} -f {folder / 'vw.model'} {cache}")
        learnt.finish()
        seconds = time.monotonic() - started
        model = vowpalwabbit.Workspace(f"-i {folder / 'vw.model'} -t --quiet")
        total, count = 0.0, 0
        for line in judge.open():
            first, _, rest = line.partition(" ")
            score = model.predict(f"| {rest}")
            total += 0.5 * (score - float(first)) ** 2 if greater is None else math.log1p(math.exp(-target(first) * score))
            count += 1
        model.finish()
        return seconds, total / count, "one pass" if passes == 1 else f"{passes} passes"

    return run


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--binary", type=Path, required=True)
    parse.add_argument("--before", type=Path, help="an older build of lazyglm")
    parse.add_argument("--data", type=Path, required=True)
    parse.add_argument("--sets", help="names, with commas")
    parse.add_argument("--repeats", type=int, default=3)
    args = parse.parse_args()
    builds = {"lazyglm": args.binary, "before": args.before}
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; least seconds of {args.repeats} turns, held-out loss")
    for path, held_out in sets(args.data):
        if args.sets and path.stem not in args.sets.split(","):
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            learn, judge = split(path, held_out, folder)
            runs = {name: (lambda *files, binary=binary.resolve(): ours(binary, *files)) for name, binary in builds.items() if binary}
            if path.suffix == ".svm" and path.stem not in CLASSES:
                runs |= {"vw": vw(1), "vw, 10 passes": vw(10), "scikit-learn": sklearn}
            found: dict[str, list] = {name: [] for name in runs}
            for _ in range(args.repeats):
                for contender, run in runs.items():
                    found[contender].append(run(learn, judge, folder))
            for contender, turns in found.items():
                seconds, loss, what = min(turns)
                print(f"{path.stem:<18} {contender:<14} {seconds:>8.2f} s  {loss:>9.5f}  {what}", flush=True)


if __name__ == "__main__":
    main()
