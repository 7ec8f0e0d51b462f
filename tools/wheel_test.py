"""Installs the wheel and the sdist of a folder, each into an empty environment away from the repository, and runs the quick start.

The wheel is installed without cargo on the path: `python3 tools/wheel_test.py target/wheels`.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST_BYTES = 15_000_000
QUICK_START = """
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from lazyglm import AutoClassifier
X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
score = AutoClassifier().fit(X_train, y_train).score(X_test, y_test)
assert score > 0.94, score
print("Python quick start: accuracy", round(score, 2))
"""
PROGRAM = "lazyglm demo --data . && lazyglm train messages_train.txt -o m --quiet && lazyglm evaluate m messages_test.txt --quiet"


def without_cargo(path: str) -> str:
    """The search path without folders that hold cargo or rustc."""
    folders = [folder for folder in path.split(":") if not any((Path(folder) / tool).exists() for tool in ("cargo", "rustc"))]
    return ":".join(folders)


def check(package: Path, path: str) -> None:
    """Installs one file into a new environment and runs the quick starts of Python and of the program."""
    with tempfile.TemporaryDirectory() as folder:
        run = lambda *call, **more: subprocess.run(call, cwd=folder, check=True, **more)  # noqa: E731
        run(sys.executable, "-m", "venv", "env")
        started = time.monotonic()
        run("env/bin/pip", "install", "--quiet", "--disable-pip-version-check", package, env={**os.environ, "PATH": path})
        print(f"{package.name}: {package.stat().st_size / 1e6:.1f} MB, installed in {time.monotonic() - started:.0f} s", flush=True)
        run("env/bin/python", "-c", QUICK_START)
        run("sh", "-c", PROGRAM, env={"PATH": f"{folder}/env/bin:/usr/bin:/bin"}, stdout=subprocess.DEVNULL)
        started = time.monotonic()
        run("env/bin/lazyglm", "--version", stdout=subprocess.DEVNULL)
        print(f"program quick start: done; it starts in {time.monotonic() - started:.2f} s", flush=True)


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    wheel, source = next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))
    assert wheel.stat().st_size < MOST_BYTES, f"{wheel.name} has {wheel.stat().st_size} bytes"
    check(wheel, without_cargo(os.environ["PATH"]))
    check(source, os.environ["PATH"])


if __name__ == "__main__":
    main()
