"""Distances to clusters and scores of rows: what scikit-learn's users expect of a clusterer."""

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widegap import (
    CPM3C,
    GMMC,
    M2DCU,
    MKC,
    MMC,
    DocumentClustering,
    IterLSSVM,
    IterSVM,
    IterSVR,
    MaxMarginClustering,
    describe,
    persistence,
)
from widegap.base._scored_clusterer import below_largest, lost_margin, lost_margins
from widegap.exceptions import InvalidDataError, NotSupportedError

MODELS = {
    "MaxMarginClustering": MaxMarginClustering(3, random_state=0),
    "by moves": MaxMarginClustering(3, search="moves", random_state=0),
    "two": MaxMarginClustering(2, random_state=0),
    "CPM3C": CPM3C(3, random_state=0),
    "CPM3C, two": CPM3C(2, random_state=0),
    "CPM3C, rbf": CPM3C(3, kernel="rbf", random_state=0),
    "sum": CPM3C(3, loss="sum", random_state=0),
    "M2DCU": M2DCU(3, C_universum=0, random_state=0),
    "MKC": MKC(3, random_state=0),
    "IterSVR": IterSVR(3, random_state=0),
    "IterSVR, two": IterSVR(2, random_state=0),
    "IterLSSVM": IterLSSVM(3, random_state=0),
    "IterSVM": IterSVM(3, random_state=0),
    "MMC": MMC(2),
    "GMMC": GMMC(2),
    "one": MaxMarginClustering(1),
    "one, IterSVR": IterSVR(1),
}
every_model = pytest.mark.parametrize("name", MODELS)
NOTES = ["the cat and the dog sleep", "a dog chases a cat", "stocks and bonds fell", "bonds rose while stocks fell"] * 4
tables = arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(2, 5)), elements=st.integers(-3, 3).map(float))


def rows(n=60, shift=0.0):
    rng = np.random.default_rng(1)
    return rng.normal(np.eye(3)[np.arange(n) % 3] * 6 + shift, 1.0)


@pytest.fixture(scope="module")
def fitted():
    found = {}

    def fit(name):
        if name not in found:
            found[name] = MODELS[name].fit(rows())
        return found[name]

    return fit


@every_model
def test_the_nearest_cluster_is_that_of_predict(name, fitted):
    model, X = fitted(name), rows(50, 0.5)
    distances = model.transform(X)
    assert distances.shape == (50, model.n_clusters_)
    assert distances.min() == 0
    np.testing.assert_array_equal(distances.argmin(axis=1), model.predict(X))
    assert np.count_nonzero(distances == 0) == 50  # no other cluster is as near


@every_model
def test_distances_are_differences_of_decision_values(name, fitted):
    model, X = fitted(name), rows(20)
    if model.n_clusters_ > 1:
        scores = describe.scores(model, X)
        np.testing.assert_allclose(model.transform(X), scores.max(axis=1, keepdims=True) - scores, atol=1e-12)


@every_model
def test_fit_transform_is_fit_and_transform(name, fitted):
    model = fitted(name)
    assert model.get_params()["random_state"] in (0, None)
    np.testing.assert_allclose(
        MODELS[name].__class__(**model.get_params()).fit_transform(rows()), model.transform(rows())
    )


def test_distances_of_max_margin_are_differences_of_squared_distances(fitted):
    """A referee: whitened coordinates from the kernel's features themselves."""
    model, X = fitted("MaxMarginClustering"), rows(30, 0.3)
    phi = model.kernel_map_.transform(X) - model._mean
    # Scores are ``M_p . q - |M_p|^2 / 2``, so that their differences are those of the squared distances to M_p.
    scores = phi @ model.coef_.T + model._mean_scores
    squares = -2 * scores  # up to |q|^2, which all clusters share
    expected = (squares - squares.min(axis=1, keepdims=True)) / 2
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["MaxMarginClustering", "by moves", "two"])
def test_the_score_of_the_fitted_rows_is_r2(name, fitted):
    model = fitted(name)
    np.testing.assert_array_equal(model.predict(rows()), model.labels_)
    assert model.score(rows()) == pytest.approx(model.objective_, rel=1e-6)


@pytest.mark.parametrize("name", ["CPM3C, two", "CPM3C, rbf", "sum", "M2DCU"])
def test_the_score_and_the_regulariser_make_the_objective(name, fitted):
    model = fitted(name)
    np.testing.assert_array_equal(model.predict(rows()), model.labels_)
    regulariser = np.square(model.coef_).sum() / (2 * model.C_)
    assert regulariser - model.score(rows()) == pytest.approx(model.objective_, rel=1e-9)


def test_the_score_of_bisections_adds_up_their_losses(fitted):
    model, X = fitted("IterLSSVM"), rows()
    regulariser = np.square(model.coef_).sum() / 2
    assert regulariser - model.C * len(X) * model.score(X) == pytest.approx(model.objective_, rel=1e-6)


@every_model
def test_scores_are_means_of_rows(name, fitted):
    model, X = fitted(name), rows(30, 0.2)
    alone = [model.score(X[i : i + 1]) for i in range(30)]
    weights = np.arange(30.0)
    assert model.score(X) == pytest.approx(np.mean(alone))
    assert model.score(X, sample_weight=weights) == pytest.approx(np.average(alone, weights=weights))
    assert isinstance(model.score(X), float)


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.n_clusters == 3])
def test_rows_of_the_clusters_score_higher_than_rows_between_them(name, fitted):
    between = rows() * 0 + rows().mean(axis=0) + 1e-3 * rows()
    assert fitted(name).score(rows()) > fitted(name).score(between)


@given(tables)
def test_hinges_by_brute_force(scores):
    k = scores.shape[1]
    for row, worst, total in zip(scores, lost_margin(scores), lost_margins(scores), strict=True):
        own = int(row.argmax())
        hinges = [max(0.0, 1 - (row[own] - row[q])) for q in range(k) if q != own]
        assert worst == -max(hinges)
        assert total == pytest.approx(-sum(hinges) / k)


@given(tables)
def test_distances_by_brute_force(scores):
    expected = [[max(row) - value for value in row] for row in scores.tolist()]
    np.testing.assert_array_equal(below_largest(scores), expected)


@pytest.mark.parametrize("name", ["MaxMarginClustering", "CPM3C", "MKC", "IterSVR"])
def test_lazy_rows_have_lazy_distances(name, fitted):
    model, X = fitted(name), rows()
    lazy = da.from_array(X, chunks=(25, 3))
    found = model.transform(lazy)
    assert isinstance(found, da.Array) and found.shape == (60, 3)
    np.testing.assert_allclose(found.compute(), model.transform(X), atol=1e-12)
    assert model.score(lazy) == pytest.approx(model.score(X))
    assert model.score(lazy, sample_weight=np.arange(60)) == pytest.approx(model.score(X, sample_weight=np.arange(60)))


def test_lazy_rows_do_not_become_a_frame():
    model = CPM3C(random_state=0).fit(rows()).set_output(transform="pandas")
    with pytest.raises(NotSupportedError, match=r"a frame in memory; use set_output\(transform='default'\)"):
        model.transform(da.from_array(rows(), chunks=(25, 3)))


@pytest.mark.parametrize("name", ["MaxMarginClustering", "CPM3C", "IterSVR"])
def test_sparse_rows(name):
    X = sp.csr_array(rows())
    model = clone(MODELS[name]).fit(X)
    np.testing.assert_array_equal(model.transform(X).argmin(axis=1), model.predict(X))
    assert np.isfinite(model.score(X))


def test_precomputed_kernels():
    X = rows()
    K = np.exp(-np.square(X[:, None] - X).sum(axis=2) / 50)
    model = MaxMarginClustering(3, kernel="precomputed", random_state=0).fit(K)
    np.testing.assert_array_equal(model.transform(K[:9]).argmin(axis=1), model.predict(K[:9]))
    assert model.score(K) == pytest.approx(model.objective_, rel=1e-6)
    search = GridSearchCV(model, {"C": [1.0, 10.0]}, cv=3, error_score="raise").fit(K)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_frames_have_names_and_the_index_of_the_rows():
    frame = pd.DataFrame(rows(), columns=["a", "b", "c"], index=np.arange(60) + 7)
    model = make_pipeline(StandardScaler(), CPM3C(3, random_state=0)).set_output(transform="pandas")
    found = model.fit_transform(frame)
    assert list(found.columns) == list(model.get_feature_names_out()) == ["cpm3c0", "cpm3c1", "cpm3c2"]
    pd.testing.assert_index_equal(found.index, frame.index)
    polar = CPM3C(3, random_state=0).set_output(transform="polars").fit(rows()).transform(rows())
    assert isinstance(polar, pl.DataFrame) and polar.shape == (60, 3)


def test_model_files_leave_the_form_of_results_to_the_program(tmp_path):
    model = CPM3C(3, random_state=0).set_output(transform="pandas").fit(rows())
    persistence.save(model, tmp_path / "m")
    found, _ = persistence.load(tmp_path / "m")
    np.testing.assert_array_equal(found.transform(rows()), model.transform(rows()))
    assert isinstance(found.transform(rows()), np.ndarray)


def test_grids_compare_pipelines_by_their_score():
    model = make_pipeline(StandardScaler(), MaxMarginClustering(3, random_state=0))
    grid = GridSearchCV(model, {"maxmarginclustering__search": ["merge", "moves"]}, cv=2, error_score="raise")
    assert grid.fit(rows()).best_score_ == grid.cv_results_["mean_test_score"].max()


def test_documents():
    model = DocumentClustering(2, random_state=0).fit(NOTES)
    distances = model.transform(NOTES)
    np.testing.assert_array_equal(model.topics_[distances.argmin(axis=1)], model.predict(NOTES))
    scores = describe.scores(model, NOTES)
    np.testing.assert_allclose(distances, scores.max(axis=1, keepdims=True) - scores, atol=1e-12)
    signs = np.where(np.arange(2) == distances.argmin(axis=1)[:, None], 1, -1)
    losses = np.maximum(0, 1 - signs * model._scores(model._reader.read(NOTES))) ** 2
    assert model.score(NOTES) == pytest.approx(-losses.mean())


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (np.ones(5), r"sample_weight has shape \(5,\) for 60 rows; pass one weight per row"),
        (np.zeros(60), "not 0 for all rows"),
        (np.full(60, -1.0), "at least 0"),
        (np.full(60, np.nan), "must be finite"),
    ],
)
def test_bad_weights_are_refused(weights, match, fitted):
    with pytest.raises(InvalidDataError, match=match):
        fitted("CPM3C").score(rows(), sample_weight=weights)
