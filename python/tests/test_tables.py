"""Frames with text, categories and dates: read as the program reads such a file, whatever the library."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lazyglm import AutoClassifier, ElasticNetClassifier, ElasticNetRegressor, SGDClassifier, load, read
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
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        SGDClassifier().fit(frame, kinds)
