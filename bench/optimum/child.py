"""A peer at work, in a process of its own: one line of JSON a rung, weights in a file beside it.

    python -m bench.optimum.child PEER DATA.npz l1 l2 WEIGHTS LIMIT

It ends itself after LIMIT seconds, in the middle of whatever it is at; imports and warming up do not count.
"""

import json
import signal
import sys
import time

import numpy as np
import scipy.sparse as sp

from bench.optimum import peers


def main() -> None:
    name, data, l1, l2, weights, limit = sys.argv[1:]
    peer = peers.find()[0][name]
    kept = np.load(data)
    X = sp.csc_matrix((kept["values"], kept["rows"], kept["starts"]), shape=tuple(kept["shape"]))
    y, regression = kept["targets"], bool(kept["regression"])
    peer.warm_up()
    data = peer.prepare(X, y)
    signal.setitimer(signal.ITIMER_REAL, float(limit))  # no handler: it ends the process, compiled code included
    for rung in peer.LADDER:
        started, cpu = time.perf_counter(), time.process_time()
        found = peer.fit(data, regression, float(l1), float(l2), rung)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        w, b = peer.learnt(data, found) if hasattr(peer, "learnt") else found
        file = f"{weights}.{rung}.npz"
        np.savez(file, w=np.asarray(w, dtype=np.float64), b=b)
        print(json.dumps({"rung": rung, "seconds": seconds, "cpu": cpu, "weights": file}), flush=True)


if __name__ == "__main__":
    main()
