"""How good the starting rate is that `--eta0 auto` finds: its held-out loss against the best of a fine grid of rates.

    python -m bench.rates --binary target/release/lazyglm --data DIR

For every set of two classes or of numbers in DIR (X_train with X_test, X with X.t, or a fifth of the rows held out), default flags: the rate found,
and 13 rates by half powers of two, three octaves down and up from it. No clock runs here; a busy machine changes nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

STEPS = range(-6, 7)  # half powers of two


def sets(folder: Path):
    for path in sorted(folder.iterdir()):
        name = path.name
        if path.suffix not in (".svm", ".tsv") or "_test" in name or ".t." in name:
            continue
        twins = [folder / name.replace("_train", "_test"), folder / name.replace(".svm", ".t.svm")]
        twins += [folder / name.replace(".svm", "_test.svm")]
        twin = next((t for t in twins if t != path and t.exists()), None)
        yield path, str(twin) if twin else "0.2"


def loss(binary: Path, path: Path, held_out: str, eta0: str, cache: Path) -> tuple[float, float] | None:
    call = [binary, "train", path, "--validation", held_out, "--eta0", eta0, "--cache", cache, "--json", "--quiet"]
    run = subprocess.run(call, capture_output=True, text=True)
    if run.returncode:
        return None
    report = json.loads(run.stdout)
    if report.get("heads"):  # more than two classes: another matter
        return None
    return report["validation"]["loss"], report["eta0"]


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--binary", type=Path, required=True)
    parse.add_argument("--data", type=Path, required=True)
    args = parse.parse_args()
    binary = args.binary.resolve()
    print(f"{'':<24} {'eta0':>9} {'held-out':>10} {'best':>10} {'at':>9} {'above':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for path, held_out in sets(args.data):
            cache = Path(folder) / f"{path.stem}.lazyglm-cache"
            found = loss(binary, path, held_out, "auto", cache)
            if found is None:
                print(f"{path.stem:<24} not of two classes or of numbers, or it cannot be read")
                continue
            tried = [(run, k) for k in STEPS if (run := loss(binary, path, held_out, repr(found[1] * 2 ** (k / 2)), cache))]
            (best, at), _ = min(tried)
            above = 100 * (found[0] / best - 1)
            print(f"{path.stem:<24} {found[1]:>9.2g} {found[0]:>10.5f} {best:>10.5f} {at:>9.2g} {above:>7.2f}%", flush=True)


if __name__ == "__main__":
    main()
