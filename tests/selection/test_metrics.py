"""Metrics against their brute-force definitions."""

from collections import Counter
from itertools import combinations, permutations, product
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from widegap.exceptions import InvalidDataError
from widegap.metrics import (
    balanced_clustering_error,
    clustering_accuracy,
    clustering_error,
    normalized_mutual_info,
    rand_index,
)

METRICS = [
    clustering_accuracy,
    clustering_error,
    balanced_clustering_error,
    rand_index,
    normalized_mutual_info,
]
MAPPED = METRICS[:3]
MAPPINGS = ["hungarian", "majority"]
# A busy machine must not fail a test of arithmetic.
no_deadline = settings(deadline=None)


@st.composite
def labelings(draw):
    """Two labelings of the same rows, each with at most four labels, not necessarily equally many."""
    n_rows = draw(st.integers(1, 12))
    classes = st.lists(st.sampled_from("abcd"), min_size=n_rows, max_size=n_rows)
    clusters = st.lists(st.integers(-1, 2), min_size=n_rows, max_size=n_rows)
    return draw(classes), draw(clusters)


def all_mappings(y_true, y_pred, mapping):
    """Every dict from clusters to classes; None for a cluster that one-to-one mapping leaves out."""
    classes, clusters = sorted(set(y_true)), sorted(set(y_pred))
    if mapping == "majority":
        targets = product(classes, repeat=len(clusters))
    else:
        targets = permutations(classes + [None] * len(clusters), len(clusters))
    return [dict(zip(clusters, target, strict=True)) for target in targets]


def accuracy_under(names, y_true, y_pred):
    return np.mean([names[cluster] == label for label, cluster in zip(y_true, y_pred, strict=True)])


def balanced_error_under(names, y_true, y_pred):
    rates = []
    for label in set(y_true):
        clusters = [j for c, j in zip(y_true, y_pred, strict=True) if c == label]
        rates.append(np.mean([names[j] != label for j in clusters]))
    return np.mean(rates)


@pytest.mark.parametrize("mapping", MAPPINGS)
@no_deadline
@given(pair=labelings())
def test_accuracy_is_the_maximum_over_all_mappings(mapping, pair):
    best = max(accuracy_under(names, *pair) for names in all_mappings(*pair, mapping))
    assert_allclose(clustering_accuracy(*pair, mapping=mapping), best, atol=1e-12)
    assert_allclose(clustering_error(*pair, mapping=mapping), 1 - best, atol=1e-12)


@pytest.mark.parametrize("mapping", MAPPINGS)
@no_deadline
@given(pair=labelings())
def test_balanced_error_is_the_minimum_over_all_mappings(mapping, pair):
    best = min(balanced_error_under(names, *pair) for names in all_mappings(*pair, mapping))
    assert_allclose(balanced_clustering_error(*pair, mapping=mapping), best, atol=1e-12)


@no_deadline
@given(pair=labelings())
def test_rand_index_counts_agreeing_pairs(pair):
    rows = list(zip(*pair, strict=True))
    agree = [(a[0] == b[0]) == (a[1] == b[1]) for a, b in combinations(rows, 2)]
    assert_allclose(rand_index(*pair), np.mean(agree) if agree else 1.0, atol=1e-12)


def entropy(labels):
    return -sum(count / len(labels) * log(count / len(labels)) for count in Counter(labels).values())


@no_deadline
@given(pair=labelings())
def test_normalized_mutual_info_is_the_definition(pair):
    y_true, y_pred = pair
    h_true, h_pred = entropy(y_true), entropy(y_pred)
    mutual = h_true + h_pred - entropy(list(zip(y_true, y_pred, strict=True)))
    if h_true == h_pred == 0:
        expected = 1.0
    elif h_true == 0 or h_pred == 0:
        expected = 0.0
    else:
        expected = mutual / sqrt(h_true * h_pred)
    assert_allclose(normalized_mutual_info(y_true, y_pred), expected, atol=1e-9)


@pytest.mark.parametrize("metric", METRICS)
@no_deadline
@given(pair=labelings(), names=st.permutations(["w", "x", "y", "z"]), order=st.randoms(use_true_random=False))
def test_names_of_labels_and_order_of_rows_do_not_matter(metric, pair, names, order):
    rows = [(ord(c), names[j + 1]) for c, j in zip(*pair, strict=True)]
    order.shuffle(rows)
    assert_allclose(metric(*zip(*rows, strict=True)), metric(*pair), atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@no_deadline
@given(pair=labelings())
def test_every_value_is_a_fraction(metric, pair):
    value = metric(*pair)
    assert type(value) is float
    assert 0.0 <= value <= 1.0


@no_deadline
@given(pair=labelings())
def test_equal_partitions_are_perfect(pair):
    y = pair[0]
    assert clustering_accuracy(y, y) == rand_index(y, y) == 1.0
    assert_allclose(normalized_mutual_info(y, y), 1.0)
    assert clustering_error(y, y) == balanced_clustering_error(y, y) == 0.0


def test_more_clusters_than_classes():
    y_true, y_pred = [0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2]
    assert clustering_accuracy(y_true, y_pred) == pytest.approx(4 / 6)
    assert clustering_accuracy(y_true, y_pred, mapping="majority") == 1.0
    assert balanced_clustering_error(y_true, y_pred) == 0.25
    assert balanced_clustering_error(y_true, y_pred, mapping="majority") == 0.0


def test_fewer_clusters_than_classes():
    y_true, y_pred = [0, 0, 1, 1, 1, 2], [0, 0, 0, 0, 0, 0]
    for mapping in MAPPINGS:
        assert clustering_accuracy(y_true, y_pred, mapping=mapping) == 0.5
        assert balanced_clustering_error(y_true, y_pred, mapping=mapping) == pytest.approx(2 / 3)


def test_balanced_error_chooses_its_own_mapping():
    """Class 0 has 4 and 6 of its 10 rows in the clusters, class 1 has 0 and 1.

    Plain accuracy gives cluster 1 to class 0 (6 rows right), balanced error gives it to class 1: the
    shares (0.4 + 1) beat (0.6 + 0).
    """
    y_true = [0] * 10 + [1]
    y_pred = [0] * 4 + [1] * 6 + [1]
    assert clustering_accuracy(y_true, y_pred) == pytest.approx(6 / 11)
    assert balanced_clustering_error(y_true, y_pred) == pytest.approx(1 - 1.4 / 2)


@pytest.mark.parametrize("n_rows", [200_000, pytest.param(10_000_000, marks=pytest.mark.slow)])
def test_rand_index_does_not_overflow(n_rows):
    """The numbers of pairs, 2e10 and 5e13, are beyond 32 bits; two equal halves against one cluster: about 1/2."""
    halves = np.repeat(np.array([0, 1], dtype=np.int8), n_rows // 2)
    expected = (n_rows / 2 - 1) / (n_rows - 1)
    assert_allclose(rand_index(halves, np.zeros(n_rows, dtype=np.int8)), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1, -1, -1], dtype=np.int8),
        np.array(["p", "q", "q"]),
        np.array([None, "q", "q"], dtype=object),
        np.array([True, False, False]),
        np.array([0.5, 1.5, 1.5]),
        ("p", "q", "q"),
    ],
    ids=lambda labels: str(getattr(labels, "dtype", "tuple")),
)
@pytest.mark.parametrize("metric", METRICS)
def test_labels_of_any_type(metric, labels):
    assert metric(labels, [7, 3, 3]) == metric([0, 1, 1], [0, 1, 1])


@pytest.mark.parametrize("metric", METRICS)
class TestRefusals:
    def test_different_lengths(self, metric):
        with pytest.raises(InvalidDataError, match="y_true has 3 labels and y_pred has 2.*same order"):
            metric([0, 1, 1], [0, 1])

    def test_empty(self, metric):
        with pytest.raises(InvalidDataError, match="y_true is empty.*at least one row"):
            metric([], [])

    def test_two_dimensional(self, metric):
        with pytest.raises(InvalidDataError, match=r"y_pred has shape \(2, 1\).*\(n_samples,\)"):
            metric([0, 1], [[0], [1]])

    def test_scalar(self, metric):
        with pytest.raises(InvalidDataError, match=r"y_true has shape \(\)"):
            metric(0, [0])

    @pytest.mark.parametrize("dtype", [float, object])
    def test_nan(self, metric, dtype):
        with pytest.raises(InvalidDataError, match="y_true contains NaN.*-1"):
            metric(np.array([0.0, np.nan], dtype=dtype), [0, 1])


@pytest.mark.parametrize("metric", MAPPED)
def test_unknown_mapping(metric):
    with pytest.raises(ValueError, match="mapping='greedy' is unknown.*'hungarian'.*'majority'"):
        metric([0, 1], [0, 1], mapping="greedy")
