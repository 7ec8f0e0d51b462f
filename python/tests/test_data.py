"""What may come in, what is refused, and that nothing is read out of bounds or changed."""

import numpy as np
import pytest
import scipy.sparse as sp

from lazyglm import ElasticNetRegressor, SGDClassifier, SGDRegressor, read

X = sp.csr_matrix(np.array([[1.0, 0, 2], [0, 3, 0], [0, 0, -1], [4, 0, 0]]))
Y = np.array([1, 0, 0, 1])


def fitted():
    return SGDClassifier(random_state=1, max_iter=3, tol=None).fit(X, Y)


def broken(**arrays):
    """A CSR matrix whose arrays are put in by hand, as no checks of scipy's see."""
    matrix = X.copy()
    for name, array in arrays.items():
        setattr(matrix, name, np.asarray(array, dtype=getattr(X, name).dtype))
    return matrix


MALFORMED = {  # by what is put in
    "indptr falls": {"indptr": [0, 3, 2, 4, 5]},
    "indptr begins late": {"indptr": [1, 2, 3, 4, 5]},
    "indptr ends beyond": {"indptr": [0, 2, 3, 4, 50]},
    "indptr is negative": {"indptr": [0, -2, 3, 4, 5]},
    "index too large": {"indices": [0, 2, 1, 3, 0]},
    "index negative": {"indices": [0, 2, 1, -1, 0]},
    "indices too few": {"indices": [0, 2, 1]},
    "data too few": {"data": [1.0, 2.0]},
}


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_matrices_are_refused(what, wide):
    matrix = broken(**MALFORMED[what])
    if wide:
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    model = fitted()
    for use in (lambda: SGDClassifier().fit(matrix, Y), lambda: model.predict(matrix), lambda: model.partial_fit(matrix, Y)):
        with pytest.raises(ValueError):
            use()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_values_that_are_not_finite_are_refused(make, bad):
    dense = X.toarray()
    dense[1, 1] = bad
    for use in (lambda X: SGDClassifier().fit(X, Y), lambda X: SGDRegressor().fit(X, Y), lambda X: fitted().predict(X)):
        with pytest.raises(ValueError, match="NaN|infinity"):
            use(make(dense))


def test_other_things_that_are_refused():
    for wrong in ([["a", "b"]] * 4, np.empty((0, 3)), np.empty((4, 0)), np.zeros((4, 3, 2)), np.zeros(4), None, [[1j] * 3] * 4):
        with pytest.raises((ValueError, TypeError)):
            SGDClassifier().fit(wrong, Y)
    with pytest.raises(ValueError, match="features"):
        fitted().predict(X[:, :2])
    with pytest.raises(ValueError, match="class"):
        SGDClassifier().fit(X, np.ones(4))
    with pytest.raises(ValueError):
        SGDRegressor().fit(X, ["a", "b", "c", "d"])
    with pytest.raises(ValueError):
        SGDClassifier().fit(X, Y[:3])
    with pytest.raises(ValueError, match="weight"):
        SGDClassifier().fit(X, Y, sample_weight=[1, 1, -1, 1])
    with pytest.raises(ValueError, match="partial_fit|classes"):
        SGDClassifier().partial_fit(X, [0, 1, 2, 0], classes=[0, 1])


PARAMETERS = [
    ("loss", "hing"), ("penalty", "l3"), ("alpha", -1), ("alpha", np.nan), ("l1_ratio", 2), ("max_iter", 0), ("max_iter", 1.5),
    ("tol", -1.0), ("shuffle", "no"), ("learning_rate", "best"), ("eta0", 0), ("validation_fraction", 1.0), ("epsilon", -1),
    ("n_iter_no_change", 0), ("method", "adam"), ("precision", "f16"), ("average", -1), ("verbose", -1), ("alpha", "small"),
]  # fmt: skip


@pytest.mark.parametrize("name, value", PARAMETERS)
def test_wrong_parameters_are_refused_by_name(name, value):
    for estimator in (SGDClassifier, SGDRegressor):
        with pytest.raises(ValueError, match=name):
            estimator(**{name: value}).fit(X, Y)


def test_arrays_may_be_read_only_and_of_any_strides():
    model, dense = fitted(), X.toarray()
    wide = np.zeros((8, 6))
    wide[::2, ::2] = dense
    frozen = X.copy()
    for array in (frozen.data, frozen.indices, frozen.indptr, dense):
        array.setflags(write=False)
    for other in (dense, frozen, wide[::2, ::2], dense[::-1][::-1], np.asfortranarray(dense)):
        assert np.array_equal(SGDClassifier(random_state=1, max_iter=3, tol=None).fit(other, Y).coef_, model.coef_)
        assert np.array_equal(model.decision_function(other), model.decision_function(X))
    strided = sp.csr_matrix(X)
    strided.data = np.repeat(X.data, 2)[::2]
    strided.indices = np.repeat(X.indices, 2)[::2]
    assert np.array_equal(SGDClassifier(random_state=1, max_iter=3, tol=None).fit(strided, Y).coef_, model.coef_)


def test_scores_are_those_of_numpy():
    rng = np.random.default_rng(0)
    Z = sp.random(3000, 40, density=0.2, random_state=0, format="csr")
    y = rng.integers(0, 3, size=3000)
    model = SGDClassifier(random_state=0, max_iter=2, tol=None).fit(Z, y)
    np.testing.assert_allclose(model.decision_function(Z), Z @ model.coef_.T + model.intercept_, rtol=1e-12, atol=1e-12)


def test_conversions_that_cost_memory_are_said():
    from sklearn.exceptions import DataConversionWarning

    large = sp.random(2000, 500, density=0.2, random_state=0, format="csc")
    y = np.arange(2000) % 2
    with pytest.warns(DataConversionWarning, match="CSC"):
        SGDClassifier(max_iter=1, tol=None).fit(large, y)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_numbers(library, tmp_path):
    frames = pytest.importorskip(library)
    columns = {name: X.toarray()[:, k] for k, name in enumerate("abc")}
    frame = frames.table(columns) if library == "pyarrow" else frames.DataFrame(columns)
    model = SGDClassifier(random_state=1, max_iter=3, tol=None).fit(frame, Y)
    assert np.array_equal(model.coef_, fitted().coef_)
    assert list(model.feature_names_in_) == list("abc")
    assert np.array_equal(model.decision_function(frame), fitted().decision_function(X))


def test_a_path_is_as_good_as_its_rows(tmp_path):
    lines = [f"{y} " + " ".join(f"{j + 1}:{x!r}" for j, x in zip(row.indices, row.data.tolist())) for y, row in zip(Y, X)]
    svm = tmp_path / "four.svm"
    svm.write_text("\n".join(lines) + "\n")
    model = SGDClassifier(random_state=1, max_iter=3, tol=None).fit(svm)
    rows = read(svm)
    assert np.array_equal(rows.X.toarray(), X.toarray()) and np.array_equal(rows.y, Y) and rows.index_base == 1
    again = SGDClassifier(random_state=1, max_iter=3, tol=None).fit(rows.X, rows.y)
    assert np.array_equal(model.coef_, again.coef_)
    assert np.array_equal(model.decision_function(svm), model.decision_function(rows.X))
    table = tmp_path / "four.csv"
    table.write_text("a,city,target\n1,Oslo,yes\n2,Rome,no\n3,Oslo,yes\n")
    found = read(table)
    assert list(found.feature_names) == ["a", "city=Oslo", "city=Rome"] and list(found.y) == ["yes", "no", "yes"]
    named = SGDClassifier(random_state=1, max_iter=3, tol=None).fit(table)
    assert set(named.predict(str(table))) <= {"yes", "no"}


def test_files_that_cannot_be_read_raise_what_python_raises(tmp_path):
    with pytest.raises(FileNotFoundError, match="no.svm"):
        read(tmp_path / "no.svm")
    (tmp_path / "bad.svm").write_text("1 1:1\n1 2:x\n")
    with pytest.raises(ValueError, match=r"bad\.svm:2"):
        SGDClassifier().fit(tmp_path / "bad.svm")


def test_parquet_and_arrow_files_are_read(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    table = pyarrow.table({"a": [1.0, 0.0, 3.0], "b": [0.5, 2.0, 0.0], "target": [1, 0, 1]})
    parquet.write_table(table, tmp_path / "t.parquet")
    feather.write_feather(table, tmp_path / "t.arrow", compression="uncompressed")
    for name in ("t.parquet", "t.arrow"):
        rows = read(tmp_path / name)
        assert np.array_equal(rows.X.toarray(), [[1, 0.5], [0, 2], [3, 0]]) and list(rows.feature_names) == ["a", "b"]
        assert len(SGDClassifier(random_state=0).fit(tmp_path / name).predict(tmp_path / name)) == 3


def test_errors_name_parameters_as_python_spells_them(tmp_path):
    (tmp_path / "two.csv").write_text("a,city\n1,Oslo\n2,Rome\n")
    with pytest.raises(ValueError, match="set target to one of: a, city"):
        read(tmp_path / "two.csv")
    (tmp_path / "three.svm").write_text("1 1:1\n-1 3:1\n")
    with pytest.raises(ValueError, match="raise n_features to 3 or more"):
        read(tmp_path / "three.svm", n_features=2)
    with pytest.raises(ValueError, match="invalid hash_bits '31': expected a whole number from 1 to 30"):
        read(tmp_path / "two.csv", target="city", hash_bits=31)


def test_words_as_targets_of_a_regressor_are_refused_by_name(tmp_path):
    (tmp_path / "data.csv").write_text("age,target\n1,old\n2,new\n3,old\n")
    for estimator in (SGDRegressor(), ElasticNetRegressor()):
        with pytest.raises(ValueError, match=r"data.csv: the targets are words, such as 'old': name a column of numbers with target"):
            estimator.fit(tmp_path / "data.csv")


def test_a_range_without_end_is_open():
    with pytest.raises(ValueError, match=r"'alpha' parameter of SGDRegressor must be a number in \[0, inf\). Got -1"):
        SGDRegressor(alpha=-1).fit([[1.0], [2.0]], [1.0, 2.0])
