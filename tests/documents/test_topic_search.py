"""Steps of the search for topics, each against its rule written out."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import adjusted_rand_score
from sklearn.svm import LinearSVC

from widegap.constraints._side_information import RowConstraints
from widegap.constraints._units import read_constraints
from widegap.documents import _topic_search as _search
from widegap.documents._corpus import Corpus
from widegap.documents._linear_scores import fit_linear_scores, judged, relabelled
from widegap.documents._spherical_kmeans import of_length_one, spherical_runs
from widegap.documents._topic_rules import TopicRules
from widegap.documents._topic_search import (
    TopicRecord,
    fit_lsa,
    held_out_recovery,
    informed_start,
    lsa_rank,
    self_train,
    spherical_labels,
)
from widegap.exceptions import InvalidDataError


def groups(n=60, k=3, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = np.abs(noise * rng.normal(size=(n, 8))) + np.eye(8)[np.arange(n) % k]
    return of_length_one(X), (np.arange(n) % k).astype(np.int32)


def said(n, k, known):
    found = read_constraints(n, k, known=known)
    return TopicRules(RowConstraints(found.units, found.classes), None, None, n, k)


@pytest.mark.parametrize(
    ("n", "k", "rank"),
    [
        (799, 2, 99),
        (800, 2, 100),
        (807, 2, 100),
        (9000, 2, 100),
        (39, 2, 4),
        (40, 2, 5),
        (40, 3, 6),
        (8, 40, 80),
        (8, 60, 100),
    ],
)
def test_a_dimension_for_eight_documents_two_for_a_topic_and_a_hundred_at_most(n, k, rank):
    assert lsa_rank(n, k) == rank


def test_lsa_is_two_power_iterations_in_single_precision():
    X, _ = groups(80)
    svd, normalizer = fit_lsa(X, 5, 3).steps[0][1], fit_lsa(X, 5, 3).steps[1][1]
    expected = TruncatedSVD(5, n_iter=2, random_state=3).fit(X.astype(np.float32))
    np.testing.assert_array_equal(svd.components_, expected.components_)
    assert normalizer.norm == "l2"
    assert fit_lsa(X, 50, 3).steps[0][1].n_components == 8


def test_the_best_of_twenty_runs_unless_stopped():
    X, _ = groups(90, noise=2.0)
    runs = list(spherical_runs(X, 3, 20, np.random.default_rng(5)))
    totals = [total for total, _ in runs]
    calls = []
    found = spherical_labels(X, 3, np.random.default_rng(5), lambda: calls.append(1))
    assert len(calls) == 20
    np.testing.assert_array_equal(found, runs[int(np.argmax(totals))][1])
    calls.clear()
    early = spherical_labels(X, 3, np.random.default_rng(5), lambda: calls.append(1) or len(calls) == 4)
    assert len(calls) == 4
    np.testing.assert_array_equal(early, runs[int(np.argmax(totals[:4]))][1])
    assert min(totals) < max(totals)


@pytest.mark.parametrize("seed", [0, 1])
def test_recovery_is_the_agreement_with_what_the_other_half_predicts(seed):
    X, labels = groups(80, noise=1.5)
    first = np.random.default_rng(seed).permutation(80) % 2 == 0
    predicted = np.empty(80, int)
    for taught, asked in ((first, ~first), (~first, first)):
        C = 0.5  # of 40 rows
        model = LinearSVC(C=C, dual=True, tol=0.01, random_state=seed).fit(X[taught], labels[taught])
        predicted[asked] = model.predict(X[asked])
    expected = adjusted_rand_score(labels, predicted)
    assert 0.05 < expected < 0.95
    assert held_out_recovery(X, labels, seed) == expected


def test_a_half_of_one_topic_predicts_nothing():
    X, _ = groups(20)
    first = np.random.default_rng(0).permutation(20) % 2 == 0
    labels = np.zeros(20, np.int32)
    labels[np.flatnonzero(first)[:5]] = 1
    model = LinearSVC(C=0.5, dual=True, tol=0.01, random_state=0).fit(X[first], labels[first])
    predicted = np.full(20, -1)
    predicted[~first] = model.predict(X[~first])
    assert held_out_recovery(X, labels, 0) == adjusted_rand_score(labels, predicted)


def test_self_training_takes_five_rounds_unless_labels_settle_or_it_is_stopped():
    X, labels = groups(300, noise=2.0)
    rules = TopicRules(RowConstraints(), None, None, 300, 3)
    start = np.random.default_rng(1).integers(0, 3, 300).astype(np.int32)
    heard, last = [], start
    found, rounds, settled = self_train(X, start, 0, rules, lambda found, flips: heard.append((found, flips)))
    for one, flips in heard:
        expected = relabelled(fit_linear_scores(X, last, 3, 0), X, rules)
        np.testing.assert_array_equal(one.labels, expected.labels)
        assert one.objective == expected.objective and flips == np.count_nonzero(one.labels != last)
        last = one.labels
    assert rounds == len(heard) == 5 and not settled and found is heard[-1][0]
    assert min(flips for _, flips in heard) > 0
    found, rounds, settled = self_train(X, start, 0, rules, lambda found, flips: True)
    assert (rounds, settled) == (1, False) and found.objective == heard[0][0].objective
    X, labels = groups(300, noise=0.1)
    assert self_train(X, labels, 0, TopicRules(RowConstraints(), None, None, 300, 3))[1:] == (1, True)


def test_known_labels_begin_where_they_are():
    X, labels = groups(90, noise=0.6)
    turned = ((labels + 1) % 3).astype(np.int32)
    plain = TopicRules(RowConstraints(), None, None, 90, 3)
    assert informed_start(X, turned, plain) is turned
    known = np.where(np.arange(90) < 6, labels, -1)
    found = informed_start(X, turned, said(90, 3, known))
    assert (found == labels).mean() > 0.9  # turned back: 0 of 90 are right before
    np.testing.assert_array_equal(found[:6], labels[:6])
    two = informed_start(X, turned, said(90, 3, np.where(known == 2, -1, known)))
    assert (two == labels).mean() > 0.9


def test_the_larger_of_two_sums_of_cosines_wins():
    X, labels = groups(90, noise=0.6)
    known = np.where(np.arange(90) < 6, labels, -1)
    rules = said(90, 3, known)
    at_random = np.random.default_rng(0).integers(0, 3, 90).astype(np.int32)
    total, ended = _search._run_on(X, at_random, rules)
    weights = rules.weights
    assert weights[0] == 1.5  # a twentieth of 90 / 3
    centres = of_length_one(np.stack([weights[ended == p] @ X[ended == p] for p in range(3)]))
    assert total == pytest.approx(weights @ (X * centres[ended]).sum(axis=1))
    np.testing.assert_array_equal(ended[6:], (X @ centres.T).argmax(axis=1)[6:])
    seeds = of_length_one(np.stack([X[:6][labels[:6] == p].sum(axis=0) for p in range(3)]))
    from_seeds = _search._run_on(X, (X @ seeds.T).argmax(axis=1).astype(np.int32), rules)
    from_labels = _search._run_on(X, _search.matched_to_anchors(at_random, rules.constraints.units, None, 3), rules)
    best = max(from_labels, from_seeds, key=lambda run: run[0])
    np.testing.assert_array_equal(informed_start(X, at_random, rules), best[1])


class Fixed(BaseEstimator):
    """Labels that are given."""

    def __init__(self, labels, n_clusters=0):
        self.labels, self.n_clusters = labels, n_clusters

    def fit(self, X):
        self.labels_ = self.labels


@pytest.mark.parametrize(
    ("labels", "expected"),
    [([5, -1, 2], [1, -1, 0]), ([7, 3, 7], [1, 0, 1]), ([0, 0, -1], [0, 0, -1]), ([-2, 4, -1], [-1, 0, -1])],
)
def test_labels_of_another_clusterer_are_numbered_from_zero(labels, expected):
    model = Fixed(labels)
    found = _search._foreign_labels(model, np.zeros((3, 1)), 2, {})
    assert found.tolist() == expected and found.dtype == np.int32 and model.n_clusters == 2


def test_a_clusterer_that_finds_nothing_is_refused():
    with pytest.raises(InvalidDataError, match=r"found no cluster among 3 documents"):
        _search._foreign_labels(Fixed([-1, -1, -1]), np.zeros((3, 1)), 2, {})


def test_lines_of_the_log():
    assert TopicRecord("start", 0, None, None, 0.125).line() == "start 0, 0.12 s"
    assert TopicRecord("margins", 3, None, 0, 2.0).line() == "margins 3, 0 flips, 2.00 s"
    assert TopicRecord("terms", 1, 0.25, 12, 2.0).line() == "terms 1, objective 0.25, 12 flips, 2.00 s"


@pytest.mark.parametrize(("recovery", "stop", "orders"), [(0.84, False, 2), (0.85, False, 1), (0.84, True, 1)])
def test_margins_are_found_again_without_a_bias_where_they_are_not_recovered(monkeypatch, recovery, stop, orders):
    calls = []

    def fit(X, k, start, universum, seed, constraints, **settings):
        calls.append(settings)
        answer = settings["callback"](SimpleNamespace(flips=4))
        assert answer is stop
        return SimpleNamespace(labels_=np.full(20, len(calls)))

    monkeypatch.setattr(_search, "fit_method", fit)
    monkeypatch.setattr(_search, "held_out_recovery", lambda terms, labels, seed: recovery)
    X, start = groups(20)
    rules = TopicRules(RowConstraints(), None, None, 20, 3)
    heard = []
    labels = _search.sphere_margins(X, X, start, None, 0, rules, lambda flips: heard.append(flips) or stop)
    assert heard == [4] * orders and labels.tolist() == [orders] * 20
    assert [(one["order"], one.get("balance"), one["max_iter"]) for one in calls] == [
        ("one_step", 0.3, 40),
        ("linearize_first", None, 40),
    ][:orders]
    assert all(one["size_min"] == [1] * 3 and one["size_max"] == [20] * 3 for one in calls)


def test_values_of_a_stopped_search_come_by_the_shortest_way(monkeypatch):
    X, labels = groups(60)
    called = []
    monkeypatch.setattr(_search, "sphere_margins", lambda *arguments: called.append(1) or labels)
    for stopped in (True, False):
        recorder = SimpleNamespace(records=[], stopped=stopped, add=lambda **values: False)
        search = _search.TopicSearch(
            TopicRules(RowConstraints(), None, None, 60, 3), np.random.default_rng(0), recorder
        )
        found = search.in_terms(X, labels, None, None)
        assert len(called) == (not stopped) and found.scores.coef.shape == (3, 8)
    assert search.single(X).scores.objective == 0 and search.single(X).n_iter == 0 and search.single(X).converged
    assert _search.TopicSearch(search.rules, np.random.default_rng(3), recorder).seed == np.random.default_rng(
        3
    ).integers(2**31)


def test_what_another_clusterer_finds_has_scores_in_terms():
    X, labels = groups(60, noise=0.2)
    terms = sp.csr_array(X)
    search = _search.TopicSearch(
        TopicRules(RowConstraints(), None, None, 60, 3),
        np.random.default_rng(0),
        SimpleNamespace(records=[], stopped=False),
    )
    known = np.ones(60, bool)
    found = search.by_estimator(Fixed(labels), Corpus(terms, terms, known), None, None).scores
    assert found.coef.shape == (3, 8) and found.of(X).argmax(axis=1).tolist() == labels.tolist()
    assert found.objective == pytest.approx(judged(found, found.of(X)).objective)
    one = search.by_estimator(Fixed(np.zeros(60, int)), Corpus(terms, terms, known), None, None).scores
    assert one.coef.shape == (1, 8) and one.objective is None
    means = search.by_estimator(Fixed(labels), Corpus(None, X, known), None, None).scores
    np.testing.assert_allclose(means.coef, [X[labels == p].mean(axis=0) for p in range(3)])
