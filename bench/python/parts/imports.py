"""Seconds of `import lazyglm` with its classifier, beyond those of scikit-learn's linear models: wanted below 0.3 s."""

import subprocess
import sys

CODE = """
import time, sklearn.linear_model
started, worked = time.perf_counter(), time.process_time()
from lazyglm import SGDClassifier, ElasticNetClassifier, AutoClassifier
print(time.perf_counter() - started, time.process_time() - worked)
"""


def run(data, asked, say):
    outputs = [subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True).stdout for _ in range(asked.repeats)]
    seconds, worked = (min(figures) for figures in zip(*(map(float, output.split()) for output in outputs), strict=True))
    say(f"    {seconds:.3f} s, {worked:.3f} s of processor time", seconds=seconds, processor=worked)
