"""Averages of clusters in the user's units."""

import builtins

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from widegap import CPM3C, MaxMarginClustering, TableEncoder, describe
from widegap.exceptions import InvalidDataError, NotSupportedError


def customers(n=120):
    """Two groups of customers, with gaps in every column."""
    rng = np.random.default_rng(0)
    old = np.arange(n) % 2 == 1
    frame = pd.DataFrame(
        {
            "age": rng.normal(np.where(old, 60, 25), 3),
            "city": np.where(old, "Bonn", rng.choice(["Ulm", "Köln"], n)),
            "since": pd.Timestamp("2020-03-01") + pd.to_timedelta(rng.integers(0, 90, n) + 800 * old, "D"),
            "vip": rng.choice(["yes", "no"], n),
        }
    )
    frame.loc[3:9, "age"] = np.nan
    frame.loc[20:31, "city"] = None
    frame.loc[40:42, "since"] = pd.NaT
    return frame


@pytest.fixture(scope="module")
def model():
    return make_pipeline(TableEncoder(), MaxMarginClustering(2, random_state=0)).fit(customers())


def test_averages_are_those_of_pandas(model):
    frame = customers()
    clusters = describe.labels(model, frame)
    found, groups = describe.centers(model, frame), frame.groupby(clusters)
    assert list(found.columns) == ["age", "city = Bonn", "city = Köln", "city = Ulm", "since", "vip = yes"]
    assert found.index.name == "cluster" and list(found.index) == [0, 1]
    np.testing.assert_allclose(found["age"], groups["age"].mean())
    for city in ("Bonn", "Köln", "Ulm"):
        np.testing.assert_allclose(found[f"city = {city}"], (frame["city"] == city).groupby(clusters).mean())
    away = (found["since"] - groups["since"].mean().to_numpy()).abs()
    assert (away <= pd.Timedelta(seconds=1)).all()
    np.testing.assert_allclose(found["vip = yes"], (frame["vip"] == "yes").groupby(clusters).mean())


def test_weights_are_copies_of_rows(model):
    frame = customers()
    weights = np.arange(len(frame)) % 4
    repeated = frame.loc[np.repeat(frame.index, weights)].reset_index(drop=True)
    # By predict both times: a fit's own rows would get their labels_.
    expected = describe.centers(model, repeated)
    found = describe.centers(model, frame, sample_weight=weights)
    pd.testing.assert_frame_equal(found, expected, check_exact=False, rtol=1e-9)


def test_frames_of_arrow_are_read(model):
    expected = describe.centers(model, customers())
    pd.testing.assert_frame_equal(describe.centers(model, pa.Table.from_pandas(customers())), expected)


def test_polars_comes_out_where_it_came_in(model):
    expected = describe.centers(model, customers())
    found = describe.centers(model, pl.from_pandas(customers()))
    assert isinstance(found, pl.DataFrame)
    as_pandas = found.to_pandas().set_index("cluster")
    pd.testing.assert_frame_equal(as_pandas, expected, check_index_type=False, check_dtype=False)


def test_frames_of_numbers_keep_all_columns():
    frame = pd.DataFrame({"a": [1.0, 2.0, 9.0, 10.0], "id": [1, 2, 3, 4], "same": 5})
    model = CPM3C(2, random_state=0).fit(frame)
    found = describe.centers(model, frame)
    expected = frame.groupby(model.labels_).mean()
    np.testing.assert_allclose(found, expected)
    assert list(found.columns) == ["a", "id", "same"]


def test_arrays_and_sparse_rows():
    X = np.random.default_rng(0).normal(np.arange(30)[:, None] % 2 * 9.0, 1, (30, 3))
    model = CPM3C(2, random_state=0).fit(X)
    expected = [X[model.labels_ == p].mean(axis=0) for p in range(2)]
    for rows in (X, sp.csr_array(X)):
        found = describe.centers(model, rows)
        np.testing.assert_allclose(found, expected)
        assert list(found.columns) == ["x0", "x1", "x2"]


def test_other_clusterers_and_encoders():
    frame = customers().dropna().reset_index(drop=True)
    encoder = make_column_transformer((OneHotEncoder(), ["city"]), ("passthrough", ["age"]))
    model = make_pipeline(encoder, KMeans(2, n_init=1, random_state=0)).fit(frame)
    found = describe.centers(model, frame)
    np.testing.assert_allclose(found["age"], frame["age"].groupby(model[-1].labels_).mean())
    assert "city = Bonn" in found.columns and "since" in found.columns


def test_a_kernel_matrix_needs_the_table():
    frame = customers()
    X = TableEncoder().fit_transform(frame)
    model = MaxMarginClustering(2, kernel="precomputed", random_state=0).fit(X @ X.T)
    with pytest.raises(InvalidDataError, match="X is a kernel matrix.*pass what to average as table="):
        describe.centers(model, X @ X.T)
    found = describe.centers(model, X @ X.T, table=frame)
    np.testing.assert_allclose(found["age"], frame["age"].groupby(model.labels_).mean())
    with pytest.raises(InvalidDataError, match="labels has 120 entries for 5 rows"):
        describe.centers(model, X @ X.T, table=frame[:5])


def test_clusters_without_rows_have_no_averages():
    X = np.array([[0.0], [0.1], [9.0], [9.1]])
    model = CPM3C(2, random_state=0).fit(X)
    found = describe.centers(model, X[:2])
    assert np.isnan(found["x0"]).sum() == 1 and np.nansum(found["x0"]) == pytest.approx(0.05)


def test_outliers_do_not_count():
    X = np.vstack([np.random.default_rng(0).normal(np.arange(60)[:, None] % 2 * 9.0, 1, (60, 2)), [[500.0, 500.0]]])
    model = MaxMarginClustering(2, outliers="auto", random_state=0).fit(X)
    assert model.labels_[-1] == -1
    assert describe.centers(model, X).to_numpy().max() < 20


def test_collections_are_refused():
    model = CPM3C(2, random_state=0).fit(np.arange(20.0).reshape(10, 2))
    with pytest.raises(NotSupportedError, match="pass a sample of the collection"):
        describe.centers(model, da.zeros((10, 2)))


def test_without_pandas_columns_are_arrays(monkeypatch):
    X = np.arange(20.0).reshape(10, 2)
    model = CPM3C(2, random_state=0).fit(X)
    real = builtins.__import__

    def no_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_pandas)
    found = describe.centers(model, X)
    assert list(found) == ["x0", "x1"] and found["x0"].shape == (2,)
