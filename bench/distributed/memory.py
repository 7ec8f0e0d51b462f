"""Vectors of the length of the columns that a task and the leader hold at their peak."""

import resource
import subprocess
import sys
import tracemalloc

import numpy as np
import scipy.sparse as sp

from lazyglm.distributed import Problem, pack, run

TASK = """
import resource, numpy as np, scipy.sparse as sp
from lazyglm.distributed import Problem, pack, tasks

def grown(d):
    random = np.random.default_rng(0)
    ids = np.sort(random.integers(0, d, (1000, 50)), axis=1).ravel()
    shard = pack(sp.csr_array((np.ones(ids.size), ids, np.arange(0, ids.size + 1, 50)), shape=(1000, d)), np.sign(random.normal(size=1000)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shared = dict(weights=np.full(d, 1e-3))
    if "{task}" == "local_pass":
        shared |= dict(gradient=np.full(d, 1e-9), metric=np.ones(d), zeroed=np.full(d, False))
    if "{task}" == "plane_losses":
        shared |= dict(end=np.full(d, 1e-2), step=np.ones(d))
    told = Problem("logistic", l1=1e-6, l2=1e-6).told(bias=0.0, bias_gradient=0.0, bias_metric=1.0, eta=1e-3, weight_scale=1.0, round=0,
        seed=0, wire="f8", biases=(0.0, 0.0, 0.0), lines=[(None, [1.0]), (0.5, [1.0]), (1.0, [1.0])])
    tasks.{task}(shard, 0, shared, told)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / (8 * d)

grown(1000)  # code that is read from disk is no vector
print(grown({width}))
"""


class Nobody:
    """An engine whose partitions answer zeros: what is left is the leader's own."""

    count = 1

    def __init__(self, width):
        self.width = width

    def share(self, arrays):
        return arrays

    def release(self, token):
        pass

    def map(self, task, tokens, told):
        raise NotImplementedError

    def reduce(self, task, tokens, told):
        d = self.width
        answers = {
            "statistics": lambda: (np.array([10.0, 10.0, 1.0]), np.ones(d), np.ones(d)),
            "gradient": lambda: (np.ones(3), np.full(d, 1e-3)),
            "local_pass": lambda: (np.zeros(1), np.full(d, 1e-9)),
            "line_losses": lambda: (np.linspace(1, 0, len(told.get("thetas", []))),),
            "plane_losses": lambda: (np.linspace(1, 0, sum(len(thetas) for _, thetas in told["lines"])),),
            "dual_sums": lambda: (np.ones(7), np.full(d, 1e-3)),
        }
        answers["start"] = lambda: (*answers["statistics"](), *answers["gradient"]())
        answers["end"] = lambda: (np.zeros(1), *answers["dual_sums"]())
        return answers[task.__name__]()


def measure(width=20_000_000):
    good = True
    for task in ("local_pass", "gradient", "plane_losses"):
        found = subprocess.run([sys.executable, "-c", TASK.format(width=width, task=task)], capture_output=True, text=True, check=True)
        vectors = float(found.stdout)
        good &= vectors <= 5.0
        print(f"task {task}, {width / 1e6:.0f} million columns: {vectors:.2f} vectors (at most 5)")
    tracemalloc.start()
    run.fit(Nobody(width // 10), Problem("logistic", l1=1e-6, l2=1e-6, intercept=False), max_rounds=3, tol=None)
    vectors = tracemalloc.get_traced_memory()[1] / (8 * (width // 10))
    tracemalloc.stop()
    print(f"leader: {vectors:.2f} vectors, those of its answers included (at most 8)")
    wide = sp.csr_array((np.ones(1000), np.full(1000, 49_999_999), np.arange(1001)), shape=(1000, 50_000_000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pack(wide, np.ones(1000))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"a partition of 1000 rows and 50 million columns takes {grown:.0f} MiB to pack")
    return good and vectors <= 8 and grown < 50
