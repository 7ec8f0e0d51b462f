"""Made data: rows of unit length over features of Zipf frequencies, logistic labels of a sparse truth."""

import numpy as np
import scipy.sparse as sp


def made(rows, columns, per_row=60, zipf=1.1, share=0.2, strength=6.0, seed=1):
    """X (CSR, unit rows) and y (+1 and -1)."""
    random = np.random.default_rng(seed)
    frequency = np.arange(1, columns + 1, dtype=np.float64) ** -zipf
    edges = np.cumsum(frequency / frequency.sum())
    ids = np.minimum(np.searchsorted(edges, random.random(rows * per_row)), columns - 1)
    ids = random.permutation(columns)[ids]  # a feature's number says nothing of its frequency
    offsets = np.arange(0, rows * per_row + 1, per_row)
    X = sp.csr_matrix((np.ones(rows * per_row), ids, offsets), shape=(rows, columns))
    X.sum_duplicates()
    X = sp.csr_matrix(sp.diags_array(1 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X)
    truth = np.where(random.random(columns) < share, random.normal(size=columns) * strength, 0.0)
    y = np.where(random.random(rows) < 1 / (1 + np.exp(-(X @ truth))), 1.0, -1.0)
    return X, y


def cut(X, y, parts, order="shuffled"):
    """Row numbers of each partition: ``shuffled``, by ``label``, or rows ``clustered`` by the rarest feature they hold."""
    if order == "label":
        rows = np.argsort(y, kind="stable")
    elif order == "clustered":
        counts = np.bincount(X.indices, minlength=X.shape[1])
        rarest = [X.indices[a + np.argmin(counts[X.indices[a:b]])] for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
        rows = np.argsort(np.array(rarest), kind="stable")
    else:
        rows = np.random.default_rng(7).permutation(X.shape[0])
    return np.array_split(rows, parts)
