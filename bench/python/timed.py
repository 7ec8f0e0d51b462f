"""One fit in a process of its own, which ends at a limit."""

import contextlib
import multiprocessing
import os
import signal
import time
import warnings


def _child(work, args, answer):
    os.setsid()  # its own processes end with it
    warnings.simplefilter("ignore")
    try:
        answer.send(work(*args))
    except Exception as error:  # the table says what went wrong
        answer.send(error)


def within(limit: float, work, *args):
    """What `work` returns, or None if it takes longer than the limit. Its process is forked: it has the data, and its threads begin anew."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(work, args, there))
    child.start()
    found = here.recv() if here.poll(limit) else None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
    child.join()
    if isinstance(found, Exception):
        raise found
    return found


def clock(fit, *args):
    """Seconds of a call, and its result."""
    started = time.perf_counter()
    found = fit(*args)
    return time.perf_counter() - started, found
