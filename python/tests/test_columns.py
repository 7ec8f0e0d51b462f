"""Columns of frames that are not plain numbers or texts: lists of numbers, decimals, durations and nullable numbers."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lazyglm import AutoRegressor, ElasticNetRegressor, SGDRegressor

Z = np.random.default_rng(0).normal(size=60)
PAIRS = [[float(z), 1.0] for z in Z]
DECIMALS = [decimal.Decimal(str(round(z, 3))) for z in Z]
TENTHS = [None if k % 5 == 0 else int(round(z * 10)) for k, z in enumerate(Z)]
SIGNS = [None if k % 5 == 0 else bool(z > 0) for k, z in enumerate(Z)]

LISTS = {
    "pandas": pd.DataFrame({"v": PAIRS}),
    "polars": pl.DataFrame({"v": PAIRS}),
    "polars array": pl.DataFrame({"v": pl.Series(PAIRS, dtype=pl.Array(pl.Float64, 2))}),
    "arrow": pa.table({"v": PAIRS}),
    "arrow fixed": pa.table({"v": pa.array(PAIRS, pa.list_(pa.float64(), 2))}),
}
EXACT = {
    "pandas": pd.DataFrame({"v": DECIMALS}),
    "polars": pl.DataFrame({"v": DECIMALS}),
    "arrow": pa.table({"v": pa.array(DECIMALS, pa.decimal128(10, 3))}),
}
MISSING = {
    "Int64": pd.DataFrame({"v": pd.array(TENTHS, dtype="Int64")}),
    "boolean": pd.DataFrame({"v": pd.array(SIGNS, dtype="boolean")}),
    "polars integers": pl.DataFrame({"v": TENTHS}),
    "polars booleans": pl.DataFrame({"v": SIGNS}),
}


@pytest.mark.parametrize("frame", LISTS.values(), ids=LISTS)
def test_a_list_of_numbers_is_a_feature_per_place(frame):
    model = ElasticNetRegressor(alpha=1e-4).fit(frame, Z)
    assert model.get_feature_names_out().tolist() == ["v^0", "v^1"]
    assert model.coef_[0] == pytest.approx(1, abs=0.01) and model.score(frame, Z) > 0.99
    np.testing.assert_allclose(SGDRegressor(random_state=0).fit(frame, Z).predict(frame), Z, atol=0.3)


@pytest.mark.parametrize("frame", EXACT.values(), ids=EXACT)
def test_a_decimal_is_its_number(frame):
    model = ElasticNetRegressor(alpha=1e-4).fit(frame, Z)
    plain = ElasticNetRegressor(alpha=1e-4).fit(pd.DataFrame({"v": np.round(Z, 3)}), Z)
    assert model.get_feature_names_out().tolist() == ["v"]
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6)


@pytest.mark.parametrize("frame", MISSING.values(), ids=MISSING)
@pytest.mark.parametrize("kind", [ElasticNetRegressor, AutoRegressor, SGDRegressor])
def test_a_nullable_number_that_is_missing_is_the_mean_and_a_feature(frame, kind):
    model = kind().fit(frame, Z)
    assert model.get_feature_names_out().tolist() == ["v", "v=missing"]
    known = np.array([value is not None for value in TENTHS])
    predicted = model.predict(frame)
    assert np.ptp(predicted[~known]) < 1e-9 and np.isfinite(predicted).all()


def test_nullable_numbers_without_a_gap_are_numbers():
    frame = pd.DataFrame({"a": pd.array(np.round(Z * 10).astype(int), dtype="Int64"), "b": pd.array(Z > 0, dtype="boolean"), "c": pd.array(Z, dtype="Float64")})
    plain = frame.astype(float)
    model, other = (ElasticNetRegressor(alpha=1e-2).fit(one, Z) for one in (frame, plain))
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.predict(frame), other.predict(plain), rtol=1e-6)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame({"v": pd.to_timedelta(Z, unit="h")}), pl.DataFrame({"v": [datetime.timedelta(hours=float(z)) for z in Z]})],
    ids=["pandas", "polars"],
)
def test_a_duration_is_a_number_of_seconds(frame):
    model = ElasticNetRegressor(alpha=1e-6).fit(frame, Z)
    np.testing.assert_allclose(model.coef_, 1 / 3600, rtol=1e-4)
