"""IterSVM, IterSVR and IterLSSVM as estimators: scikit-learn's rules, starts, tree, records, bad input."""

import logging
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from widegap.data import shards
from widegap.estimators import _bisection, _iterative_base
from widegap.estimators._iterative import IterLSSVM, IterSVM, IterSVR
from widegap.exceptions import InfeasibleBalanceError, InvalidDataError, NotSupportedError
from widegap.metrics import clustering_accuracy

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


@parametrize_with_checks(
    [
        IterSVM(),
        IterSVR(),
        IterLSSVM(),
        IterLSSVM(3),
        IterSVR(kernel="linear", C=1.0, balance=0.5),
        IterLSSVM(init="random", gamma="median", n_components=5, n_init=2),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


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
@pytest.mark.parametrize("init", ["k-means", "random", "spectral"])
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
@pytest.mark.parametrize("balance", [0.0, 0.03, 0.1])
def test_balance_holds(method, balance):
    X, _ = overlapping(201)
    X[:60] += 3
    model = method(balance=balance, random_state=0).fit(X)
    n_positive = model.labels_.sum()
    assert abs(n_positive - 201 / 2) <= max(0.5, balance * 201)


def test_starved_says_that_the_bound_decided():
    X, groups = blobs(100)
    X, groups = np.vstack([X[groups == 0], X[groups == 1][:10]]), np.repeat([0, 1], [50, 10])
    model = IterLSSVM(kernel="linear", random_state=0).fit(X)
    assert model.starved_
    assert min(np.bincount(model.labels_)) == 29
    free = IterLSSVM(kernel="linear", balance=0.4, random_state=0).fit(X)
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
    model = method(4, balance=0.25, random_state=0).fit(X)
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
    model = IterLSSVM(3, balance=0.25, random_state=0).fit(X)
    first = np.where(model.labels_ == 2, model.bisected_[1], model.labels_)
    assert np.bincount(first)[model.bisected_[1]] == np.bincount(first).max()


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


def test_low_rank_above_the_documented_size(monkeypatch):
    monkeypatch.setattr(_iterative_base, "EXACT_ROWS", 100)
    monkeypatch.setattr(_iterative_base, "LOW_RANK", 20)
    X, groups = blobs(150)
    model = IterSVR(random_state=0).fit(X)
    assert model.kernel_map_.landmarks.shape[0] == 20
    assert same_partition(groups, model.labels_)
    assert IterSVR(random_state=0).fit(X[:100]).kernel_map_.landmarks.shape[0] == 100
    assert IterSVR(n_components=150, random_state=0).fit(X).kernel_map_.landmarks.shape[0] == 150


@pytest.mark.parametrize("init", ["k-means", "spectral"])
def test_start_on_a_sample(monkeypatch, init):
    monkeypatch.setattr(_bisection, "SAMPLE", 50)
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


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_nan_inside_shards_is_refused(kernel, tmp_path):
    X, _ = blobs()
    X[3, 1] = np.nan
    np.save(tmp_path / "a.npy", X)
    refuses(IterSVR(kernel=kernel), shards([tmp_path / "a.npy"]), ValueError, "contains? NaN")


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


@pytest.mark.parametrize("gamma", ["median", "diameter"])
def test_equal_rows_have_no_width(gamma):
    refuses(IterSVR(gamma=gamma), np.ones((50, 3)), InvalidDataError, "equal; give gamma a number")


@pytest.mark.parametrize("balance", [-0.1, 0.51, np.nan, "auto"])
def test_balance_out_of_range_is_refused(balance):
    refuses(IterSVR(balance=balance), blobs()[0], ValueError, r"The 'balance' parameter .* range \[0.0, 0.5\]")


@every_method
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_rows_that_repeat_too_often_for_the_balance_are_refused(method, kernel):
    X = np.vstack([np.ones((90, 3)), np.random.default_rng(0).normal(size=(10, 3))])
    match = (
        "balance asks for 47 to 53 of 100 rows in each cluster, but 90 rows have equal decision values and would "
        r"have to be divided; set balance to at least 0\.4\d* or remove repeated rows"
    )
    refuses(method(kernel=kernel, gamma=0.1, random_state=0), X, InfeasibleBalanceError, match)
    model = method(kernel=kernel, gamma=0.1, balance=0.5, random_state=0).fit(X)
    assert len(np.unique(model.labels_[:90])) == 1


@every_method
def test_a_few_equal_rows_may_be_divided(method):
    X = np.random.default_rng(0).normal(size=(100, 3))
    X[:20] = 0.0  # in the middle
    model = method(kernel="linear", balance=0.0, random_state=0).fit(X)
    assert model.labels_.sum() == 50
    assert model.starved_


def test_equal_decision_values_are_refused():
    X, groups = blobs()
    match = "All 60 decision values are equal, so no threshold separates them; raise C"
    refuses(IterLSSVM(C=1e-20, init=groups), X, InfeasibleBalanceError, match)


def test_start_labels_are_checked():
    X, groups = blobs()
    refuses(IterSVR(init=groups[:5]), X, InvalidDataError, "starting labels need one entry a row")
    refuses(IterSVR(init=groups + 1), X, InvalidDataError, "starting labels must be integers from 0 to")
    refuses(IterSVR(init=np.zeros(60, int)), X, InvalidDataError, "init gives all 60 rows the label 0; .* both 0 and 1")
    refuses(IterSVR(3, init=groups), X, NotSupportedError, "recursive bisection begins with two .* n_clusters=2")


def test_partly_known_labels_are_refused():
    X, groups = blobs()
    refuses(IterSVR(), X, NotSupportedError, "reserved for partly known labels", y=groups - 1)


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"C": 0}, "C"),
        ({"epsilon": 1.0}, "epsilon"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"kernel": "wavelet"}, "kernel"),
        ({"gamma": "auto"}, "gamma"),
        ({"n_components": 0}, "n_components"),
        ({"multiclass": "ovr"}, "multiclass"),
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
