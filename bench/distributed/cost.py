"""What the tasks of a round cost without an engine."""

import time

import numpy as np

from lazyglm.distributed import tasks
from lazyglm.distributed.rounds import PHIS, SHORT, THETAS


def of_tasks(shard, at, leader, state, problem):
    """Seconds that the three tasks of a round take on one partition, here and alone."""
    shared = {"weights": at.weights, "zeroed": np.zeros(leader.columns, dtype=bool), "gradient": at.gradient, "metric": leader.metric}
    shared |= {"end": at.weights + state.step, "step": state.step}
    told = {"bias": 0.0, "bias_gradient": None, "bias_metric": 1.0, "eta": 1e-3, "weight_scale": 1.0, "round": 0, "seed": 0, "wire": "f4"}
    told |= {"biases": (0.0, 0.0, 0.0), "lines": [(None, SHORT), *((phi, THETAS) for phi in PHIS)]}
    began = time.perf_counter()
    for task in (tasks.local_pass, tasks.plane_losses, tasks.gradient):
        task(shard, 0, shared, problem.told(**told))
    return time.perf_counter() - began
