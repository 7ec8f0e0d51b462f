"""Runs one peer in a process of its own: prints one line of JSON per setting, and saves the weights beside it.

    python -m bench.exact.child PEER DATA.npz ASKED.json WEIGHTS LIMIT

The process ends after LIMIT seconds of fitting, in the middle of a fit if need be. Imports, warm-up, preparation and saving do not count.
"""

import json
import signal
import sys
import time
import traceback

import numpy as np
import scipy.sparse as sp

from bench.exact import peers


def main() -> None:
    name, file, asked, weights, limit = sys.argv[1:]
    peer = peers.find()[0][name]
    kept, asked = np.load(file), json.loads(open(asked).read())
    X = sp.csr_matrix((kept["values"], kept["columns"], kept["starts"]), shape=tuple(kept["shape"]))
    peer.warm_up(asked)
    data = peer.prepare(X, kept["targets"], asked)
    left = float(limit)
    for k, rung in enumerate(peer.ladder):
        signal.setitimer(signal.ITIMER_REAL, left)  # no handler: the alarm ends the process, compiled code included
        started = time.perf_counter()
        found = peer.fit(data, asked, rung)
        seconds = time.perf_counter() - started
        signal.setitimer(signal.ITIMER_REAL, 0)
        W, b, *more = peer.learnt(data, asked, found)
        W = sp.csr_matrix(np.atleast_2d(W) if isinstance(W, np.ndarray) else W, dtype=np.float64)
        np.savez(f"{weights}.{k}.npz", values=W.data, columns=W.indices, starts=W.indptr, shape=W.shape, b=np.atleast_1d(b))
        report = {"rung": rung, "seconds": seconds, "weights": f"{weights}.{k}.npz"} | (more[0] if more else {})
        print(json.dumps(report), flush=True)
        left -= seconds
        if left <= 0:
            break


if __name__ == "__main__":
    try:
        main()
    except Exception:
        traceback.print_exc()
        sys.exit(3)
