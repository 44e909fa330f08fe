"""MaxMarginClustering: conventions, invariances, extension to many rows, bad input."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from _expected_failures import expected_failures
from widegap import CPM3C, MaxMarginClustering
from widegap.base import _starts
from widegap.constraints._side_information import RowConstraints
from widegap.exceptions import InvalidDataError, StarvedClusterWarning
from widegap.features._neighbours import neighbour_graph
from widegap.features._principal import PrincipalMap, whiten
from widegap.forest import _max_margin, _moves_search
from widegap.forest._linkage import MergeTree
from widegap.forest._single_moves import TIE, r_squared
from widegap.metrics import clustering_accuracy
from widegap.rows import shards


def fit(X, n_clusters=2, **parameters):
    """A fit by moves: the search by merging has tests of its own, in test_merge_search.py."""
    return MaxMarginClustering(n_clusters, **{"search": "moves", "random_state": 0, **parameters}).fit(X)


def agreement(a, b):
    return clustering_accuracy(a, b)


@pytest.fixture(scope="module")
def triple():
    return make_blobs(240, 5, centers=3, cluster_std=1.5, random_state=0)


class TestParameters:
    """What parameters may be, what they are unless said otherwise, and what is stored of one cluster."""

    def test_defaults(self):
        assert MaxMarginClustering().get_params() == {
            "n_clusters": 2, "search": "agree", "C": 10.0, "kernel": "rbf", "gamma": "median", "kernel_params": None,
            "n_components": "auto", "smoothing": "auto", "n_neighbors": 30, "standardize": "auto", "columns": "auto",
            "min_cluster_fraction": "auto", "size_min": None, "size_max": None, "outliers": 0, "init": "k-means",
            "n_init": "auto", "memory": 5000, "random_state": None, "n_jobs": None, "verbose": 0, "callback": None,
            "labels_out": None,
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("name", "allowed", "refused"),
        [
            ("n_clusters", (1, "auto"), (0, 1.5, "two")),
            ("n_components", (1, "auto"), (0, 2.5)),
            ("smoothing", (0, "auto"), (-1, 0.5)),
            ("n_neighbors", (1,), (0,)),
            ("n_init", (1, "auto"), (0,)),
            ("memory", (0,), (-1,)),
            ("min_cluster_fraction", (0, 1, 0.5, "auto"), (-0.01, 1.01)),
            ("outliers", (0, 0.99, "auto"), (-0.01, 1.0)),
            ("size_min", (0, None), (-1,)),
            ("size_max", (0, None), (-1,)),
            ("C", (1e-9,), (0.0, np.inf)),
            ("standardize", ("auto", True, False), ("no", 2)),
            ("columns", ("auto", None, []), ("all", 3)),
            ("search", ("agree", "merge", "moves"), ("none",)),
            ("init", ("k-means", "random", "spectral", [0, 1]), ("other",)),
        ],
    )
    def test_what_they_may_be(self, name, allowed, refused):
        for value in allowed:
            MaxMarginClustering(**{name: value})._validate_params()
        for value in refused:
            with pytest.raises(ValueError, match=f"'{name}' parameter"):
                MaxMarginClustering(**{name: value})._validate_params()

    @pytest.mark.parametrize(("search", "fraction"), [("agree", 0), ("merge", 0), ("moves", 0.2)])
    def test_the_least_size_of_a_cluster(self, search, fraction):
        model = MaxMarginClustering(search=search)
        assert [model._least_size(n, 3) for n in (1, 89, 90)] == [
            1,
            max(1, int(fraction * 89 / 3)),
            max(1, int(6 * (fraction > 0))),
        ]
        assert model.set_params(min_cluster_fraction=0.5)._least_size(90, 3) == 15
        assert MaxMarginClustering(init=[0, 1])._least_size(90, 3) == 6  # starting labels imply moves

    def test_clusters_that_labels_and_sizes_ask_for(self):
        asked = RowConstraints(classes=["a", "b", "c"])
        assert MaxMarginClustering(2, size_max=10)._fewest_clusters(asked, 60) == 1
        assert MaxMarginClustering("auto")._fewest_clusters(asked, 60) == 3
        assert MaxMarginClustering("auto", size_max=10)._fewest_clusters(asked, 60) == 6
        assert MaxMarginClustering("auto", size_max=10)._fewest_clusters(asked, 61) == 7
        assert MaxMarginClustering("auto", size_max=30)._fewest_clusters(asked, 60) == 3

    @pytest.mark.parametrize("search", ["agree", "moves"])
    def test_one_cluster(self, search):
        model = MaxMarginClustering(1, search=search, random_state=0).fit(np.arange(12.0).reshape(6, 2))
        np.testing.assert_array_equal(model.labels_, np.zeros(6, np.int32))
        assert (model.temperature_, model.reject_below_, model.kernel_map_) == (1.0, -np.inf, None)
        assert model.classes_ == [None] and model.labels_.dtype == np.int32
        if search == "agree":
            np.testing.assert_array_equal(model.agreement_, np.ones(6))
            assert model.tree_.leaf_sizes.tolist() == [6] and model.tree_.merges.shape == (0, 2)
        else:
            assert model.starts_.shape == (0,) and model.smoothing_ == 0
        np.testing.assert_array_equal(model.predict_proba(np.zeros((3, 2))), np.ones((3, 1)))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"temperature_": 0.0}, "temperature_ is 0.0"),
            ({"temperature_": np.inf}, "temperature_ is inf"),
            ({"temperature_": np.nan}, "temperature_ is nan"),
            ({"agreement_": np.ones(5)}, "agreement_ does not fit"),
            ({"agreement_": np.ones(40, int)}, "agreement_ does not fit"),
            ({"reject_below_": np.nan}, "reject_below_ is not a number"),
            (
                {"tree_": MergeTree(np.zeros((1, 2), int), np.zeros(1), np.ones(1, int), np.ones(1, int))},
                "its tree of 1",
            ),
        ],
    )
    def test_forged_values_are_refused(self, change, message):
        model = MaxMarginClustering(2, search="merge", random_state=0)
        model.fit(np.random.default_rng(0).normal(size=(40, 2)) + 9 * (np.arange(40) % 2)[:, None])
        model._check_stored()
        vars(model).update(change)
        with pytest.raises(ValueError, match=message):
            model._check_stored()

    @pytest.mark.parametrize(("fraction", "starved"), [(0.999, False), (1.0, True)])
    def test_a_cluster_with_no_more_rows_than_demanded_is_starved(self, fraction, starved):
        X = np.random.default_rng(0).normal(size=(40, 2)) + 30 * (np.arange(40) % 2)[:, None]
        model = MaxMarginClustering(2, search="merge", min_cluster_fraction=fraction, random_state=0).fit(X)
        assert model.starved_ == starved and np.bincount(model.labels_).tolist() == [20, 20]
        weights = (np.arange(40) >= 4).astype(float)
        model = MaxMarginClustering(2, search="merge", min_cluster_fraction=fraction, random_state=0)
        assert model.fit(X, sample_weight=weights).starved_ == starved  # rows without weight do not count

    def test_probabilities_are_those_of_scores_over_the_temperature(self):
        X = np.random.default_rng(0).normal(size=(60, 2)) + 4 * (np.arange(60) % 2)[:, None]
        model = MaxMarginClustering(2, search="merge", random_state=0).fit(X)
        scores = (model.kernel_map_.transform(X) @ model.coef_.T + model.intercept_) / model.temperature_
        expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)
        np.testing.assert_array_equal(
            model.predict(X, reject=True) < 0, (scores * model.temperature_).max(axis=1) < model.reject_below_
        )

    @pytest.mark.parametrize("openmp", [True, False])
    def test_small_fits_have_one_thread_of_openmp(self, openmp, monkeypatch):
        seen = []
        monkeypatch.setattr(_max_margin, "FEW_VALUES", 60 * 300 + openmp)
        limit = _max_margin.one_blas_thread
        monkeypatch.setattr(_max_margin, "one_blas_thread", lambda **options: seen.append(options) or limit(**options))
        MaxMarginClustering(2, search="merge", random_state=0).fit(np.random.default_rng(0).normal(size=(60, 2)))
        assert seen == [{"openmp": openmp}]


@pytest.mark.parametrize("smoothing", [0, 2, "auto"])
def test_digits_and_their_predictions(pair, smoothing):
    X, y = pair
    model = fit(X, smoothing=smoothing)
    assert agreement(y, model.labels_) > 0.94
    assert model.labels_.dtype == np.int32
    assert np.mean(model.predict(X) == model.labels_) >= (0.97 if model.smoothing_ else 1)
    f = model.decision_function(X)
    assert f.shape == (len(X),)
    np.testing.assert_array_equal(f > 0, model.predict(X) == 1)


def test_scores_of_many_clusters_and_the_weights_behind_them(triple):
    X, y = triple
    model = fit(X, 3)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(scores.argmax(axis=1), model.predict(X))
    features = model.kernel_map_.transform(X)
    np.testing.assert_allclose(features @ model.coef_.T + model.intercept_, scores, atol=1e-7)
    assert agreement(y, model.labels_) == 1


def test_objective_is_r2_of_the_labels_without_smoothing(pair):
    X, _ = pair
    model = fit(X, smoothing=0)
    features = model.kernel_map_.transform(X)
    principal = PrincipalMap.fit(features)
    Q = whiten(principal.transform(features), principal.lam, 1 / model.C)
    assert model.objective_ == pytest.approx(r_squared(Q, model.labels_, 2), rel=1e-9)
    assert 0 < model.objective_ < 1
    assert 1 - model.objective_ <= TIE * (1 - model.starts_.max())
    assert [record.objective for record in model.history_] == list(model.starts_)
    assert model.n_iter_ == len(model.starts_) == 10 + _starts.AXES + 10


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e5, 1e8])
def test_scale_changes_no_label(pair, scale):
    np.testing.assert_array_equal(fit(pair[0] * scale).labels_, fit(pair[0]).labels_)


def test_shift_and_rotation_change_nothing(triple):
    X, _ = triple
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    plain = fit(X, 3, standardize=False)
    for moved in (X + 1e3, X @ rotation):
        assert agreement(fit(moved, 3, standardize=False).labels_, plain.labels_) == 1


def test_doubling_rows_and_halving_c_changes_nothing(triple):
    X, _ = triple
    twice = np.repeat(X, 2, axis=0)
    once = fit(X, 3, smoothing=0, n_components=10_000, gamma=0.05)
    double = fit(twice, 3, smoothing=0, C=5.0, n_components=10_000, gamma=0.05)
    assert agreement(np.repeat(once.labels_, 2), double.labels_) == 1
    assert double.objective_ == pytest.approx(once.objective_, rel=1e-6)


def test_forms_of_data_agree(triple, tmp_path):
    X, _ = triple
    plain = fit(X, 3, standardize=False)  # "auto" brings sparse rows to length one
    np.save(tmp_path / "a.npy", X[:100])
    np.save(tmp_path / "b.npy", X[100:])
    for form in (
        np.asfortranarray(X),
        pd.DataFrame(X),
        sp.csr_array(X),
        sp.csc_array(X),
        shards([tmp_path / "a.npy", tmp_path / "b.npy"]),
    ):
        assert agreement(fit(form, 3, standardize=False).labels_, plain.labels_) == 1
    single = fit(X.astype(np.float32), 3)
    assert agreement(single.labels_, plain.labels_) == 1
    assert single.decision_function(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("kernel", ["linear", "poly", "cosine", lambda A, B: np.asarray(A @ B.T)])
def test_other_kernels_find_the_groups(triple, kernel):
    X, y = triple
    assert agreement(y, fit(X, 3, kernel=kernel).labels_) > 0.97


def test_sparse_rows_are_never_densified():
    rng = np.random.default_rng(0)
    n, d = 6000, 60_000  # 2.9 GB dense
    group = np.repeat([0, 1], n // 2)
    columns = rng.integers(0, 50, size=(n, 20)) + 100 * group[:, None]
    X = sp.csr_array((np.ones(columns.size), (np.repeat(np.arange(n), 20), columns.ravel())), shape=(n, d))
    tracemalloc.start()
    model = fit(X, 2, kernel="cosine", n_components=50, n_init=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert agreement(group, model.labels_) == 1
    assert peak < 500e6


@pytest.mark.parametrize("smoothing", [0, 1])
def test_beyond_the_searched_rows(monkeypatch, smoothing):
    monkeypatch.setattr(_moves_search, "MOST_MOVED", 400)
    monkeypatch.setattr(_starts, "START_SAMPLE", 200)
    X, y = make_blobs([900, 700, 400], 4, random_state=3)
    model = fit(X, 3, smoothing=smoothing)
    assert agreement(y, model.labels_) > 0.99
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_memory_is_linear_in_the_rows_times_the_rank():
    X = np.random.default_rng(0).normal(size=(40_000, 10)).astype(np.float32)
    fit(X[:500], n_components=20)
    tracemalloc.start()
    fit(X, n_components=20, n_init=1, smoothing=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    rank_table = 40_000 * 20 * 4
    assert peak < 12 * rank_table  # features, coordinates, whitened ones, their float64 products; no n x n


def test_smoothing_follows_the_graph_and_not_the_labels():
    moons, _ = make_moons(1000, noise=0.06, random_state=0)
    assert neighbour_graph(moons, 15).reached > _moves_search.REACHED
    smoothed = fit(moons)
    assert smoothed.smoothing_ == _moves_search.SMOOTHING_STEPS
    assert fit(moons[:900]).smoothing_ == 0  # too few rows
    rng = np.random.default_rng(0)
    shells = rng.normal(size=(1200, 30)) * np.repeat([1, 3], 600)[:, None]  # hubs: the outer rows have no friends
    assert neighbour_graph(shells, 15).reached < _moves_search.REACHED
    assert fit(shells).smoothing_ == 0


def test_smoothing_is_the_average_over_neighbour_graph():
    X = np.array([[0.0], [1.0], [2.1], [50.0]])
    graph = neighbour_graph(X, 1)  # 0 and 1 choose each other; 2 chooses 1 and 50 chooses 2, in vain
    np.testing.assert_allclose(graph.smooth(X, 1).ravel(), [0.5, 0.5, 2.1, 50.0])
    assert graph.reached == 0


def test_units_that_differ_are_noticed(triple):
    X, y = triple
    X = X * np.array([1, 1, 1, 1, 1e4])
    assert fit(X, 3).kernel_map_.weights is not None
    assert fit(X, 3, standardize=False).kernel_map_.weights is None
    assert agreement(y, fit(X, 3).labels_) == 1


def test_determinism_clone_and_pickle(pair):
    X, _ = pair
    model = fit(X)
    np.testing.assert_array_equal(clone(model).fit(X).labels_, model.labels_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_predictions_follow_the_weights_and_leave_nothing_behind(pair):
    X, _ = pair
    model = fit(X)
    before = pickle.dumps(model)
    labels = model.predict(X)
    assert pickle.dumps(model) == before
    model.coef_[:] = model.coef_[::-1].copy()  # in place, as a user would swap two clusters
    model._mean_scores = model._mean_scores[::-1]
    np.testing.assert_array_equal(model.predict(X), 1 - labels)


def test_callback_stops_with_the_best_so_far(pair):
    seen = []
    model = fit(pair[0], callback=lambda record: seen.append(record) or len(seen) == 3)
    assert (len(seen), model.n_iter_, model.converged_) == (3, 3, False)
    assert model.objective_ == max(record.objective for record in seen)


def test_given_labels_start_the_search(pair):
    X, y = pair
    model = fit(X, init=(y == 8).astype(int))
    assert (model.n_iter_, model.history_[0].kind) == (1, "given")
    assert agreement(y, model.labels_) > 0.94


def test_one_cluster_and_as_many_as_rows():
    X = np.arange(8.0).reshape(4, 2) ** 2
    assert (fit(X, 1).predict(X) == 0).all()
    assert sorted(fit(X, 4).labels_) == [0, 1, 2, 3]


def test_duplicates_do_not_break_it():
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 10, axis=0)
    labels = fit(X, 3).labels_
    assert np.bincount(labels).min() >= 13


def test_small_far_groups_are_found_once_the_bound_allows_them():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(centre, 1, (size, 3)) for centre, size in ((0, 300), (12, 8), (-12, 8))])
    sizes = sorted(np.bincount(fit(X, 3, min_cluster_fraction=0.0).labels_))
    assert sizes == [8, 8, 300]


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (lambda A, B: np.ones((A.shape[0], B.shape[0])), np.random.default_rng(0).normal(size=(40, 2))),
        ("cosine", np.outer(np.arange(1.0, 41), [1.0, 2.0])),
    ],
    ids=["constant", "collinear"],
)
def test_a_kernel_that_sees_one_point_is_refused(kernel, X):
    with pytest.raises(InvalidDataError, match="maps all 40 rows to one point"):
        fit(X, 3, kernel=kernel)


def test_numpys_true_stops_too(pair):
    assert fit(pair[0], callback=lambda record: np.bool_(True)).n_iter_ == 1


def test_fewer_distinct_rows_than_clusters_is_quiet_and_meets_the_bound(triple):
    labels = fit(np.repeat(triple[0][:2], 30, axis=0), 3).labels_
    assert np.bincount(labels, minlength=3).min() >= 4


def test_an_outlier_is_no_cluster_of_its_own(triple):
    X, _ = triple
    X = X.copy()
    X[0] *= 1000
    assert np.bincount(fit(X, 3).labels_).min() >= 16


@pytest.mark.parametrize(
    ("X", "parameters", "error", "match"),
    [
        (np.full((20, 2), np.nan), {}, ValueError, "contains NaN"),
        (np.full((20, 2), np.inf), {}, ValueError, "infinity"),
        (np.ones((20, 2)), {}, InvalidDataError, "All 20 rows are equal"),
        (np.ones((1, 2)), {}, InvalidDataError, "n_samples=1 should be >= n_clusters=2"),
        (np.eye(5), {"n_clusters": 0}, ValueError, "'n_clusters' parameter"),
        (np.eye(5), {"C": 0.0}, ValueError, "'C' parameter"),
        (np.eye(5), {"kernel": "nonsense"}, ValueError, "'kernel' parameter"),
        (np.eye(5), {"smoothing": -1}, ValueError, "'smoothing' parameter"),
        (np.eye(5), {"init": [0, 1]}, InvalidDataError, "starting labels need one entry per row"),
        (np.eye(5), {"min_cluster_fraction": 1.5}, ValueError, "'min_cluster_fraction' parameter"),
    ],
)
def test_bad_input_is_refused(X, parameters, error, match):
    with pytest.raises(error, match=match):
        MaxMarginClustering(**parameters).fit(X)


@pytest.mark.parametrize("n", [300, 1200])
@pytest.mark.parametrize("smoothing", [0, 2])
def test_a_precomputed_kernel_gives_what_its_function_gives(n, smoothing):
    X, y = make_blobs(n, 4, centers=3, cluster_std=2.0, random_state=1)
    gamma = 1 / 200
    K = rbf_kernel(X, gamma=gamma)
    given = fit(K, 3, kernel="precomputed", smoothing=smoothing)
    direct = fit(X, 3, gamma=gamma, smoothing=smoothing)
    assert agreement(given.labels_, direct.labels_) >= 0.99  # landmarks and starts are drawn in another order
    assert agreement(y, given.labels_) >= 0.9
    new = X[::7] + 0.1
    values = rbf_kernel(new, X, gamma=gamma)
    assert agreement(given.predict(values), direct.predict(new)) >= 0.98
    assert given.smoothing_ == smoothing
    np.testing.assert_array_equal(given.predict(sp.csr_array(values)), given.predict(values))


def test_a_precomputed_kernel_of_many_rows_is_searched_on_a_sample(monkeypatch):
    monkeypatch.setattr(_moves_search, "MOST_MOVED", 400)
    monkeypatch.setattr(_starts, "START_SAMPLE", 300)
    X, y = make_blobs(900, 4, centers=3, random_state=1)
    model = fit(rbf_kernel(X, gamma=0.01), 3, kernel="precomputed", n_components=100)
    assert agreement(y, model.labels_) == 1
    assert model.kernel_map_.landmarks.shape == (100,)
    assert agreement(y, model.predict(rbf_kernel(X, gamma=0.01))) == 1


@pytest.mark.parametrize(
    ("K", "parameters", "message"),
    [
        (np.ones((6, 5)), {}, r"shape \(6, 5\).*square matrix"),
        (np.diag([1.0, 1, 1, -1, 1, 1]), {}, "not positive semidefinite.*from -0.66"),
        (np.triu(np.ones((6, 6))), {}, "not symmetric.*up to 1"),
        (np.eye(6), {"standardize": True}, "standardize=True.*precomputed kernel has none"),
        (np.ones((6, 6)), {}, "All 6 rows are equal"),
        (np.eye(6)[::-1], {}, "not positive semidefinite"),
        (np.full((6, 6), np.nan), {}, "NaN"),
    ],
    ids=["not square", "indefinite", "not symmetric", "standardize", "one point", "mirrored", "nan"],
)
def test_bad_precomputed_kernels(K, parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(K, kernel="precomputed", **parameters)


def test_a_constant_added_to_a_precomputed_kernel_changes_nothing(triple):
    K = rbf_kernel(triple[0], gamma=1e-2)
    models = [fit(K + shift, 3, kernel="precomputed") for shift in (0.0, -0.5, 3.0)]
    for other in models[1:]:
        assert agreement(other.labels_, models[0].labels_) == 1
        assert other.objective_ == pytest.approx(models[0].objective_, rel=1e-6)


def test_an_indefinite_kernel_function_is_refused():
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(InvalidDataError, match="not positive semidefinite"):
        fit(X, kernel=lambda A, B: -euclidean_distances(A, B))


def test_a_spectral_start_is_one_start(pair):
    X, y = pair
    model = fit(X, init="spectral")
    assert [record.kind for record in model.history_] == ["spectral"]
    assert agreement(y, model.labels_) > 0.9


@pytest.mark.parametrize("kernel", ["linear", "cosine"])
def test_wide_sparse_rows_are_never_made_dense(kernel):
    """3000 rows of 150000 columns: 3.6 GB if dense. The random projections take 15 * 150000 * 8 bytes a table."""
    rng = np.random.default_rng(0)
    n, d, y = 3000, 150_000, np.arange(3000) % 2
    columns = rng.integers(0, 40, (n, 8)) + 1000 * y[:, None]
    rare = rng.integers(2000, d, (n, 4))
    indices = np.hstack([columns, rare]).ravel()
    X = sp.csr_array((np.ones(12 * n), indices, np.arange(0, 12 * n + 1, 12)), shape=(n, d))
    tracemalloc.start()
    model = fit(X, kernel=kernel, n_components=5, smoothing=0)
    labels = model.predict(X[:500])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert agreement(y, model.labels_) == 1
    assert agreement(y[:500], labels) == 1
    assert peak < 4e8


def test_predict_holds_no_table_of_features():
    X = np.random.default_rng(0).normal(size=(200_000, 3)).astype(np.float32)
    model = fit(X[:2000], n_components=100, smoothing=0)
    tracemalloc.start()
    model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.75 * len(X) * 100 * 4  # the table of features alone would be len(X) * 100 * 4 bytes


def test_whitening_in_place_is_whitening_and_takes_no_second_table(monkeypatch):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(5000, 8)) * [9, 7, 5, 3, 1, 1e-4, 1e-4, 1e-4]
    principal = PrincipalMap.fit(features)
    expected = whiten(principal.transform(features), principal.lam, 1.0)
    assert expected.shape[1] < 8  # negligible directions are left out, so the rows of Q are shorter
    for chunk in (8, 64, 1 << 18):
        monkeypatch.setattr("widegap.rows._matrices.CACHED_NUMBERS", chunk)
        buffer = features.copy()
        Q = principal.whiten_in_place(buffer, 1.0)
        np.testing.assert_allclose(Q, expected, atol=1e-10)
        assert np.shares_memory(Q, buffer) and Q.flags.c_contiguous


def test_moves_on_all_rows_raise_r2_of_all_rows(monkeypatch):
    """Whitened by the covariance of the sample they lowered it, and ringnorm's error rose from 4 to 24 %."""
    rng = np.random.default_rng(0)
    monkeypatch.setattr(_moves_search, "MOST_MOVED", 2000)
    monkeypatch.setattr(_starts, "START_SAMPLE", 1500)
    y = np.arange(6000) % 2
    X = np.where(y[:, None] == 1, rng.normal(0.45, 1, (6000, 20)), rng.normal(0, 2, (6000, 20)))
    values, models = [], []
    for sweeps in (0, 3):
        monkeypatch.setattr(_moves_search, "POLISH_SWEEPS", sweeps)
        models.append(fit(X))
        features = models[-1].kernel_map_.transform(X)
        Q = PrincipalMap.fit(features).whiten_in_place(features, 1 / models[-1].C)
        values.append(r_squared(Q, models[-1].labels_, 2))
    assert models[1].smoothing_ == 0
    assert values[1] > values[0]
    assert agreement(y, models[1].labels_) > agreement(y, models[0].labels_)


def small_group():
    """950 rows about 0 and 50 at distance 7, in four dimensions."""
    X = np.random.default_rng(0).normal(size=(1000, 4))
    X[950:] += 3.5
    return X, np.repeat([0, 1], [950, 50])


def test_a_group_below_the_bound_is_told_of():
    X, groups = small_group()
    match = "min_cluster_fraction=0.2 keeps out .* 5.0% of the rows, .* set min_cluster_fraction below 0.1 to find them"
    with pytest.warns(StarvedClusterWarning, match=match) as caught:
        model = fit(X)
    assert model.starved_
    assert caught[0].filename == __file__
    found = fit(X, min_cluster_fraction=0.09)
    assert clustering_accuracy(groups, found.labels_) == 1
    assert not found.starved_


def test_few_outliers_are_no_group_below_the_bound():
    X, _ = small_group()
    fit(X[:954])  # warnings are errors


@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_heavy_tails_are_no_groups_below_the_bound(scale):
    X = scale * np.random.default_rng(0).standard_t(2, size=(500, 5))
    fit(X)  # warnings are errors


@pytest.mark.parametrize("C", [1e-8, 1e-4])
def test_under_a_strong_ridge_the_search_goes_on(C):
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[15:] += 3
    model = fit(X, C=C)
    assert model.objective_ > 0
    assert clustering_accuracy(np.repeat([0, 1], 15), model.labels_) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_more_clusters_than_a_sample_has_rows(monkeypatch):
    monkeypatch.setattr(_starts, "START_SAMPLE", 20)
    monkeypatch.setattr(_moves_search, "MOST_MOVED", 20)
    X = np.random.default_rng(0).normal(size=(100, 3))
    for model in (MaxMarginClustering(30, search="moves", random_state=0), CPM3C(30, random_state=0, tol=0.1)):
        assert len(np.unique(model.fit(X).labels_)) == 30


def test_rows_whose_averages_are_one_point_are_searched_as_they_are():
    X = [[1.0, 0.0], [0.0, 1.0]]  # each is the only neighbour of the other
    model = MaxMarginClustering(2, search="moves", smoothing=1, kernel="cosine", random_state=0).fit(X)
    assert sorted(model.labels_.tolist()) == [0, 1] and model.smoothing_ == 0


@pytest.mark.filterwarnings("ignore::widegap.exceptions.NoStructureWarning")  # many checks draw noise
@parametrize_with_checks(
    [
        MaxMarginClustering(),
        MaxMarginClustering("auto", search="merge", kernel="linear", smoothing=0),
        MaxMarginClustering(search="moves"),
        MaxMarginClustering(3, search="moves", kernel="linear", smoothing=1, standardize=True, n_init=2),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
