"""The search for the number: tables without structure, the graph and trees of the sample, scores and their range."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from widegap import MaxMarginClustering
from widegap.forest import _number_search
from widegap.forest._cluster_number import NullCurve, NumberEvidence, take_steps
from widegap.forest._column_search import ClassNumber
from widegap.forest._latent_classes import LatentClasses
from widegap.forest._linkage import MergeTree
from widegap.forest._number_search import NumberSearch, find_number, null_tables, reasons_by_columns, separations_found


def rng():
    return np.random.default_rng(0)


def test_null_tables_are_a_gaussian_and_a_box_of_the_same_covariance():
    X = rng().normal(size=(5000, 3)) * [1, 5, 0.1] @ rng().normal(size=(3, 3)) + 7
    variances = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    variances /= variances.sum()  # coordinates are in units of the total deviation
    gaussian, box = null_tables(X, rng())
    for table in (gaussian, box):
        assert table.shape == X.shape
        np.testing.assert_allclose(np.sort(table.var(axis=0))[::-1], variances, rtol=0.08)
    edges = np.sqrt(3) * np.sort(np.sqrt(variances))[::-1]
    np.testing.assert_allclose(np.sort(np.abs(box).max(axis=0))[::-1], edges, rtol=2e-3)
    np.testing.assert_allclose(-np.sort(box.min(axis=0)), edges, rtol=2e-3)
    kurtosis = (gaussian**4).mean(axis=0) / gaussian.var(axis=0) ** 2
    np.testing.assert_allclose(kurtosis, 3, atol=0.35)
    wide = rng().normal(size=(30, 250))
    assert all(table.shape[1] <= 200 for table in null_tables(wide, rng()))


def spied(monkeypatch):
    """What trees are grown of: rows, neighbours, linked ones, clusters, plan and rank."""
    asked, of = [], _number_search._Trees.of

    def spy(trees, rows, graph):
        values = len(rows), graph.nearest.shape[1], graph.linked, trees.k, trees.plan, trees.rank
        asked.append(values)
        return of(trees, rows, graph)

    monkeypatch.setattr(_number_search._Trees, "of", spy)
    return asked


def test_trees_of_the_rows_and_of_two_null_tables(monkeypatch):
    asked = spied(monkeypatch)
    X = make_blobs(160, 3, centers=9 * np.eye(3), random_state=0)[0]
    found = find_number(X, 8, rng())
    assert asked == [(160, 20, 20, 20, ((1, 2), (1, 2)), 300)] + [(160, 20, 20, 20, ((1, 2),), 300)] * 2
    assert find_number(X, 30, rng()).graph.nearest.shape[1] == 30
    assert found.choice.n_clusters == 3 and found.sampled.tolist() == list(range(160))
    assert len(found.evidence.z) == 160 // 8 - 1  # 8 rows a group at least
    assert len(found.steps.strengths) == 19


def test_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr(_number_search, "TREE_ROWS", 90)
    X = make_blobs(200, 2, centers=[[0, 0], [9, 9]], random_state=0)[0]
    found = find_number(X, 30, rng())
    assert len(found.sampled) == len(set(found.sampled)) == 90 and found.sampled.max() < 200
    asked = spied(monkeypatch)
    monkeypatch.setattr(_number_search, "TREE_ROWS", 90)
    forest = MaxMarginClustering(2, random_state=0).fit(X)._forest
    asked.clear()
    z = separations_found(forest, 2, X, 30, rng())
    assert [values[0] for values in asked] == [90] * 3 and len(z) == 1
    assert {values[1:] for values in asked} == {(18, 20, 2, ((1,),), 100)}


def test_separations_of_a_search_are_those_of_its_own_trees(monkeypatch):
    X = make_blobs(150, 3, centers=9 * np.eye(3), random_state=0)[0]
    forest = MaxMarginClustering(3, random_state=0).fit(X)._forest
    asked = spied(monkeypatch)
    z = separations_found(forest, 3, X, 30, rng())
    assert [values[0] for values in asked] == [150] * 2  # of null tables alone
    assert len(z) == 2 and z.min() > 5
    trees = _number_search._Trees(30, 20, 3, ((1,),), 100, rng())
    null = NullCurve.fit(trees.of_null(X))
    expected = NumberEvidence.of(forest.trees("graph"), null).z[:2]
    np.testing.assert_allclose(z, expected)
    assert len(separations_found(forest, 2, X, 30, rng())) == 1


@pytest.mark.parametrize(
    ("n", "linked"), [(2000, 20), (2049, 20), (2050, 21), (3999, 59), (4000, 60), (4050, 60), (10**6, 60)]
)
def test_neighbours_with_a_weight(n, linked):
    assert _number_search.n_linked(n) == linked


def test_scores_are_of_all_numbers_and_agreement_of_those_near():
    evidence = NumberEvidence(np.array([9.0, 8, 7, 0, 0, 0, 0, 0, 0, 0]), np.zeros(10))
    steps = take_steps(evidence, 50)
    found = NumberSearch(np.arange(3), None, NullCurve(np.zeros(1), 1.0), evidence, steps)
    cut = lambda k: SimpleNamespace(agreement=np.array([1.0, 1 / k]))  # noqa: E731
    reasons = found.reasons(SimpleNamespace(most_clusters=9, cut=cut), 4)
    assert [score.n_clusters for score in reasons.scores] == list(range(2, 10))
    near = {score.n_clusters: score.agreement for score in reasons.scores if score.agreement is not None}
    assert near == {k: pytest.approx((1 + 1 / k) / 2) for k in range(2, 7)}
    np.testing.assert_allclose([score.separation for score in reasons.scores], evidence.z[:8])
    np.testing.assert_allclose([score.excess for score in reasons.scores], steps.excess[:8])
    np.testing.assert_allclose([score.strength for score in reasons.scores], steps.strengths[:8])
    assert reasons.choice == found.choice and reasons.choice.n_clusters == 4


def classes(likelihood, parameters):
    return LatentClasses(np.zeros(1), np.zeros((1, 1)), likelihood, parameters)


def class_number(taken=2):
    fits = {1: classes(-100.0, 3), 2: classes(-80.0, 7), 3: classes(-79.0, 11), 4: classes(-77.0, 15)}
    return ClassNumber(fits, taken)


def test_strengths_of_latent_classes_by_hand():
    """What the likelihood gains over what AIC3 charges: 2 * 20 / (3 * 4) for the second class."""
    number = class_number()
    np.testing.assert_allclose([number.strength(k) for k in (2, 3, 4)], [40 / 12, 2 / 12, 6 / 24])
    choice = number.choice
    assert (choice.n_clusters, choice.strength, choice.also) == (2, pytest.approx(40 / 12), [])
    assert (choice.rejected, choice.rejected_strength) == (4, pytest.approx(0.25))
    assert choice.by_columns and not choice.continuum
    one = class_number(1).choice
    assert (one.n_clusters, one.rejected) == (1, 2) and one.strength == one.rejected_strength == pytest.approx(40 / 12)
    alone = ClassNumber({1: classes(-3.0, 2)}, 1).choice
    assert (alone.strength, alone.rejected, alone.rejected_strength) == (0.0, None, 0.0)
    last = class_number(4).choice
    assert (last.rejected, last.rejected_strength, last.strength) == (None, 0.0, pytest.approx(4 / 12))


def test_numbers_of_latent_classes_have_strengths_alone():
    reasons = reasons_by_columns(class_number(), 3)
    assert [(s.n_clusters, s.separation, s.excess, s.agreement) for s in reasons.scores] == [
        (2, None, None, None), (3, None, None, None)]  # fmt: skip
    assert reasons.scores[0].strength == pytest.approx(40 / 12) and reasons.choice == class_number().choice
    assert len(reasons_by_columns(class_number(), 4).scores) == 3


def test_merges_of_few_rows_are_not_judged():
    X = make_blobs(160, 3, centers=9 * np.eye(3), random_state=0)[0]
    model = MaxMarginClustering("auto", search="merge", random_state=0).fit(X)
    numbers = model._kept.cuts._numbers
    result = model._kept.result
    phi, smaller = _number_search.cuts_of_merges(result.tree, numbers.graph, result.leaf_of_row)
    excess = result.tree.excess
    np.testing.assert_array_equal(np.isnan(excess), smaller < 8)
    known = np.flatnonzero(smaller >= 8)[::-1]
    z = numbers.curve.separation(phi[known], smaller[known])
    for place, (j, value) in enumerate(zip(known, z, strict=True)):
        line = numbers.evidence.line(max(place + 2, 3), np.log(smaller[[j]]))[0]
        assert excess[j] == pytest.approx(value - line)


@pytest.mark.parametrize("k", [2, 5])
def test_excess_of_merges_by_hand(k, monkeypatch):
    """The merges of a tree come last first; those of sides of fewer than eight rows are left out."""
    draw = rng()
    evidence = NumberEvidence(6 * draw.random(40), 2 + 3 * draw.random(40))
    curve = NullCurve(np.array([-0.5, 0.1]), 0.3)
    phi, smaller = 0.5 * draw.random(12), np.array([8.0, 7, 20, 30, 1, 9, 8, 50, 60, 7.9, 80, 8])
    monkeypatch.setattr(_number_search, "cuts_of_merges", lambda tree, graph, leaves: (phi, smaller))
    merges = np.array([(0, 1), *((j + 1, 12 + j) for j in range(1, 12))])
    tree = MergeTree(merges, np.zeros(12), np.arange(2, 14), np.ones(13, int))
    found = NumberSearch(np.arange(13), None, curve, evidence, take_steps(evidence, 9)).judged_tree(
        tree, np.arange(13), k
    )
    expected, j = np.full(12, np.nan), 2
    for step in range(11, -1, -1):
        if smaller[step] >= 8:
            s = np.log(smaller[step])
            z = (-0.5 * s + 0.1 - np.log(phi[step])) / 0.3
            expected[step] = z - evidence.line(max(j, k), np.array([s]))[0]
            j += 1
    np.testing.assert_allclose(found.excess, expected)
    assert found.merges is tree.merges
