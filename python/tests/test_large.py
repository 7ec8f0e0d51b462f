"""More than 2³¹ non-zeros: nothing is counted in 32 bits.

Memory that is reserved and never written to costs none: reading it finds zeros. So a first row of 2³¹ stored zeros, and rows that
lie behind it, make a matrix of 24 GiB of which some pages exist.
"""

import mmap
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from lazyglm import SGDClassifier

FAR = 2**31 + 12_345
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory that is reserved alone is asked for in Linux's way")


def untouched(count, dtype):
    size = count * np.dtype(dtype).itemsize
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE
    return np.frombuffer(mmap.mmap(-1, size, flags=flags), dtype=dtype)


@LINUX
@pytest.mark.slow
def test_rows_behind_the_two_billionth_value_are_learnt():
    near = sp.random(60, 50, density=0.2, random_state=0, format="csr", dtype=np.float32)
    y = np.arange(60) % 2
    data, indices = untouched(FAR + near.nnz, np.float32), untouched(FAR + near.nnz, np.int64)
    data[FAR:], indices[FAR:] = near.data, near.indices
    X = sp.csr_matrix(near.shape)
    X.data, X.indices = data, indices
    X.indptr = np.concatenate([[0], FAR + near.indptr.astype(np.int64)])
    X._shape = (61, 50)
    assert X.nnz > 2**31
    weights = np.concatenate([[0.0], np.ones(60)])  # a row of weight zero is as if absent
    far = SGDClassifier("log_loss", penalty="elasticnet", max_iter=3, tol=None, shuffle=False)
    far.fit(X, np.concatenate([[0], y]), sample_weight=weights)
    alone = SGDClassifier("log_loss", penalty="elasticnet", max_iter=3, tol=None, shuffle=False).fit(near, y)
    assert np.array_equal(far.coef_, alone.coef_) and np.count_nonzero(far.coef_) > 10


@pytest.mark.parametrize("end", [2**31 + 5, 2**32 + 3, 2**32 + 5, 2**63 - 1, -1])
def test_offsets_beyond_the_arrays_are_refused_however_far(end):
    X = sp.csr_matrix(np.eye(5))
    X.indices = X.indices.astype(np.int64)
    X.indptr = np.array([0, 1, 2, 3, 4, end], dtype=np.int64)
    with pytest.raises(ValueError):
        SGDClassifier().fit(X, [0, 1, 0, 1, 0])
    X.indptr = np.array([0, 1, end, 3, 4, 5], dtype=np.int64)
    with pytest.raises(ValueError):
        SGDClassifier().fit(X, [0, 1, 0, 1, 0])
