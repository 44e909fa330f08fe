"""M2DCU as users meet it: conventions, pipelines, what the attributes promise, every kind of universum, bad input."""

import doctest
import pickle
import tracemalloc
import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, UnsetMetadataPassedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from _expected_failures import expected_failures
from widegap import CPM3C, M2DCU, universum
from widegap.base import _starts
from widegap.cutting_plane import _m2dcu, _universum_loss
from widegap.cutting_plane._universum_loss import UniversumReport
from widegap.exceptions import InactiveUniversumWarning, InvalidDataError
from widegap.metrics import clustering_accuracy
from widegap.rows import _sources, shards

FORMS = {
    "dense": np.asarray,
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "float32": np.float32,
    "list": np.ndarray.tolist,
}


def fit(X, U, n_clusters=2, **parameters):
    return M2DCU(n_clusters, **{"random_state": 0, "margin_tolerance": 0.1, **parameters}).fit(X, universum=U)


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)


def margins(model, U):
    """Lead of the best cluster over the mean of the others, from the public attributes."""
    scores = dense(U) @ model.coef_.T + model.intercept_
    best = scores.max(axis=1)
    return best - (scores.sum(axis=1) - best) / (scores.shape[1] - 1)


def objective(model, X, U):
    """F by its definition, from the public attributes."""
    scores = dense(X) @ model.coef_.T + model.intercept_
    rows = np.arange(len(scores))
    hinges = np.maximum(0, 1 - scores[rows, model.labels_][:, None] + scores)
    hinges[rows, model.labels_] = 0
    loss = hinges.max(axis=1) if model.loss == "max" else hinges.sum(axis=1) / model.n_clusters_
    excess = np.maximum(0, margins(model, U) - model.margin_tolerance)
    share = model.C_universum_ / model.C_
    return (model.coef_**2).sum() / (2 * model.C_) + loss.mean() + share * excess.mean()


# scikit-learn's conventions


@pytest.mark.parametrize(
    ("active", "C", "told"), [(False, "auto", True), (False, 2.0, True), (True, "auto", False), (False, 0, False)]
)
def test_a_universum_without_effect_is_told(active, C, told):
    model = M2DCU(2, C_universum=C)
    model.C_ = 10.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model._store_report(UniversumReport(active, 7, 1, 2, 0.25, 0.5))
    assert [entry.category for entry in caught] == [InactiveUniversumWarning] * told
    assert model.C_universum_ == pytest.approx(3.0 if C == "auto" else C)
    assert model.universum_report_.n_rows == 7
    model._store_report(None)
    assert model.universum_report_ is None
    if told:
        assert "all its 7 rows have margins within margin_tolerance=0.5, on average 0.25" in str(caught[0].message)


@parametrize_with_checks(
    [M2DCU(C_universum=0), M2DCU(3, C_universum=0, loss="max", order="linearize_first")],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_examples_in_the_docstring_run():
    failures, tried = doctest.testmod(_m2dcu)
    assert (failures, tried > 8) == (0, True)


def test_clone_and_pickle(pair_and_others):
    X, _, U = pair_and_others
    model = fit(X, U, C_universum=0.01, loss="max")
    assert clone(model).get_params() == model.get_params()
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(U), model.decision_function(U))
    assert copy.universum_report_ == model.universum_report_
    assert len(pickle.dumps(model)) < U.nbytes  # the universum is not kept


def test_fit_leaves_parameters_and_data_alone(pair_and_others):
    X, _, U = pair_and_others
    X_before, U_before = X.copy(), U.copy()
    model = M2DCU(random_state=0, margin_tolerance=0.1)
    parameters = model.get_params()
    model.fit(X, universum=U)
    assert model.get_params() == parameters
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(U, U_before)


def test_refit_forgets_the_fit_before(pair_and_others, triple_and_others):
    model = fit(triple_and_others[0], triple_and_others[2], 3)
    model.set_params(n_clusters=2, C_universum=0).fit(pair_and_others[0])
    fresh = M2DCU(C_universum=0, random_state=0, margin_tolerance=0.1).fit(pair_and_others[0])
    assert vars(model).keys() == vars(fresh).keys()
    assert model.universum_report_ is None


def test_fit_predict_takes_the_universum(pair_and_others):
    X, _, U = pair_and_others
    labels = M2DCU(random_state=0, margin_tolerance=0.1).fit_predict(X, universum=U)
    np.testing.assert_array_equal(labels, fit(X, U).labels_)


def test_same_seed_gives_the_same_fit(triple_and_others):
    X, _, U = triple_and_others
    a, b = (fit(X, U, 3, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(a.coef_, b.coef_)


# Metadata routing


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def requesting(**parameters):
    model = M2DCU(**{"random_state": 0, "margin_tolerance": 0.1, **parameters})
    return model.set_fit_request(universum=True)


@pytest.mark.usefixtures("routing")
def test_a_pipeline_transforms_both(pair_and_others):
    X, _, U = pair_and_others
    pipeline = Pipeline([("scale", StandardScaler()), ("cluster", requesting())], transform_input=["universum"])
    pipeline.fit(X, universum=U)
    scaler = StandardScaler().fit(X)  # fitted to the target rows alone
    direct = fit(scaler.transform(X), scaler.transform(U))
    np.testing.assert_array_equal(pipeline[-1].coef_, direct.coef_)
    assert pipeline[-1].universum_report_ == direct.universum_report_
    np.testing.assert_array_equal(pipeline.predict(X), direct.labels_)
    untransformed = fit(scaler.transform(X), U, max_iter=2000, order="linearize_first")
    assert not np.allclose(untransformed.coef_, direct.coef_, rtol=0.1)


@pytest.mark.usefixtures("routing")
def test_a_pipeline_of_counts_keeps_both_sparse():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    rates = rng.gamma(0.05, size=(3, 2000))
    X = sp.csr_matrix(rng.poisson(20 * rates[y] / rates.mean() / 200).astype(float))
    U = sp.csr_matrix(rng.poisson(20 * rates.mean(axis=0) / rates.mean() / 200, size=(100, 2000)).astype(float))
    pipeline = make_pipeline(TfidfTransformer(), requesting(n_clusters=2), transform_input=["universum"])
    pipeline.fit(X[y < 2], universum=sp.vstack([X[y == 2], U]))
    assert clustering_accuracy(y[y < 2], pipeline[-1].labels_) > 0.99
    assert pipeline[-1].universum_report_.n_rows == 200


@pytest.mark.usefixtures("routing")
def test_without_transform_input_the_universum_arrives_as_it_was(pair_and_others):
    X, _, U = pair_and_others
    scaler = StandardScaler().fit(X)
    pipeline = make_pipeline(StandardScaler(), requesting()).fit(X, universum=scaler.transform(U))
    direct = fit(scaler.transform(X), scaler.transform(U))
    np.testing.assert_array_equal(pipeline[-1].coef_, direct.coef_)


@pytest.mark.usefixtures("routing")
def test_a_pipeline_asks_for_a_request(pair_and_others):
    X, _, U = pair_and_others
    with pytest.raises(UnsetMetadataPassedError, match=r"universum.*are passed but are not explicitly set"):
        make_pipeline(StandardScaler(), M2DCU()).fit(X, universum=U)


@pytest.mark.usefixtures("routing")
def test_frames_from_a_pipeline(pair_and_others):
    X, _, U = pair_and_others
    names = [f"p{i}" for i in range(64)]
    pipeline = make_pipeline(StandardScaler(), requesting(), transform_input=["universum"]).set_output(
        transform="pandas"
    )
    pipeline.fit(pd.DataFrame(X, columns=names), universum=pd.DataFrame(U, columns=names))
    assert list(pipeline[-1].feature_names_in_) == names


# What the attributes promise


@pytest.mark.parametrize("order", ["auto", "cuts_first", "linearize_first", "one_step"])
@pytest.mark.parametrize("loss", ["sum", "max"])
@pytest.mark.parametrize("balance", [0.0, 0.3])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_attributes_are_consistent(triple_and_others, n_clusters, balance, loss, order):
    X, _, U = triple_and_others
    model = fit(X, U, n_clusters, balance=balance, loss=loss, order=order, max_iter=1000)
    assert model.converged_ and not model.starved_ and model.n_clusters_ == n_clusters
    assert model.labels_.dtype == np.int32 and model.coef_.shape == (n_clusters, 64)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert model.objective_ == pytest.approx(objective(model, X, U), rel=1e-9)
    assert 1 <= model.n_iter_ <= len(model.history_)


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("loss", ["sum", "max"])
@pytest.mark.parametrize("with_universum", [True, False])
def test_without_weight_it_is_cpm3c(triple_and_others, n_clusters, loss, with_universum):
    X, _, U = triple_and_others
    model = fit(X, U if with_universum else None, n_clusters, loss=loss, C_universum=0)
    plain = CPM3C(n_clusters, loss=loss, random_state=0).fit(X)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert (model.objective_, model.C_, model.n_iter_) == (plain.objective_, plain.C_, plain.n_iter_)
    assert model.C_universum_ == 0


def test_auto_weights(pair_and_others):
    X, _, U = pair_and_others
    model = fit(X, U)
    assert model.C_ == CPM3C(random_state=0).fit(X).C_
    assert model.C_universum_ == pytest.approx(0.3 * model.C_)
    given_weights = fit(X, U, C=model.C_, C_universum=model.C_universum_)
    np.testing.assert_allclose(given_weights.coef_, model.coef_, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_units_change_only_the_weights(triple_and_others, unit):
    X, _, U = triple_and_others
    model, scaled = fit(X, U, 3), fit((X + 1) * unit, (U + 1) * unit, 3)
    np.testing.assert_array_equal(scaled.labels_, model.labels_)
    assert scaled.C_ * unit**2 == pytest.approx(model.C_, rel=1e-6)
    assert scaled.C_universum_ * unit**2 == pytest.approx(model.C_universum_, rel=1e-6)
    assert scaled.objective_ == pytest.approx(model.objective_, rel=1e-6)


def test_a_heavier_universum_has_smaller_margins(pair_and_others):
    X, y, U = pair_and_others
    means = [margins(fit(X, U, C_universum=C), U).mean() for C in (0.001, 0.004, 0.016)]
    assert means[0] > means[1] * 1.1 > means[2] * 1.2


def test_linearize_first_never_raises_the_objective(triple_and_others):
    X, _, U = triple_and_others
    seen = []
    init = np.arange(len(X)) % 3
    model = fit(X, U, 3, order="linearize_first", init=init, tol=1e-4, max_iter=2000, callback=seen.append)
    relabelled = [record.objective for record in seen if record.flips]
    assert len(relabelled) > 2
    assert (np.diff(relabelled) <= 1e-12).all()
    assert model.objective_ <= min(record.objective for record in seen) * (1 + 1e-9)


def test_one_cluster_is_trivial(pair_and_others):
    X, _, U = pair_and_others
    model = fit(X, U, 1)
    assert not model.labels_.any() and model.objective_ == 0 and model.universum_report_ is None


# The report


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_report_counts_rows_within_the_tolerance_and_their_margins(triple_and_others, n_clusters):
    X, _, U = triple_and_others
    model = fit(X, U, n_clusters)
    report, after = model.universum_report_, margins(model, U)
    assert report.active and report.n_rows == len(U)
    assert report.n_inside_after == np.count_nonzero(after <= 0.1) > report.n_inside_before > 0  # so not all ask for it
    assert report.mean_margin_after == pytest.approx(after.mean(), rel=1e-9)
    assert report.mean_margin_after < report.mean_margin_before
    with pytest.raises(FrozenInstanceError):
        report.active = False


def test_before_is_the_best_for_the_same_labels_without_the_universum(pair_and_others):
    X, _, U = pair_and_others
    model = fit(X, U, tol=1e-4, max_iter=3000, order="linearize_first")
    # With every label known, the fit is the classifier of these labels.
    plain = CPM3C(loss="sum", order="linearize_first", tol=1e-4, max_iter=3000).fit(X, known=model.labels_)
    np.testing.assert_array_equal(plain.labels_, model.labels_)
    report = model.universum_report_
    assert report.mean_margin_before == pytest.approx(margins(plain, U).mean(), rel=0.01)
    assert report.n_inside_before == pytest.approx(np.count_nonzero(margins(plain, U) <= 0.1), abs=5)


def test_an_inactive_universum_warns_changes_nothing_and_is_reported(pair_and_others):
    X, _, U = pair_and_others
    with pytest.warns(InactiveUniversumWarning, match=r"had no effect.*1440 rows.*margin_tolerance=50, on average .*; "
                      r"lower M2DCU's margin_tolerance, or raise its C above 0\.0"):  # fmt: skip
        model = fit(X, U, margin_tolerance=50)
    plain = CPM3C(loss="sum", random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    report = model.universum_report_
    assert not report.active
    assert report.n_inside_before == report.n_inside_after == len(U)
    assert model.objective_ == pytest.approx(plain.objective_, rel=0.02)


@pytest.mark.filterwarnings("ignore::widegap.exceptions.InactiveUniversumWarning")
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_a_universum_on_the_separating_planes_changes_nothing(triple_and_others, n_clusters):
    X, _, _ = triple_and_others
    options = {"loss": "sum", "order": "linearize_first", "tol": 1e-6, "max_iter": 5000, "random_state": 0}
    plain = CPM3C(n_clusters, **options).fit(X)
    rng = np.random.default_rng(0)
    axes = np.linalg.svd(plain.coef_ - plain.coef_.mean(axis=0))[2][n_clusters - 1 :]
    U = X.mean(axis=0) + rng.normal(size=(50, len(axes))) @ axes * 5
    model = fit(X, U, n_clusters, init=plain.labels_, margin_tolerance=0.3, **options)
    # One more search from where a search ended may still move a row that lies on a boundary.
    assert np.count_nonzero(model.labels_ != plain.labels_) <= 2
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-3)
    assert model.universum_report_.n_inside_after == 50
    assert not model.universum_report_.active


def test_a_stopped_fit_has_no_report(pair_and_others):
    X, _, U = pair_and_others
    model = fit(X, U, callback=lambda record: record.iteration == 2)
    assert model.universum_report_ is None and not model.converged_
    np.testing.assert_array_equal(model.labels_, model.predict(X))


def test_without_weight_before_is_after(pair_and_others):
    X, _, U = pair_and_others
    report = fit(X, U, C_universum=0).universum_report_
    assert not report.active
    assert (report.n_inside_before, report.mean_margin_before) == (report.n_inside_after, report.mean_margin_after)


def test_too_few_iterations_warn_with_the_name_of_the_weight(pair_and_others):
    X, _, U = pair_and_others
    with pytest.warns(
        ConvergenceWarning, match="M2DCU stopped after max_iter=3 .* tol, lower C or C_universum, or set order"
    ):
        fit(X, U, max_iter=3, tol=1e-4)


# Forms of the universum


@pytest.mark.parametrize("form_of_u", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_any_form_beside_any_other_gives_the_same_fit(triple_and_others, form, form_of_u):
    X, _, U = triple_and_others
    model, expected = fit(form(X), form_of_u(U), 3), fit(X, U, 3)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-5)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 2**31), st.integers(2, 4), st.sampled_from(["sum", "max"]), st.integers(300, 1500))
def test_dense_sparse_and_blocks_of_any_size_agree(seed, k, loss, n_bytes):
    X, y = make_blobs(60, 3, centers=k, random_state=seed, center_box=(-20, 20), cluster_std=0.5)
    U = X.mean(axis=0) + np.random.default_rng(seed).normal(size=(40, 3)) * X.std(axis=0)
    options = {"loss": loss, "margin_tolerance": 0, "init": y, "order": "linearize_first", "max_iter": 2000}
    expected = fit(X, U, k, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sources, "BLOCK_BYTES", n_bytes)
        for form in (np.asarray, sp.csr_array):
            model = fit(form(X), form(U), k, **options)
            assert model.objective_ == pytest.approx(expected.objective_, rel=0.01)  # the tolerance of the fits
            assert clustering_accuracy(expected.labels_, model.labels_) > 0.95


def test_shards(triple_and_others, tmp_path):
    X, _, U = triple_and_others
    for name, rows in {"x": X, "u0": U[:300], "u1": U[300:]}.items():
        np.save(tmp_path / f"{name}.npy", rows)
    model = fit(shards([tmp_path / "x.npy"]), shards([tmp_path / "u0.npy", tmp_path / "u1.npy"]), 3)
    np.testing.assert_array_equal(model.labels_, fit(X, U, 3).labels_)


@pytest.mark.parametrize("form_of_u", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "cosine"])
def test_kernels_map_the_universum_too(pair_and_others, kernel, form_of_u):
    X, _, U = pair_and_others
    model = fit(X, form_of_u(U[:200]), kernel=kernel, n_components=60, margin_tolerance=0.0)
    scores = model.decision_function(U[:200])
    assert model.universum_report_.mean_margin_after == pytest.approx(np.abs(scores).mean(), rel=1e-6)
    assert model.universum_report_.mean_margin_after < model.universum_report_.mean_margin_before


def test_wide_sparse_rows_stay_sparse():
    rng = np.random.default_rng(0)
    X = sp.random(1000, 20_000, density=1e-3, format="csr", rng=rng)
    fit(X[:400], X[400:], n_init=1, max_iter=30, margin_tolerance=0.0, tol=0.5)  # compiles
    tracemalloc.start()
    try:
        fit(X[:400], X[400:], n_init=1, max_iter=30, margin_tolerance=0.0, tol=0.5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 600 * 20_000 * 8 / 3


@pytest.mark.parametrize("many", ["target", "universum", "both"])
def test_beyond_a_sample_the_search_goes_on_with_all_rows(monkeypatch, many):
    monkeypatch.setattr(_starts, "START_SAMPLE", 200)
    monkeypatch.setattr(_universum_loss, "START_SAMPLE", 200)
    sizes = {"target": (900, 100), "universum": (150, 900), "both": (900, 900)}[many]
    X, y = make_blobs(sizes[0], 6, centers=3, random_state=1, cluster_std=2.0)
    U = universum.random(X, sizes[1], random_state=0)
    model = fit(X, U, 3)
    last = max(record.start for record in model.history_)
    assert last >= 1 and model.converged_
    assert model.objective_ == pytest.approx(objective(model, X, U), rel=1e-9)
    assert model.universum_report_.n_rows == sizes[1]
    assert clustering_accuracy(y, model.labels_) > 0.95


# Bad input


def refuses(X, U, error, match, **parameters):
    model = M2DCU(**parameters)
    with pytest.raises(error, match=match):
        model.fit(X, universum=U)
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize("C_universum", ["auto", 0.3])
def test_no_universum_is_refused_with_the_remedy(pair_and_others, C_universum):
    match = rf"got no universum, but C_universum={C_universum!r}; pass fit\(X, universum=U\).*or set C_universum=0 to"
    refuses(pair_and_others[0], None, InvalidDataError, match, C_universum=C_universum)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_other_columns_are_refused(pair_and_others, form):
    X, _, U = pair_and_others
    match = "universum has 63 columns, X has 64; both need the same ones: pass both through the same transformation"
    refuses(X, form(U[:, 1:]), InvalidDataError, match)


def test_other_columns_in_shards_are_refused(pair_and_others, tmp_path):
    np.save(tmp_path / "u.npy", pair_and_others[2][:, 1:])
    refuses(pair_and_others[0], shards([tmp_path / "u.npy"]), InvalidDataError, "universum has 63 columns, X has 64")


def test_other_names_of_columns_are_refused(pair_and_others):
    X, _, U = pair_and_others
    names = [f"p{i}" for i in range(64)]
    frame = pd.DataFrame(U, columns=names[::-1])
    match = r"universum has columns named \['p63', .*X \['p0', .*reorder those of the universum"
    refuses(pd.DataFrame(X, columns=names), frame, InvalidDataError, match)
    # Without names on one side there is nothing to compare.
    np.testing.assert_array_equal(fit(pd.DataFrame(X, columns=names), U).labels_, fit(X, U).labels_)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_an_empty_universum_is_refused(pair_and_others, form):
    match = "universum has 0 rows; at least one is needed: set C_universum=0 to go without"
    refuses(pair_and_others[0], form(np.zeros((0, 64))), InvalidDataError, match)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_nan_in_the_universum_is_refused(pair_and_others, value, form):
    X, _, U = pair_and_others
    U = U.copy()
    U[5, 7] = value
    refuses(X, form(U), ValueError, "Input universum contains (NaN|infinity)")


def test_nan_in_shards_of_the_universum_is_refused(pair_and_others, tmp_path):
    X, _, U = pair_and_others
    U = U.copy()
    U[5, 7] = np.nan
    np.save(tmp_path / "u.npy", U)
    refuses(X, shards([tmp_path / "u.npy"]), InvalidDataError, "The universum rows contain NaN, infinity, or values")


@pytest.mark.parametrize(
    "parameters",
    [{"C": 0}, {"C": "median"}, {"C_universum": -1}, {"margin_tolerance": -0.1}, {"loss": "square"}],
)
def test_parameters_out_of_range_are_refused(pair_and_others, parameters):
    (name,) = parameters
    refuses(pair_and_others[0], pair_and_others[2], ValueError, f"'{name}' parameter of M2DCU must be", **parameters)


@pytest.mark.parametrize("C_universum", [1e-8, 1e-3, 1e3, 1e8])
@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_weight_gives_a_clustering(pair_and_others, C_universum, n_clusters):
    X, _, U = pair_and_others
    model = fit(X, U, n_clusters, C_universum=C_universum, n_init=1)
    assert model.objective_ == pytest.approx(objective(model, X, U), rel=1e-6, abs=1e-9)
    assert np.bincount(model.labels_, minlength=n_clusters).min() >= int(0.3 * len(X) / n_clusters)


@pytest.mark.parametrize("far", [30, 400])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_universum_far_away_is_no_error(pair_and_others, far):
    X, _, U = pair_and_others
    model = fit(X, U * far, n_init=1, max_iter=50)
    assert np.isfinite(model.objective_) and np.isfinite(model.coef_).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_a_universum_farther_than_any_use_is_refused(pair_and_others, form):
    X, _, U = pair_and_others
    match = r"The universum lies 1\.\de\+05 times as far from the mean of X .* at most 1e\+03 .*\.universum\.select"
    refuses(X, form(U * 5e4), InvalidDataError, match)


def test_one_universum_row(pair_and_others):
    X, y, U = pair_and_others
    assert fit(X, U[:1]).universum_report_.n_rows == 1
