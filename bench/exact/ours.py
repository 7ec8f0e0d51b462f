"""lazyglm as a contender: runs the program, and reads its weights back for the judge."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np

from bench.exact.problem import Problem


class Cannot(Exception):
    """This build of the program refuses the task; the message is the program's."""


def call(binary: Path, words: list, limit: float) -> dict | None:
    """The JSON report of one run, or None if the run takes longer than `limit` seconds and a minute for reading."""
    command = [str(word) for word in [binary, *words, "--json", "--quiet"]]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit + 60)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        raise Cannot(" / ".join(done.stderr.strip().splitlines()[:2]))
    return json.loads(done.stdout)


def weights(binary: Path, model: Path, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The weights W of a model, one row per class (a single row for two classes or numbers), and its biases."""
    table = subprocess.run([binary, "inspect", model, "--tsv"], capture_output=True, text=True, check=True).stdout
    many = problem.kind == "many"
    W, b = np.zeros((len(problem.labels) if many else 1, problem.width)), np.zeros(len(problem.labels) if many else 1)
    for line in table.splitlines():
        *label, feature, value = line.split("\t")
        row = int(np.searchsorted(problem.labels, float(label[0]))) if many else 0
        if feature == "(bias)":
            b[row] = float(value)
        else:
            W[row, int(feature)] = float(value)
    return W, b


def path_weights(points: list[dict], problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The weights and biases of all models in the report of `lazyglm path`, one row per λ₁."""
    W = np.zeros((len(points), problem.width))
    for row, point in zip(W, points, strict=True):
        for one in point["weights"]:
            row[int(one["feature"])] = one["weight"]
    return W, np.array([point["bias"] for point in points])
