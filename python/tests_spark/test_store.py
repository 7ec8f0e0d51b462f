"""What is kept on executors, and what travels: folders of ours alone, and bytes that run nothing. No Spark is started."""

import os
import pickle
import stat

import numpy as np
import pytest

from lazyglm.distributed import EngineError, pack
from lazyglm.spark import _store, _wire
from lazyglm.spark._worker import Kept

RUN = "a" * 32 + "-" + "b" * 32


@pytest.fixture(params=["of Spark", "of the system"])
def here(tmp_path, monkeypatch, request):
    """The directory of temporary files: Spark's, or the system's where Spark has told of none."""
    if request.param == "of Spark":
        monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/nowhere")
    else:
        monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def shard():
    return pack(np.eye(3), [1.0, -1.0, 1.0])


def test_shards_lie_in_a_folder_of_ours_alone(here):
    before = os.umask(0)
    try:
        _store.write(_store.path_of(RUN, 2, 0), shard())
    finally:
        os.umask(before)
    folder = here / f"lazyglm-{RUN}"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert _store.read(_store.path_of(RUN, 2, 0)).digest() == shard().digest()
    assert _store.read(_store.path_of(RUN, 3, 0)) is None
    _store.write(_store.path_of(RUN, 20, 1), shard())
    _store.remove(RUN, 2)
    assert os.listdir(folder) == ["20-1.shard"]
    _store.remove(RUN, 20)
    assert os.listdir(here) == []


@pytest.mark.parametrize("how", ["open to others", "a link", "a file"])
def test_a_folder_that_is_not_ours_is_refused(here, tmp_path_factory, how):
    folder, other = here / f"lazyglm-{RUN}", tmp_path_factory.mktemp("other")
    if how == "open to others":
        folder.mkdir()
        folder.chmod(0o777)
    elif how == "a link":
        folder.symlink_to(other)
    else:
        folder.write_text("")
    with pytest.raises(EngineError, match="is not a folder of ours alone .*: another user or program made it; remove it"):
        _store.write(_store.path_of(RUN, 0, 0), shard())
    assert os.listdir(other) == []
    if how != "a file":
        (folder / "0-0.shard").write_bytes(shard().to_bytes())
        with pytest.raises(EngineError, match="is not a folder of ours alone"):
            _store.read(_store.path_of(RUN, 0, 0))


def test_what_runs_that_are_over_have_left_is_removed(here):
    runs = [f"{'a' * 32}-{k:032x}" for k in range(3)] + [f"{'c' * 32}-{0:032x}"]
    for run in runs:
        _store.write(_store.path_of(run, 0, 0), shard())
    _store.sweep("a" * 32, [runs[1]])
    assert sorted(os.listdir(here)) == [f"lazyglm-{runs[1]}", f"lazyglm-{runs[3]}"]


def test_a_file_that_was_changed_is_refused(here):
    path = _store.path_of(RUN, 0, 0)
    for wrong in (b"", b"nothing", shard().to_bytes()[:-9], shard()._replace(ids=np.array([0, 1, 9], np.uint32)).to_bytes()):
        _store.write(path, shard())
        with open(path, "wb") as file:
            file.write(wrong)
        with pytest.raises(EngineError, match="changed by another program"):
            _store.read(path)


def test_answers_travel_to_the_bit():
    thin = np.zeros(5000)
    thin[[0, 17, 4999]] = [1.0, -0.0, np.nan]
    answer = (3, -0.25, "text", None, True, thin, np.arange(7, dtype=np.uint32), np.array([], np.float32), {"mean": thin > 0})
    again = _wire.loads(_wire.dumps(answer))
    assert len(_wire.dumps(answer)) < 1000
    for one, other in zip(again[:-1], answer[:-1], strict=True):
        same = one.tobytes() == other.tobytes() and one.dtype == other.dtype if isinstance(other, np.ndarray) else one == other
        assert same, other
    assert np.array_equal(again[-1]["mean"], thin > 0) and again[5].flags.writeable
    kept = Kept("path", "digest", 3, 60, (np.array([0.0, 1.0]), np.array([1, 2])), (np.zeros(3),))
    assert Kept.of_bytes(kept.to_bytes()).columns == 60
    with pytest.raises(TypeError, match="a task answered with a set"):
        _wire.dumps((set(),))


def test_errors_travel_by_name_and_message():
    for error in (KeyError("word"), OSError(28, "No space left"), ValueError("row 3"), EngineError("gone"), _wire.Missing("path")):
        again = _wire.loads_error(_wire.dumps_error(error))
        assert type(again) is type(error) and str(error) in str(again)

    class Own(LookupError):
        pass

    assert type(_wire.loads_error(_wire.dumps_error(Own("x")))) is LookupError
    assert type(_wire.loads_error(_wire.dumps(("exec", "print()")))) is RuntimeError
    assert type(_wire.loads_error(_wire.dumps(("SystemExit", "0")))) is RuntimeError


def test_bytes_from_elsewhere_are_refused_and_not_run():
    class Run:
        def __reduce__(self):
            return pytest.fail, ("bytes were unpickled",)

    whole, random = _wire.dumps((np.arange(50.0), "text", np.zeros(2000))), np.random.default_rng(1)
    for data in (b"", pickle.dumps(Run()), whole[:-1], whole + b"x", b"\xff" * 40):
        with pytest.raises(EngineError, match="an answer is damaged"):
            _wire.loads(data)
    for _ in range(2000):
        data = bytearray(whole)
        data[random.integers(0, 80)] = random.integers(256)
        try:
            _wire.loads(bytes(data))
        except EngineError:
            pass
