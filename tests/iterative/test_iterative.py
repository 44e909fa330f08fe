"""IterSVM, IterSVR and IterLSSVM as estimators: scikit-learn's rules, starts, tree, records, bad input."""

import logging
import re
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from widegap.exceptions import InfeasibleBalanceError, InvalidDataError
from widegap.features._kernel_maps import KernelMap
from widegap.features._kernels import far_pair
from widegap.iterative import _bisection, _iterative
from widegap.iterative import _iterative_clusterer as _iterative_base
from widegap.iterative._bisection import divides_equal_rows
from widegap.iterative._iterative import IterLSSVM, IterSVM, IterSVR
from widegap.metrics import clustering_accuracy
from widegap.rows import shards

METHODS = [IterSVM, IterSVR, IterLSSVM]
RECORD_FIELDS = "split start iteration objective flips n_positive bound_active seconds margin_counts margin_edges"

every_method = pytest.mark.parametrize("method", METHODS)


def blobs(n=60, d=4, k=2, seed=0):
    """Groups of normal rows around distant centres, and their numbers."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % k
    return rng.normal(size=(n, d)) + 10 * rng.normal(size=(k, d))[groups], groups


def overlapping(n=200, seed=0):
    """Two groups that overlap, so that labels take some turns to settle."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % 2
    return rng.normal(size=(n, 5)) + 1.5 * groups[:, None], groups


def same_partition(a, b):
    return clustering_accuracy(a, b) == 1


@pytest.mark.parametrize(
    ("model", "losses"),
    [
        (IterSVR(epsilon=0.25), [0.75, 0.25, 0.0, 0.0, 0.75]),
        (IterLSSVM(), [0.5, 0.125, 0.0, 0.03125, 0.5]),
        (IterSVM(), [1.0, 0.5, 0.0, 0.0, 0.0]),
    ],
)
def test_losses_of_rows_by_their_margins(model, losses):
    np.testing.assert_allclose(model._losses(np.array([0.0, 0.5, 1.0, 1.25, 2.0])), losses)
    model.n_clusters_, model.bisected_ = 3, np.array([0, 0], np.int32)
    nodes = np.array([[0.5, 9.0], [-1.25, 0.5], [-0.5, -2.0], [0.0, 1.0]])
    zero, half, one, over, two = losses
    np.testing.assert_allclose(model._minus_losses(nodes), [-half, -over - half, -half - two, -zero - one])
    assert model._leaf_labels(nodes).tolist() == [1, 2, 0, 2]
    leaves = model._leaf_scores(nodes)
    np.testing.assert_allclose(leaves, [[-9.0, 0.5, -0.5], [-0.5, -1.25, 0.5], [0.5, -0.5, -2.0], [-1.0, 0.0, 0.0]])
    np.testing.assert_allclose(model._distance_rule()(nodes)[0], [9.5, 0.0, 1.0])
    model.bisected_ = np.array([], np.int32)
    assert model._leaf_scores(np.zeros((2, 0))).tolist() == [[0], [0]]


@pytest.mark.parametrize("cls", [IterSVR, IterSVM, IterLSSVM])
def test_defaults_of_the_signatures(cls):
    expected = {"n_clusters": 2, "n_init": 1, "max_iter": 100, "min_cluster_fraction": 0.94, "verbose": 0}
    params = cls().get_params()
    assert {name: params[name] for name in expected} == expected
    assert params["C"] == {IterSVR: 500.0, IterSVM: 10.0, IterLSSVM: 100.0}[cls]
    assert params.get("epsilon", 0.05) == 0.05


@parametrize_with_checks(
    [
        IterSVM(),
        IterSVR(),
        IterLSSVM(),
        IterSVR(kernel="linear", C=1.0, min_cluster_fraction=0.0),
        IterLSSVM(3, init="random", gamma="median", n_components=5, n_init=2),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


# As published


@pytest.mark.parametrize(("method", "C"), [(IterSVM, 10.0), (IterSVR, 500.0), (IterLSSVM, 100.0)])
def test_defaults_are_those_of_the_paper_but_for_the_start(method, C):
    parameters = method().get_params()
    expected = {"n_clusters": 2, "C": C, "kernel": "rbf", "min_cluster_fraction": 0.94, "n_init": 1}
    assert expected.items() <= parameters.items()
    assert parameters.get("epsilon", 0.05) == 0.05
    assert parameters["init"] == "auto"


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, np.float32])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_first_start_has_the_two_rows_that_are_farthest_apart(convert, offset):
    X = np.random.default_rng(1).normal(size=(300, 3)) + offset
    first, second = far_pair(convert(X), True, np.random.default_rng(0))
    distances = squareform(pdist(X))
    ends = {int(second.argmin()), int(second.argmax())}
    assert ends == set(np.unravel_index(distances.argmax(), distances.shape))
    assert np.sqrt(first.max()) == pytest.approx(distances.max(), rel=1e-3)


def count_calls(monkeypatch, owner, name):
    """A list that grows with every call of owner.name."""
    calls, original = [], getattr(owner, name)

    def counted(*args, **kwargs):
        calls.append(args)
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, counted)
    return calls


@every_method
def test_features_are_computed_and_factored_once(method, monkeypatch):
    features = count_calls(monkeypatch, KernelMap, "transform_blocks")
    factors = count_calls(monkeypatch, _iterative_base, "principal_axes")
    decompositions = count_calls(monkeypatch, np.linalg, "eigh")
    model = method(init="random", n_init=3, random_state=0).fit(overlapping()[0])
    assert len(model.history_) > 3
    assert len(features) == len(factors) == 1
    assert len(decompositions) == 2  # of the landmarks' kernel and of the features


def test_regressions_start_from_the_one_before(monkeypatch):
    calls = count_calls(monkeypatch, _iterative, "solve_svm")
    model = IterSVR(init="random", random_state=0).fit(overlapping()[0])
    assert len(calls) == model.n_iter_ > 2
    for (*_, warm), before in zip(calls[1:], model.history_, strict=False):
        assert warm.machine.objective == before.objective
        assert warm.moved == before.flips / 200


# Clusters


@every_method
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "cosine", lambda A, B: (A @ B.T + 1) ** 2])
def test_distant_groups_are_found(method, kernel):
    X, groups = blobs()
    model = method(kernel=kernel, random_state=0).fit(X)
    assert same_partition(groups, model.labels_)
    assert model.labels_.dtype == np.int32
    assert model.converged_ and model.n_clusters_ == 2


@every_method
@pytest.mark.parametrize("init", ["auto", "k-means", "random", "spectral"])
def test_starts(method, init):
    X, groups = blobs()
    model = method(init=init, n_init=3, gamma="diameter", random_state=0).fit(X)
    assert same_partition(groups, model.labels_)
    assert {record.start for record in model.history_} == {0, 1, 2}


@every_method
def test_given_start_that_is_a_fixed_point_is_kept(method):
    X, groups = blobs()
    model = method(init=groups, n_init=5).fit(X)
    np.testing.assert_array_equal(model.labels_, groups)
    assert model.n_iter_ == 1 and len(model.history_) == 1


@every_method
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_new_rows(method, kernel):
    X, groups = blobs(120)
    model = method(kernel=kernel, random_state=0).fit(X[:60])
    np.testing.assert_array_equal(model.predict(X[:60]), model.labels_)
    assert same_partition(groups[60:], model.predict(X[60:]))
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X) == 1)


@every_method
def test_labels_are_predictions_where_groups_overlap(method):
    X, _ = overlapping()
    model = method(random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@every_method
@pytest.mark.parametrize("fraction", [1.0, 0.94, 0.8])
def test_bound_on_sizes_holds(method, fraction):
    X, _ = overlapping(201)
    X[:60] += 3
    model = method(min_cluster_fraction=fraction, random_state=0).fit(X)
    assert np.bincount(model.labels_).min() >= min(100, fraction * 201 / 2)


def test_starved_says_that_the_bound_decided():
    X, groups = blobs(100)
    X, groups = np.vstack([X[groups == 0], X[groups == 1][:10]]), np.repeat([0, 1], [50, 10])
    model = IterLSSVM(kernel="linear", init="k-means", random_state=0).fit(X)
    assert model.starved_
    assert min(np.bincount(model.labels_)) == 29
    free = IterLSSVM(kernel="linear", min_cluster_fraction=0.2, random_state=0).fit(X)
    assert not free.starved_
    assert same_partition(groups, free.labels_)


@every_method
def test_best_of_several_starts_has_the_lowest_objective(method):
    X, _ = overlapping()
    model = method(init="random", n_init=5, gamma="diameter", random_state=0).fit(X)
    last = {record.start: record.objective for record in model.history_}
    assert model.objective_ == pytest.approx(min(last.values()), rel=1e-5) or model.cycled_


# More than two clusters


@every_method
def test_bisection_finds_four_groups(method):
    X, groups = blobs(120, k=4, seed=3)
    model = method(4, min_cluster_fraction=0.5, random_state=0).fit(X)
    assert same_partition(groups, model.labels_)
    assert model.coef_.shape[0] == len(model.intercept_) == 3
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    scores = model.decision_function(X)
    assert scores.shape == (120, 4)
    np.testing.assert_array_equal(scores.argmax(axis=1), model.labels_)
    assert ((scores > 0).sum(axis=1) == 1).all()
    assert {record.split for record in model.history_} == {0, 1, 2}


def test_bisection_splits_the_largest_cluster():
    X, _ = blobs(90, k=3)
    model = IterLSSVM(3, min_cluster_fraction=0.5, random_state=0).fit(X)
    first = np.where(model.labels_ == 2, model.bisected_[1], model.labels_)
    assert np.bincount(first)[model.bisected_[1]] == np.bincount(first).max()


@every_method
@pytest.mark.parametrize("k", [3, 5])
def test_odd_numbers_of_equal_groups_are_found_with_the_default_bound(method, k):
    angles = 2 * np.pi * np.arange(k) / k
    groups = np.arange(60 * k) % k
    X = (
        np.random.default_rng(0).normal(size=(60 * k, 2))
        + 20 * np.column_stack([np.cos(angles), np.sin(angles)])[groups]
    )
    model = method(k, random_state=0).fit(X)
    assert same_partition(groups, model.labels_)


@every_method
@pytest.mark.parametrize(("k", "sizes"), [(3, [100, 100, 100]), (4, [75] * 4), (6, [50] * 6), (7, [42] + [43] * 6)])
def test_bound_of_bisections_follows_the_number_of_clusters(method, k, sizes):
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = method(k, min_cluster_fraction=1.0, random_state=0).fit(X)
    found = np.sort(np.bincount(model.labels_))
    assert np.abs(found - sizes).max() <= 2  # whole numbers at every bisection


@every_method
def test_more_given_labels_than_two_start_the_bisections(method):
    X, groups = blobs(120, k=4, seed=3)
    model = method(4, min_cluster_fraction=0.5, init=groups, random_state=0).fit(X)
    assert same_partition(groups, model.labels_)
    assert model.n_iter_ == len(model.history_) == 3  # every bisection begins where it ends


def test_a_cluster_within_one_given_label_starts_with_k_means():
    X, groups = blobs(120, k=3, seed=3)
    model = IterLSSVM(3, min_cluster_fraction=0.0, init=np.minimum(groups, 1), random_state=0).fit(X)
    assert same_partition(groups, model.labels_)


def test_given_groups_with_equal_means_are_no_start():
    P = np.array([[1.0], [-1.0]] * 3)
    assert _bisection.merged_labels(np.repeat([0, 1, 2], 2), P, np.random.default_rng(0)) is None


@pytest.mark.parametrize(
    ("equal", "bounds", "expected"),
    [
        (8, [(3, 7)], True),
        (8, [(2, 7)], False),
        (8, [(3, 8)], False),
        (8, [(4, 5), (2, 2)], False),
        (10, [(1, 9)], True),
    ],
)
def test_bounds_that_divide_equal_rows(equal, bounds, expected):
    others = np.random.default_rng(0).normal(size=(10 - equal, 3))
    assert divides_equal_rows(np.vstack([np.ones((equal, 3)), others]), bounds) is expected


def test_only_the_bisections_of_the_result_are_recorded():
    X = np.vstack([np.zeros((60, 2)), np.random.default_rng(0).normal(size=(40, 2))])
    model = IterLSSVM(6, kernel="linear", random_state=0).fit(X)
    assert len(model.history_) == model.n_iter_


@pytest.mark.parametrize("sign", [1, -1])
def test_starts_have_two_sides_where_most_rows_are_equal(sign):
    X = sign * np.repeat([[0.0, 0.0], [1.0, 2.0]], [2, 8], axis=0)
    labels = IterSVR(2, kernel="linear", min_cluster_fraction=0.1, random_state=0).fit_predict(X)
    assert len(set(labels[:2])) == len(set(labels[2:])) == 1 and labels[0] != labels[2]


def test_bisection_passes_over_clusters_of_equal_rows():
    X = np.vstack([np.zeros((30, 2)), np.random.default_rng(0).normal(size=(28, 2)) * 0.1 + 5])
    model = IterLSSVM(3, kernel="linear", random_state=0).fit(X)
    assert np.unique(model.labels_[:30]).size == 1
    assert model.n_clusters_ == 3


def test_one_cluster():
    model = IterSVR(1).fit(np.ones((5, 2)))
    assert not model.labels_.any() and model.n_iter_ == 0
    assert not model.predict(np.zeros((3, 2))).any()
    assert model.decision_function(np.zeros((3, 2))).shape == (3, 1)


# Representations and sizes


@every_method
@pytest.mark.parametrize("kernel", ["rbf", "linear", "cosine"])
@pytest.mark.parametrize("convert", [sp.csr_array, sp.csc_matrix, np.asfortranarray, lambda X: X.astype(np.float32)])
def test_representation_changes_nothing(method, kernel, convert):
    X, _ = overlapping()
    X[np.abs(X) < 0.5] = 0
    X += X == 0  # cosine needs rows that are not zero; keep some structure
    expected = method(kernel=kernel, C=10.0, random_state=0).fit(X)
    model = method(kernel=kernel, C=10.0, random_state=0).fit(convert(X))
    assert clustering_accuracy(expected.labels_, model.labels_) >= 0.99
    assert clustering_accuracy(expected.predict(X), model.predict(convert(X))) >= 0.99


def test_sparse_rows_with_many_columns_are_not_densified(monkeypatch):
    X = sp.random_array((80, 5000), density=0.01, format="csr", random_state=np.random.default_rng(0))
    for name in ("toarray", "todense"):
        original = getattr(sp.csr_array, name)

        def guarded(self, *args, _original=original, **kwargs):
            assert self.shape[1] < 5000, "rows were made dense"
            return _original(self, *args, **kwargs)

        monkeypatch.setattr(sp.csr_array, name, guarded)
    model = IterLSSVM(kernel="linear", random_state=0).fit(X)
    assert model.kernel_map_ is not None
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_shards(tmp_path):
    X, groups = blobs()
    np.save(tmp_path / "a.npy", X[:40])
    np.save(tmp_path / "b.npy", X[40:])
    model = IterSVR(random_state=0).fit(shards([tmp_path / "a.npy", tmp_path / "b.npy"]))
    assert same_partition(groups, model.labels_)


@every_method
def test_low_rank_above_the_documented_size(method, monkeypatch):
    monkeypatch.setattr(_iterative_base, "EXACT_KERNEL_ROWS", 100)
    monkeypatch.setattr(_iterative_base, "LOW_RANK", 20)
    X, groups = blobs(150)
    model = method(random_state=0).fit(X)
    assert model.kernel_map_.landmarks.shape[0] == 20
    assert same_partition(groups, model.labels_)
    assert method(random_state=0).fit(X[:100]).kernel_map_.landmarks.shape[0] == 100
    assert method(n_components=150, random_state=0).fit(X).kernel_map_.landmarks.shape[0] == 150


@every_method
@pytest.mark.parametrize("init", ["auto", "k-means", "random", "spectral"])
@pytest.mark.parametrize("gamma", ["diameter", "median"])
def test_no_square_matrix_above_the_documented_size(method, init, gamma):
    n = 2 * _iterative_base.EXACT_KERNEL_ROWS
    X, groups = blobs(n)
    tracemalloc.start()
    try:
        model = method(init=init, gamma=gamma, random_state=0).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert same_partition(groups, model.labels_)
    assert peak < 8 * n * n / 2


def test_square_matrix_size_is_the_documented_one():
    assert f"exact up to\n        {_iterative_base.EXACT_KERNEL_ROWS} rows" in IterSVR.__doc__
    assert f"{_iterative_base.LOW_RANK} landmarks above" in IterSVR.__doc__


@pytest.mark.parametrize("init", ["auto", "k-means", "spectral"])
def test_start_on_a_sample(monkeypatch, init):
    monkeypatch.setattr(_bisection, "START_SAMPLE", 50)
    X, groups = blobs(400)
    model = IterSVM(init=init, random_state=0).fit(X)
    assert same_partition(groups, model.labels_)


@every_method
def test_shift_changes_nothing_for_the_linear_kernel(method):
    X, groups = blobs()
    model = method(kernel="linear", random_state=0).fit(X + 1e6)
    assert same_partition(groups, model.labels_)
    np.testing.assert_array_equal(model.predict(X + 1e6), model.labels_)


@every_method
@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("gamma", ["median", "diameter"])
def test_units_change_nothing_for_the_gaussian(method, gamma, scale):
    X, _ = overlapping()
    expected = method(gamma=gamma, random_state=0).fit(X).labels_
    assert clustering_accuracy(expected, method(gamma=gamma, random_state=0).fit(X * scale).labels_) >= 0.99


# Records


@every_method
def test_history_is_ready_to_plot(method):
    X, _ = overlapping()
    model = method(random_state=0, gamma="diameter").fit(X)
    assert len(model.history_) == model.n_iter_
    assert model.history_[-1].flips == 0 or model.cycled_
    for record in model.history_:
        assert list(vars(record)) == RECORD_FIELDS.split()
        assert sum(record.margin_counts) == 200
        assert len(record.margin_edges) == len(record.margin_counts) + 1
        assert np.all(np.diff(record.margin_edges) > 0)
        assert record.seconds >= 0


def test_history_shows_why_the_hinge_stays_at_its_start():
    X, _ = overlapping()

    def share_beyond(method, margin):
        record = method(kernel="linear", C=10.0, random_state=0).fit(X).history_[-1]
        counts, edges = np.array(record.margin_counts), np.array(record.margin_edges)
        return counts[edges[:-1] > margin].sum() / counts.sum()

    assert share_beyond(IterSVM, 2) > 0.5
    assert share_beyond(IterSVR, 2) < 0.05
    assert share_beyond(IterLSSVM, 2) < 0.05


def test_history_shows_that_the_hinge_stops_early_with_the_linear_kernel():
    """Of the linear kernel only: with the default, wide Gaussian the hinge flips as many labels as the regression."""
    flips = {method: [] for method in METHODS}
    for seed in range(10):
        X, _ = overlapping(400, seed)
        for method in METHODS:
            model = method(kernel="linear", init="random", random_state=seed).fit(X)
            flips[method].append(sum(record.flips for record in model.history_))
    assert np.median(flips[IterSVM]) < 0.25 * np.median(flips[IterSVR])
    assert np.median(flips[IterSVM]) < 0.5 * np.median(flips[IterLSSVM])


@pytest.mark.parametrize("method", [IterSVR, IterLSSVM])
def test_history_shows_the_objective_falling(method):
    ratios = []
    for seed in range(10):
        history = method(kernel="linear", init="random", random_state=seed).fit(overlapping(400, seed)[0]).history_
        ratios.append(history[-1].objective / history[0].objective)
    assert np.median(ratios) < 0.95


def test_callback_sees_every_turn_and_may_stop():
    X, _ = overlapping()
    seen = []
    model = IterLSSVM(init="random", random_state=0, callback=seen.append).fit(X)
    assert seen == model.history_ and model.converged_
    stopped = IterLSSVM(init="random", n_init=4, random_state=0, callback=lambda record: record.iteration == 1).fit(X)
    assert stopped.n_iter_ == 2 and not stopped.converged_
    assert len(stopped.labels_) == 200


def test_callback_may_stop_between_bisections():
    X, _ = blobs(90, k=3)
    model = IterLSSVM(3, random_state=0, callback=lambda record: True).fit(X)
    assert model.n_clusters_ == 2
    np.testing.assert_array_equal(np.unique(model.predict(X)), [0, 1])


def test_verbose_logs_every_turn(caplog):
    X, _ = blobs()
    with caplog.at_level(logging.INFO, logger="widegap"):
        model = IterSVR(random_state=0, verbose=1).fit(X)
    assert len(caplog.records) == model.n_iter_
    assert re.match(r"split 0, start 0, turn 0: objective .* flips, .* positive", caplog.messages[0])


def test_too_few_turns_warn():
    X, _ = overlapping()
    with pytest.warns(ConvergenceWarning, match="IterLSSVM stopped after max_iter=1 turns .* raise max_iter"):
        model = IterLSSVM(init="random", gamma="diameter", max_iter=1, random_state=0).fit(X)
    assert not model.converged_


@every_method
def test_same_seed_same_result(method):
    X, _ = overlapping()
    model = method(init="random", n_init=2, random_state=3)
    np.testing.assert_array_equal(clone(model).fit(X).labels_, clone(model).fit(X).labels_)


# Bad input


def refuses(model, X, error, match, **fit_parameters):
    """Fit raises, and leaves nothing behind that looks fitted."""
    with pytest.raises(error, match=match):
        model.fit(X, **fit_parameters)
    with pytest.raises(NotFittedError):
        check_is_fitted(model, "labels_")


@every_method
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(method, value):
    X, _ = blobs()
    X[3, 1] = value
    refuses(method(), X, ValueError, "Input X contains (NaN|infinity)")


@every_method
@pytest.mark.parametrize(
    "parameters",
    [{"kernel": "linear"}, {}, {"gamma": "median"}, {"gamma": 1.0}, {"kernel": "poly"}, {"kernel": "cosine"}],
)
@pytest.mark.parametrize("n_components", [5, 60])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_inside_shards_is_refused(method, parameters, n_components, value, tmp_path):
    X, _ = blobs()
    X[3, 1] = value
    np.save(tmp_path / "a.npy", X)
    model = method(n_components=n_components, random_state=0, **parameters)
    with np.errstate(invalid="ignore"):
        refuses(model, shards([tmp_path / "a.npy"]), InvalidDataError, "X contains NaN, infinity, .* impute, drop or")


@every_method
def test_fewer_rows_than_clusters_are_refused(method):
    refuses(method(4), blobs(3)[0], InvalidDataError, "n_samples=3 should be >= n_clusters=4: .* lower n_clusters")


@every_method
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 / 3])
@pytest.mark.parametrize("convert", [np.asarray, np.float32, sp.csr_array])
@pytest.mark.parametrize("parameters", [{"kernel": "linear"}, {"gamma": 1.0}])
def test_equal_rows_are_refused(method, convert, value, parameters):
    match = "All 50 rows are equal, so they cannot be separated into 2 clusters; use fewer clusters"
    refuses(method(**parameters), convert(np.full((50, 3), value)), InvalidDataError, match)


@every_method
def test_rows_that_only_the_kernel_makes_equal_are_refused(method):
    match = "Kernel 'rbf' maps all 60 rows to one point, so they cannot be separated into 2 .* change the kernel or its"
    refuses(method(gamma=1e-30), blobs()[0], InvalidDataError, match)


@every_method
@pytest.mark.parametrize(
    ("kernel", "params", "match"),
    [
        ("rbf", {"degree": 3}, "kernel_params holds 'degree', but kernel 'rbf' takes none"),
        ("linear", {"degree": 3}, "kernel_params holds 'degree', but kernel 'linear' takes none"),
        ("poly", {"width": 3, "colour": 1}, "holds 'colour', 'width', but kernel 'poly' takes 'coef0' and 'degree'"),
        ("poly", {"gamma": 3}, "holds 'gamma', .* gamma is a parameter of its own"),
    ],
)
def test_unknown_kernel_parameters_are_refused(method, kernel, params, match):
    refuses(method(kernel=kernel, kernel_params=params), blobs()[0], InvalidDataError, match)


@pytest.mark.parametrize("gamma", ["median", "diameter"])
def test_equal_rows_have_no_width(gamma):
    refuses(IterSVR(gamma=gamma), np.ones((50, 3)), InvalidDataError, "equal; give gamma a number")


@pytest.mark.parametrize("fraction", [-0.1, 1.01, np.nan, "auto"])
def test_fraction_out_of_range_is_refused(fraction):
    match = r"The 'min_cluster_fraction' parameter .* range \[0.0, 1.0\]"
    refuses(IterSVR(min_cluster_fraction=fraction), blobs()[0], ValueError, match)


@every_method
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_rows_that_repeat_often_are_divided_if_the_bound_asks_for_it(method, kernel):
    X = np.vstack([np.ones((90, 3)), np.random.default_rng(0).normal(size=(10, 3))])
    model = method(kernel=kernel, gamma=0.1, random_state=0).fit(X)
    assert np.bincount(model.labels_).min() == 47
    assert model.starved_
    again = method(kernel=kernel, gamma=0.1, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, again.labels_)
    free = method(kernel=kernel, gamma=0.1, min_cluster_fraction=0.0, random_state=0).fit(X)
    assert len(np.unique(free.labels_[:90])) == 1


@every_method
@pytest.mark.parametrize("parameters", [{}, {"gamma": "median"}, {"kernel": "linear"}])
def test_ten_copies_of_every_row_change_nothing(method, parameters):
    X, groups = blobs()
    model = method(random_state=0, **parameters).fit(np.repeat(X, 10, axis=0))
    assert same_partition(np.repeat(groups, 10), model.labels_)


@every_method
@pytest.mark.parametrize("gamma", ["median", "diameter"])
def test_width_comes_from_rows_that_differ_where_nine_in_ten_are_copies(method, gamma):
    X, groups = blobs(100)
    X = np.vstack([X, np.repeat(X[:2], 450, axis=0)])  # the first two rows, one of each group
    groups = np.concatenate([groups, np.repeat([0, 1], 450)])
    model = method(gamma=gamma, random_state=0).fit(X)
    assert same_partition(groups, model.labels_)


@every_method
def test_a_few_equal_rows_may_be_divided(method):
    X = np.random.default_rng(0).normal(size=(100, 3))
    X[:20] = 0.0  # in the middle
    model = method(kernel="linear", min_cluster_fraction=1.0, random_state=0).fit(X)
    assert model.labels_.sum() == 50
    assert model.starved_


def test_equal_decision_values_are_refused():
    X, groups = blobs()
    match = "All 60 decision values are equal, so no threshold separates them; raise C"
    refuses(IterLSSVM(C=1e-12, kernel="linear", init=groups), 1e-6 * X, InfeasibleBalanceError, match)


def test_start_labels_are_checked():
    X, groups = blobs()
    refuses(IterSVR(init=groups[:5]), X, InvalidDataError, "starting labels need one entry per row")
    refuses(IterSVR(init=groups + 1), X, InvalidDataError, "starting labels must be integers from 0 to")
    for k in (2, 3):
        refuses(
            IterSVR(k, init=np.zeros(60, int)),
            X,
            InvalidDataError,
            "init gives all 60 rows the label 0; .* at least two",
        )


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"C": 0}, "C"),
        ({"epsilon": 1.0}, "epsilon"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"kernel": "wavelet"}, "kernel"),
        ({"kernel": "precomputed"}, "kernel"),  # not offered: predict would need the kernel of new rows with old ones
        ({"gamma": "auto"}, "gamma"),
        ({"n_components": 0}, "n_components"),
        ({"n_init": 0}, "n_init"),
        ({"max_iter": 0}, "max_iter"),
        ({"n_clusters": 0}, "n_clusters"),
    ],
)
def test_wrong_parameters_are_refused(parameters, name):
    refuses(IterSVR(**parameters), blobs()[0], ValueError, f"The '{name}' parameter of IterSVR must be")


def test_other_columns_are_refused_at_predict():
    model = IterSVR(random_state=0).fit(blobs()[0])
    with pytest.raises(ValueError, match="X has 3 features, but IterSVR is expecting 4"):
        model.predict(np.zeros((2, 3)))
