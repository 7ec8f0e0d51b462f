"""Two builds of the program in one run: is the newer one slower, and does it learn the same?

    python -m bench.before_after --before OLD/lazyglm --after target/release/lazyglm [--data DIR] [--rounds 5]

The builds take turns, and the fastest round of each counts: machines are shared and noisy. Next to every time stands what was
learnt: the objective and the non-zeros of both builds must agree. With --data, training on real sets is timed as well.
"""

import argparse
import json
import subprocess
from pathlib import Path

ROWS = 60_000
SETS = {
    "imdb sgd": ["train", "imdb_train.svm", "--solver", "sgd"],
    "imdb newton": ["train", "imdb_train.svm", "--solver", "newton", "--l1", "1e-4", "--l2", "1e-4"],
    "a9a newton": ["train", "a9a.svm", "--solver", "newton", "--l1", "1e-4", "--l2", "1e-4"],
    "20news softmax": ["train", "20news_train.svm", "--multiclass", "softmax"],
    "20news ovr": ["train", "20news_train.svm", "--multiclass", "ovr"],
}


def output(command, folder=None):
    return json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout)


def of_paper(binary):
    for method in output([binary, "bench", "paper", "--rows", str(ROWS), "--json"])["methods"]:
        for update in method["updates"]:
            name = f"paper {method['method']} {update['update']}"
            yield name, update["seconds_per_row"] * update["rows"], update["objective"], update["nonzeros"]


def of_lanes(binary):
    for contender in output([binary, "bench", "lanes", "--rows", str(ROWS), "--json"])["contenders"]:
        yield f"lanes {contender['name']}", contender["seconds"], contender["objective"], contender["nonzeros"]


def of_sets(binary, folder):
    for name, arguments in SETS.items():
        if (folder / arguments[1]).exists():
            report = output([binary, *arguments, "--cache", "off", "--quiet", "--json"], folder)
            yield name, report["seconds_train"], report["objective"], report["nonzeros"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True, type=Path)
    parser.add_argument("--after", required=True, type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    binaries = [str(options.before.resolve()), str(options.after.resolve())]
    best = [{}, {}]
    for _ in range(options.rounds):
        for side, binary in enumerate(binaries):
            jobs = [of_paper(binary), of_lanes(binary)]
            if options.data:
                jobs.append(of_sets(binary, options.data))
            for name, seconds, objective, nonzeros in (line for job in jobs for line in job):
                known = best[side].get(name, (float("inf"),))
                best[side][name] = (min(known[0], seconds), objective, nonzeros)
    print(f"{'job':34} {'before':>10} {'after':>10} {'ratio':>7}  objective and non-zeros")
    for name, (before, objective, nonzeros) in best[0].items():
        after, objective_after, nonzeros_after = best[1][name]
        same = objective == objective_after and nonzeros == nonzeros_after
        answer = f"{objective:.8f} {nonzeros}" if same else f"{objective} {nonzeros} → {objective_after} {nonzeros_after}"
        print(f"{name:34} {before:>9.4f}s {after:>9.4f}s {after / before:>7.3f}  {answer}")


if __name__ == "__main__":
    main()
