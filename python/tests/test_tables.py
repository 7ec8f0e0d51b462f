"""Frames with text, categories and dates: read as the program reads such a file, whatever the library."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV, cross_val_score

from lazyglm import AutoClassifier, AutoRegressor, ElasticNetClassifier, ElasticNetRegressor, SGDClassifier, SGDRegressor, load, read
from lazyglm._frames import TARGET, is_table

PROGRAM = os.environ.get("LAZYGLM")
needs_program = pytest.mark.skipif(PROGRAM is None, reason="LAZYGLM is not set: `make test` sets it")
WORDS = "nice quiet loud garden sunny old new house street corner".split()


@pytest.fixture(scope="module")
def houses():
    rng = np.random.default_rng(0)
    n = 300
    city = rng.choice(["Rome", "Oslo", "Lima"], n)
    area = rng.normal(100, 20, n)
    note = [" ".join(rng.choice(WORDS, 7)) for _ in range(n)]
    price = 2.0 * (city == "Rome") + area / 50 + np.array(["sunny" in text for text in note]) + 0.2 * rng.normal(size=n)
    area[::17] = np.nan
    frame = pd.DataFrame(
        {
            "city": pd.Categorical(city),
            "kind": rng.choice(["flat", "house"], n),
            "area": area,
            "garden": rng.random(n) < 0.3,
            "note": note,
            "sold": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )
    return frame, np.where(price > np.median(price), "dear", "cheap"), price


@pytest.mark.parametrize("estimator", [AutoClassifier, ElasticNetClassifier, SGDClassifier])
def test_every_frame_library_gives_the_same_scores(houses, estimator):
    frame, kinds, _ = houses
    options = {"alpha": 0.01} if estimator is ElasticNetClassifier else {"random_state": 0}
    if estimator is SGDClassifier:
        options |= {"loss": "log_loss", "alpha": 1e-3}
    model = estimator(**options).fit(frame, kinds)
    scores = model.decision_function(frame)
    if estimator is not SGDClassifier:  # its steps need scaled columns
        assert model.score(frame, kinds) > 0.7
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        again = estimator(**options).fit(other, kinds)
        np.testing.assert_array_equal(again.decision_function(frame), scores)
        np.testing.assert_array_equal(model.decision_function(other), scores)


def test_the_features_have_the_names_that_the_program_gives_them(houses, tmp_path):
    frame, _, price = houses
    model = ElasticNetRegressor(alpha=0.01).fit(frame, price)
    file = tmp_path / "houses.parquet"
    frame.assign(price=price).to_parquet(file)
    data = read(file, target="price")
    weights = model.weights_frame()
    assert {"city=Rome", "area", "note=sunny"} <= set(weights.index)
    assert set(weights.index) <= set(data.feature_names)
    assert weights["city=Rome"] > weights.get("city=Oslo", 0.0)
    np.testing.assert_allclose(model.fit(data.X, price).predict(data.X), ElasticNetRegressor(alpha=0.01).fit(frame, price).predict(frame))


def test_an_unknown_category_counts_nothing_and_a_missing_number_is_known_as_such(houses):
    frame, _, price = houses
    model = ElasticNetRegressor(alpha=0.01).fit(frame, price)
    row = frame.iloc[[1]].assign(city="Atlantis", area=np.nan)
    weights = model.weights_frame()
    without = model.predict(frame.iloc[[1]]) - weights.get(f"city={frame['city'].iloc[1]}", 0.0) - weights["area"] * frame["area"].iloc[1]
    mean = model.predict(row) - without - weights.get("area=missing", 0.0)
    assert np.isfinite(mean) and abs(mean / weights["area"] - np.nanmean(frame["area"])) < 5


@needs_program
def test_the_program_reads_the_model_and_gives_the_same_predictions(houses, tmp_path):
    frame, kinds, _ = houses
    model = ElasticNetClassifier(alpha=0.01).fit(frame, kinds)
    model.save(tmp_path / "m")
    frame.to_csv(tmp_path / "houses.csv", index=False)
    done = subprocess.run([PROGRAM, "predict", tmp_path / "m", tmp_path / "houses.csv", "--quiet"], capture_output=True, text=True, check=True)
    expected = model.predict_proba(frame)[:, list(model.classes_).index("dear")]
    np.testing.assert_allclose([float(line) for line in done.stdout.split()], expected, rtol=1e-6)
    np.testing.assert_allclose(load(tmp_path / "m").predict_proba(frame), model.predict_proba(frame))


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas])
def test_chunks_of_a_frame_are_learnt_by_the_names_of_their_columns(houses, make):
    frame, kinds, _ = houses
    options = dict(loss="log_loss", alpha=1e-3, random_state=0)
    model = SGDClassifier(**options).partial_fit(make(frame[:100]), kinds[:100], classes=["cheap", "dear"])
    names = list(model.get_feature_names_out())
    later = frame[100:].assign(city="Atlantis", more=1)[["more", "note", *frame.columns.drop("note")]]  # in another order, with what is new
    model.partial_fit(make(later.reset_index(drop=True)), kinds[100:])
    assert list(model.get_feature_names_out()) == names and "city=Atlantis" not in names
    assert list(model.feature_names_in_) == list(frame.columns) and model.n_features_in_ == len(frame.columns)
    assert model.predict(make(frame)).shape == (300,)
    data = [SGDClassifier(**options)._opened(frame[:100], kinds[:100], None)[0]]
    by_hand = SGDClassifier(**options).partial_fit(data[0], kinds[:100], classes=["cheap", "dear"])
    known = frame[100:].drop(columns="city").assign(city="Atlantis")
    again = SGDClassifier(**options).partial_fit(frame[:100], kinds[:100], classes=["cheap", "dear"])
    np.testing.assert_array_equal(again.coef_, by_hand.coef_)
    np.testing.assert_array_equal(again.partial_fit(known, kinds[100:]).coef_, model.coef_)
    with pytest.raises(ValueError, match="features"):
        again.partial_fit(np.ones((2, 3)), ["cheap", "dear"])


def test_a_frame_of_numbers_with_a_missing_one_is_a_table(houses):
    frame, _, price = houses
    numbers = frame[["area"]].assign(rooms=np.arange(300) % 5, garden=frame["garden"])
    frames = [numbers, pl.from_pandas(numbers), pl.from_pandas(numbers, nan_to_null=False), pa.Table.from_pandas(numbers)]
    weights = [ElasticNetRegressor(alpha=0.01).fit(one, price).weights_frame() for one in frames]
    assert {"area", "area=missing", "rooms"} <= set(weights[0].index)
    assert all(other.equals(weights[0]) for other in weights[1:])
    with pytest.raises(ValueError, match="NaN"):
        ElasticNetRegressor(alpha=0.01).fit(numbers.to_numpy(float), price)
    model = ElasticNetRegressor(alpha=0.01).fit(numbers, price)
    assert np.isfinite(model.predict(numbers)).all()
    np.testing.assert_allclose(model.predict(numbers.dropna()), model.predict(numbers)[numbers["area"].notna()])
    whole = ElasticNetRegressor(alpha=0.01).fit(numbers.fillna(100.0), price)
    assert whole.get_feature_names_out().tolist() == ["area", "rooms", "garden"]


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas])
def test_a_missing_number_is_refused_by_a_model_that_has_never_seen_one(make, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(50, 5, 200), "b": rng.normal(size=200)})
    y = 2 * frame["a"] + frame["b"]
    unknown = pd.DataFrame({"a": [np.nan, 50.0], "b": [0.0, 0.0]})
    model = ElasticNetRegressor(alpha=1e-4).fit(make(frame), y)
    model.save(tmp_path / "m")
    for one in (model, load(tmp_path / "m"), SGDRegressor(eta0=1e-4, random_state=0).fit(make(frame), y)):
        for rows in (unknown, unknown.assign(new="x"), unknown.fillna(np.nan).astype({"a": object})):
            with pytest.raises(ValueError, match="NaN or null in column 'a'.*fill it in"):
                one.predict(make(rows))
        assert np.isfinite(one.predict(make(unknown.fillna(50.0)))).all()
        assert np.isfinite(one.predict(make(unknown.fillna(50.0).assign(new=["x", None])))).all()  # not a column of the model
    with pytest.raises(ValueError, match="NaN or null in column 'a'"):
        SGDRegressor(eta0=1e-4).partial_fit(make(frame), y).partial_fit(make(unknown), [1.0, 2.0])
    file = tmp_path / "complete.csv"  # a file has the mean of each column, as the program knows it
    frame.assign(y=y).to_csv(file, index=False)
    filled = ElasticNetRegressor(alpha=1e-4).fit(file, target="y").predict(make(unknown))
    assert abs(filled[0] - 2 * frame["a"].mean()) < 0.1


def test_messages_on_frames_name_no_temporary_file_and_no_option_of_files():
    y = np.arange(80) % 2
    with pytest.raises(ValueError, match=r"^X: the column 'a' is Binary.*; leave it out of X, or make it numbers") as refused:
        ElasticNetClassifier().fit(pd.DataFrame({"a": [b"x\xff"] * 80}), y)
    assert "drop" not in str(refused.value)
    with pytest.raises(ValueError, match="^X: there are no rows in it; give a frame with rows"):
        ElasticNetClassifier().fit(pd.DataFrame({"a": ["x"]}).iloc[:0], [])
    with pytest.raises(ValueError, match="column a .*give each column values of one type"):
        ElasticNetClassifier().fit(pd.DataFrame({"a": [1.0, "unknown"] * 40}), y)
    model = ElasticNetClassifier().fit(pd.DataFrame({"a": np.arange(80.0), "c": ["x", "y"] * 40}), y)
    with pytest.raises(ValueError, match="^X: the column 'a' is missing"):
        model.predict(pd.DataFrame({"c": ["x"]}))
    with pytest.raises(ValueError, match="^X: the column 'a' is .*, but held numbers in training"):
        model.predict(pd.DataFrame({"a": ["1", "word"], "c": ["x", "y"]}))
    plain = ElasticNetClassifier().fit(pd.DataFrame({"a": np.arange(80.0)}), y)
    with pytest.raises(ValueError, match="^X, row 1: 'word' in the number column 'a'"):
        plain.predict(pd.DataFrame({"a": ["1", "word"]}))
    with pytest.warns(UserWarning, match="^X: 1 cell of the number column 'a' is not a number.*in row 1; if the column holds names, train on strings"):
        plain.predict(pd.DataFrame({"a": ["1", "unknown"]}))


def test_names_of_columns_and_of_features(houses):
    frame, kinds, _ = houses
    for model in (SGDClassifier(random_state=0), AutoClassifier(random_state=0), ElasticNetClassifier(alpha=0.01)):
        model.fit(frame, kinds)
        assert list(model.feature_names_in_) == list(frame.columns) and model.n_features_in_ == len(frame.columns)
        names = model.get_feature_names_out()
        assert {"city=Rome", "area", "area=missing", "note=sunny"} <= set(names) and len(names) == model.coef_.shape[1]
    plain = SGDClassifier().fit(np.eye(4), [0, 1, 0, 1])
    assert list(plain.get_feature_names_out()) == ["x0", "x1", "x2", "x3"]
    assert list(plain.get_feature_names_out(list("abcd"))) == list("abcd")
    with pytest.raises(ValueError, match="input_features"):
        plain.get_feature_names_out(["a"])


def test_lists_in_cells_are_several_names(houses):
    rng = np.random.default_rng(1)
    tags = [rng.choice(["red", "green", "blue"], rng.integers(1, 3), replace=False).tolist() for _ in range(200)]
    y = np.array(["red" in row for row in tags]) + 0.1 * rng.normal(size=200)
    frame = pd.DataFrame({"tags": tags, "n": rng.normal(size=200)})
    model = ElasticNetRegressor(alpha=1e-3).fit(frame, y)
    weights = model.weights_frame()
    assert abs(weights["tags=red"] - 1) < 0.1 and model.score(pl.from_pandas(frame), y) > 0.9


def test_a_search_takes_frames(houses):
    frame, kinds, _ = houses
    search = GridSearchCV(SGDClassifier("log_loss", random_state=0), {"alpha": [1e-4, 1e-2]}, cv=3).fit(frame, kinds)
    assert search.best_score_ > 0.6 and search.predict(frame).shape == (300,)
    assert cross_val_score(ElasticNetClassifier(alpha=0.01), frame, kinds, cv=3).mean() > 0.6


def test_read_knows_missing_numbers_and_columns_of_text(tmp_path):
    (tmp_path / "a.csv").write_text("n,word,y\n" + "1,hello you,0\n,you,1\n3,hello,0\n" * 20)
    names = {missing: set(read(tmp_path / "a.csv", target="y", missing=missing).feature_names) for missing in ("zero", "mean", "indicator")}
    assert "n=missing" in names["indicator"] and "n=missing" not in names["mean"] | names["zero"]
    assert {"word=hello", "word=you"} <= set(read(tmp_path / "a.csv", target="y", text_columns=["word"]).feature_names)
    with pytest.raises(ValueError, match="invalid missing 'median': expected zero, mean, indicator"):
        read(tmp_path / "a.csv", target="y", missing="median")
    with pytest.raises(ValueError, match="text_columns|column"):
        read(tmp_path / "a.csv", target="y", text_columns=["none"])


def test_a_frame_of_numbers_is_an_array(houses):
    frame, kinds, _ = houses
    numbers = frame[["area", "garden"]].fillna(0)
    assert not is_table(numbers) and not is_table(pl.from_pandas(numbers)) and not is_table(numbers.to_numpy())
    model = SGDClassifier(random_state=0).fit(numbers, kinds)
    assert list(model.feature_names_in_) == ["area", "garden"]


def test_wrong_frames_are_refused_with_a_next_step(houses, monkeypatch):
    frame, kinds, _ = houses
    with pytest.raises(ValueError, match="rename it"):
        SGDClassifier().fit(frame.assign(**{TARGET: 1}), kinds)
    with pytest.raises(ValueError, match="y must be given"):
        SGDClassifier().fit(frame)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SGDClassifier().fit(frame, kinds[:-1])
    with pytest.raises(ValueError, match="target names a column of a file"):
        SGDClassifier().fit(frame, kinds, target="city")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        SGDClassifier().fit(frame, kinds)


def test_numbers_in_units_far_apart_are_divided_by_their_standard_deviation(tmp_path):
    # The share tells the class, and incomes are a hundred million times as large: no penalty of the search suits both.
    rng = np.random.default_rng(7)
    share, income = rng.random(400) / 1000, rng.integers(100_000, 190_000, 400)
    y = np.where(1000 * share + rng.random(400) / 4 > 0.6, "high", "low")
    frame = pd.DataFrame({"share": share, "income": income, "city": rng.choice(["Rome", "Bonn"], 400)})
    for X in (frame, frame[["share", "income"]], frame[["share", "income"]].to_numpy(float)):
        model = AutoClassifier(random_state=1).fit(X, y)
        assert "numbers are divided by their standard deviation: held-out loss" in model.reason_ and "scale=None keeps them" in model.reason_
        assert not model.tf_idf_ and model.score(X, y) > 0.85
        plain = AutoClassifier(random_state=1, scale=None).fit(X, y)
        assert "standard deviation" not in plain.reason_ and plain.score(X, y) < 0.7
        # Weights are in the units of the data, so that the file needs no scale.
        model.save(tmp_path / "m")
        assert_allclose(load(tmp_path / "m").predict_proba(X), model.predict_proba(X))
    regressor = AutoRegressor(random_state=1).fit(frame, 1000 * share)
    assert "standard deviation" in regressor.reason_ and regressor.score(frame, 1000 * share) > 0.99
    even = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    assert "standard deviation" not in AutoRegressor(random_state=1).fit(even, even["a"]).reason_
