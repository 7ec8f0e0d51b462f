"""Shards as bytes: what is written is read again, and bytes from anywhere are refused or harmless."""

import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from test_distributed import made

from lazyglm.distributed import Shard, pack, shard_bytes, tasks


def shards():
    X, y = made(rows=50, columns=30)
    yield pack(X, y)
    yield pack(X.astype(np.float32), y, np.linspace(0.5, 2, 50))
    yield pack(sp.csr_array((0, 0)), np.zeros(0))
    yield pack(sp.csr_array((3, 7)), np.ones(3))
    yield pack(sp.csr_array([[1.0, 0.0], [0.0, 0.0], [2.0, 3.0], [0.0, 0.0]]), np.ones(4))


def test_a_shard_is_read_as_it_was_written():
    for shard in shards():
        again = Shard.of_bytes(shard.to_bytes())
        assert again.columns == shard.columns and again.digest() == shard.digest()
        for one, other in zip(again, shard, strict=True):
            assert np.array_equal(one, other) if isinstance(other, np.ndarray) else one == other
        assert getattr(again.values, "dtype", None) == shard.values.dtype


def test_a_shard_that_lies_at_any_byte_is_learnt():
    (first, *_) = shards()
    shifted = Shard.of_bytes(memoryview(b"x" + first.to_bytes())[1:])
    told = {"aim": None, "loss": "logistic", "bias": 0.0, "wire": "f8"}
    at = {"weights": np.linspace(-1, 1, 30)}
    for one, other in zip(tasks.gradient(first, 0, at, told), tasks.gradient(shifted, 0, at, told), strict=True):
        assert np.array_equal(one, other)


def test_a_pickle_is_refused_and_not_run():
    class Run:
        def __reduce__(self):
            return pytest.fail, ("bytes were unpickled",)

    with pytest.raises(ValueError, match="not a shard of lazyglm: they do not begin with"):
        Shard.of_bytes(pickle.dumps(Run()))


def changed(shard, **fields):
    return shard._replace(**fields).to_bytes()


def test_what_does_not_fit_together_is_refused():
    shard = next(shards())
    ids, offsets, values = shard.ids.copy(), shard.offsets.copy(), shard.values.copy()
    ids[5], offsets[3], values[2] = 4_000_000_000, offsets[2] - 1, np.nan
    swapped = shard.ids.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    weights = np.ones(50)
    weights[7] = -1.0
    for wrong, words in [
        (changed(shard, ids=ids), "there is an id 4000000000, and 30 columns"),
        (changed(shard, offsets=offsets), "the offsets do not rise"),
        (changed(shard, offsets=shard.offsets + 1), "the offsets do not rise"),
        (changed(shard, offsets=shard.offsets[:-1]), "50 targets, 50 offsets"),
        (changed(shard, values=shard.values[:-1]), "the offsets do not rise"),
        (changed(shard, values=values), "the values are not all finite"),
        (changed(shard, ids=swapped), "the ids of a row do not rise"),
        (changed(shard, columns=3), "and 3 columns"),
        (changed(shard, columns=2**40), "not a number of columns"),
        (changed(shard, columns=-1), "not a number of columns"),
        (changed(shard, targets=shard.targets.astype(np.float32)), "does not describe targets"),
        (changed(shard, ids=shard.ids.astype(np.int64)), "does not describe ids"),
        (changed(shard, weights=weights), "the row weights are not all above zero"),
        (changed(shard, weights=np.ones(49)), "not as many row weights"),
        (shard.to_bytes() + b"more", "4 bytes follow the last array"),
        (shard.to_bytes()[:-1], "targets end at byte"),
        (b"", "do not begin"),
        (shard_bytes.MAGIC + (2**63).to_bytes(8, "little") + b"{}", "the head ends at byte"),
    ]:
        with pytest.raises(ValueError, match=words):
            Shard.of_bytes(wrong)


@pytest.mark.parametrize(
    "head",
    [
        {"columns": 3, "arrays": [["|O", 1], None, None, None, None]},
        {"columns": 3, "arrays": [["<u8", 2**62], ["<u4", 0], ["<f8", 0], ["<f8", 0], None]},
        {"columns": 3, "arrays": [["<u8", True], ["<u4", 0], ["<f8", 0], ["<f8", 0], None]},
        {"columns": True, "arrays": []},
        {"columns": 3, "arrays": {}},
        [],
    ],
)
def test_a_head_of_anything_else_is_refused(head):
    told = json.dumps(head).encode()
    with pytest.raises(ValueError, match="not a shard of lazyglm"):
        Shard.of_bytes(shard_bytes.MAGIC + len(told).to_bytes(8, "little") + told + bytes(64))


def test_bytes_damaged_anywhere_are_refused_or_harmless():
    """Every answer of the compiled part is finite, or an error: nothing is read that is not there."""
    whole, random = next(shards()).to_bytes(), np.random.default_rng(1)
    told = {"aim": None, "loss": "logistic", "bias": 0.0, "wire": "f8"}
    refused = 0
    for _ in range(2000):
        data = bytearray(whole)
        for at in random.integers(0, len(data), random.integers(1, 4)):
            data[at] = random.integers(256)
        try:
            shard = Shard.of_bytes(bytes(data[: random.integers(len(data)) if random.random() < 0.1 else len(data)]))
        except ValueError:
            refused += 1
            continue
        if shard.columns == 30:
            tasks.gradient(shard, 0, {"weights": np.zeros(30)}, told)
    assert 200 < refused < 2000


def test_another_bit_is_another_fingerprint():
    shard = next(shards())
    seen = {shard.digest()}
    for field in ("offsets", "ids", "values", "targets"):
        array = getattr(shard, field).copy()
        array.view(np.uint8)[-1] ^= 1
        seen.add(shard._replace(**{field: array}).digest())
    seen.add(shard._replace(weights=np.ones(50)).digest())
    seen.add(shard._replace(columns=31).digest())
    assert len(seen) == 7
