"""The engine of threads: a step ends when its time is over, and what a task raises is reported as it is."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from lazyglm.distributed import EngineError, Threads, pack

LATE = """
import threading
import numpy as np
from lazyglm.distributed import EngineError, Threads, pack

def late(shard, number, shared, told):
    threading.Event().wait(3600)

try:
    Threads([pack(np.eye(2), [1.0, -1.0])] * 3, threads=2, timeout=0.5).map(late, [], {})
except EngineError as error:
    print(error)
"""


def shards(count):
    return [pack(np.eye(2), [1.0, -1.0]) for _ in range(count)]


@pytest.mark.slow
def test_neither_a_step_nor_the_end_of_the_process_waits_for_a_late_task():
    ran = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=120)
    assert ran.stdout == "a step took longer than 0.5 s: raise timeout, or use smaller partitions\n"
    assert ran.returncode == 0


def test_the_timeout_is_of_the_whole_step():
    over = threading.Event()
    try:
        began = time.monotonic()
        with pytest.raises(EngineError, match="longer than 1 s"):
            Threads(shards(200), timeout=1.0).map(lambda *arguments: over.wait(0.5), [], {})
        assert time.monotonic() - began < 60  # 200 tasks of half a second, one after another, are 100
    finally:
        over.set()


def test_the_error_of_a_task_is_raised_as_it_is_and_no_more_tasks_begin():
    begun, hold = [], threading.Event()

    def task(shard, number, shared, told):
        begun.append(number)
        if number == 1:
            raise TimeoutError("the store is slow")
        hold.wait(10 if number > 1 else 0)

    with pytest.raises(TimeoutError, match="the store is slow"):
        Threads(shards(50)).map(task, [], {})
    hold.set()
    assert begun[:2] == [0, 1] and len(begun) <= 3


def test_answers_are_in_the_order_of_partitions():
    def task(shard, number, shared, told):
        time.sleep(0.01 * (number % 3 == 0))
        return number

    assert Threads(shards(20), threads=4).map(task, [], {}) == list(range(20))
    with pytest.raises(ValueError, match="threads must be at least 1, not 0"):
        Threads(shards(1), threads=0)
