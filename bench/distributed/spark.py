"""On Spark, two executors: seconds to a gap of 0.1 % by ours and by MLlib's LogisticRegression, on the same cached frame.

    python -m bench.distributed.spark [--rows N] [--columns N] [--parts N] [--repeats N] [--master local-cluster[2,1,2048]]
"""

import argparse
import os
import tempfile
import time
import warnings

import numpy as np
from pyspark.ml.classification import LogisticRegression
from pyspark.sql import SparkSession
from sklearn.datasets import dump_svmlight_file

from bench.distributed.made import cut
from bench.distributed.quality import split
from lazyglm.distributed import Problem, Threads, fit, pack
from lazyglm.spark import LazyGLMClassifier

L1, L2 = 3e-6, 1e-6
NET = {"regParam": L1 + L2, "elasticNetParam": L1 / (L1 + L2), "fitIntercept": False, "standardization": False}
#: Iterations that are tried, in this order, until the gap is small enough.
OURS, THEIRS = (1, 2, 3, 4, 5, 6, 8), (10, 12, 14, 16, 20, 30)
GAP = 0.1  # in per cent


def objective(X, y, weights):
    """The judge: shares no code with either side."""
    return np.logaddexp(0, -y * (X @ weights)).mean() + L1 * np.abs(weights).sum() + L2 / 2 * np.dot(weights, weights)


def fitted(make, most, frame):
    began = time.perf_counter()
    weights = make(most).fit(frame).coefficients
    return time.perf_counter() - began, weights.toArray()


def session(master):
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "3g", "spark.executor.memory": "2g"}
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=50_000)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--master", default="local-cluster[2,1,2048]")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y, _, _ = split(1, asked.rows, asked.columns)  # the data of bench-distributed
    rows = cut(X, y, asked.parts)
    shards = [pack(X[r], y[r], partition=k) for k, r in enumerate(rows)]
    least = fit(Threads(shards, threads=2), Problem("logistic", L1, L2, intercept=False), solver="owlqn", tol=1e-8, max_rounds=500)
    best = least.certificate.objective
    print(f"{asked.rows} x {asked.columns}, {asked.parts} partitions, load {os.getloadavg()[0]:.1f}; least objective {best:.6f} "
          f"(proved to {100 * least.certificate.relative_gap:.4f} %), {np.count_nonzero(least.weights)} non-zeros", flush=True)
    sides = {
        "lazyglm.spark": (OURS, lambda most: LazyGLMClassifier(**NET, maxIter=most, tol=0.0)),
        "MLlib": (THEIRS, lambda most: LogisticRegression(**NET, maxIter=most, tol=0.0)),
    }
    with tempfile.TemporaryDirectory() as place:
        for k, r in enumerate(rows):
            dump_svmlight_file(X[r], y[r] > 0, os.path.join(place, f"part-{k:03}.svm"), zero_based=False)
        spark = session(asked.master)
        read = spark.read.format("libsvm").option("numFeatures", asked.columns)
        frame = read.load(os.path.join(place, "part-000.svm"))
        for k in range(1, asked.parts):
            frame = frame.union(read.load(os.path.join(place, f"part-{k:03}.svm")))
        frame = frame.coalesce(asked.parts).cache()
        frame.count()
        enough, times = {}, {name: [] for name in sides}
        for name, (tried, make) in sides.items():  # which also warms both
            for most in tried:
                seconds, weights = fitted(make, most, frame)
                gap = 100 * (objective(X, y, weights) / best - 1)
                print(f"{name:14} maxIter {most:3}: {seconds:7.2f} s, gap {gap:.4f} %, {np.count_nonzero(weights)} non-zeros", flush=True)
                if gap <= GAP:
                    enough[name] = most
                    break
        for _ in range(asked.repeats):
            for name, most in enough.items():
                times[name].append(fitted(sides[name][1], most, frame)[0])
        for name, most in enough.items():
            print(f"{name:14} to {GAP} %: {min(times[name]):.2f} s (maxIter {most}; runs {', '.join(f'{t:.2f}' for t in times[name])})")
        if len(enough) == 2:
            ours, theirs = (min(times[name]) for name in sides)
            print(f"MLlib / lazyglm.spark = {theirs / ours:.2f}, load {os.getloadavg()[0]:.1f}")
        spark.stop()


if __name__ == "__main__":
    main()
