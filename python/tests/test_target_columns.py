"""Files whose target column is named, whole and in chunks."""

import numpy as np
import pytest

import lazyglm
from lazyglm import AutoClassifier, ElasticNetClassifier, SGDClassifier, SGDRegressor


def test_a_column_is_the_target_and_chunks_are_files(tmp_path):
    rows = "".join(f"{k % 7},{'Oslo' if k % 2 else 'Rome'},{k % 2}\n" for k in range(60))
    (tmp_path / "all.csv").write_text("age,city,here\n" + rows)
    model = SGDClassifier(random_state=0).fit(tmp_path / "all.csv", target="here")
    assert model.classes_.tolist() == [0, 1] and model.score(tmp_path / "all.csv") == 1.0
    for kind in (ElasticNetClassifier, AutoClassifier):
        assert kind().fit(tmp_path / "all.csv", target="here").score(tmp_path / "all.csv") == 1.0
    with pytest.raises(ValueError, match="target names a column of a file"):
        SGDClassifier().fit(np.eye(2), [0, 1], target="here")
    whole = lazyglm.read(tmp_path / "all.csv", target="here")
    for k in range(3):  # the second and third file have another order of columns
        part = "".join(rows.splitlines(keepends=True)[20 * k : 20 * k + 20])
        (tmp_path / f"{k}.csv").write_text("age,city,target\n" + part)
    chunks = SGDClassifier(shuffle=False)
    for k in range(3):
        chunks.partial_fit(tmp_path / f"{k}.csv", classes=[0, 1])
    alone = SGDClassifier(shuffle=False).partial_fit(whole.X, whole.y, classes=[0, 1])
    np.testing.assert_array_equal(chunks.coef_, alone.coef_)


@pytest.mark.parametrize("kind", [SGDClassifier, SGDRegressor])
def test_chunks_are_files_with_a_named_target(tmp_path, kind):
    rows = [f"{k % 7},{k % 2},{'Oslo' if k % 2 else 'Rome'}\n" for k in range(60)]
    for name, part in [("all", rows), *((str(k), rows[20 * k : 20 * k + 20]) for k in range(3))]:
        (tmp_path / f"{name}.csv").write_text("age,here,city\n" + "".join(part))
    more = {"classes": [0, 1]} if kind is SGDClassifier else {}
    whole = lazyglm.read(tmp_path / "all.csv", target="here")
    alone = kind(shuffle=False).partial_fit(whole.X, whole.y, **more)
    chunks, named = kind(shuffle=False), kind(shuffle=False)
    for k in range(3):
        chunks.partial_fit(tmp_path / f"{k}.csv", target="here" if k == 0 else None, **more)
        named.partial_fit(tmp_path / f"{k}.csv", target="here", **more)
    np.testing.assert_array_equal(chunks.coef_, alone.coef_)
    np.testing.assert_array_equal(named.coef_, alone.coef_)
    assert chunks.score(tmp_path / "all.csv") == alone.score(whole.X, whole.y)
    with pytest.raises(ValueError, match="target='age' is not the target column .* 'here'"):
        chunks.partial_fit(tmp_path / "1.csv", target="age")
    for model in (chunks, kind()):
        with pytest.raises(ValueError, match="target names a column of a file"):
            model.partial_fit(np.eye(2), [0, 1], target="here", **more)
