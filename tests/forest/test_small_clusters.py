"""When a small cluster gives way to a border between large ones: the rule on sums between clusters, and on rows."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from widegap import MaxMarginClustering, datasets
from widegap.forest._linkage import MergeTree, cut_conductance
from widegap.forest._small_clusters import (
    CLEAR_BORDER,
    CLEARER_TIMES,
    TIMES_LARGER,
    _split,
    border_to_drop,
    may_give_way,
)
from widegap.metrics import clustering_accuracy

SIZES = (100, 90, 20)  # clusters a and b, which were one, and the small cluster c


def sums(between_large=0.01, c_to_a=0.0, c_to_b=0.02):
    """Weights between three clusters; the shares are those of the smaller cluster's own weight."""
    E = np.diag(np.array(SIZES, dtype=float))
    for a, b, share in ((0, 1, between_large), (0, 2, c_to_a), (1, 2, c_to_b)):
        E[a, b] = E[b, a] = share * min(SIZES[a], SIZES[b])
    return E


def labels(sizes=SIZES):
    fine = np.repeat(np.arange(3), sizes)
    return np.where(fine == 2, 1, 0), fine


def test_the_small_cluster_joins_its_neighbour():
    assert border_to_drop(*labels(), sums()) == (2, 1)
    assert border_to_drop(*labels(), sums(c_to_a=0.05)) == (2, 0)


def test_a_border_that_is_not_clear_is_given_up_itself():
    E = sums(between_large=CLEAR_BORDER)
    assert cut_conductance(E, 0, 1) < CLEAR_BORDER and border_to_drop(*labels(), E) == (2, 1)
    assert border_to_drop(*labels(), sums(between_large=1.2 * CLEAR_BORDER)) is None


def test_a_small_cluster_that_is_much_more_clearly_apart_stays():
    E = sums()
    border, own = cut_conductance(E, 0, 1), cut_conductance(E, 2, 1)
    assert own > border / CLEARER_TIMES
    assert border_to_drop(*labels(), sums(c_to_b=0.02 * 0.9 * border / CLEARER_TIMES / own)) is None
    assert border_to_drop(*labels(), sums(c_to_b=0.0)) is None


@pytest.mark.parametrize("n_few", [20, 40])
def test_a_far_group_of_few_rows_is_a_cluster(n_few):
    for seed in range(3):
        X, y = make_blobs([400, n_few], centers=[[0, 0], [8, 0]], random_state=seed)
        # One row of the large group was seen with the small one.
        assert clustering_accuracy(y, MaxMarginClustering(2, random_state=0).fit_predict(X)) > 0.99


@pytest.mark.parametrize(
    ("small", "gives_way"), [(90 // TIMES_LARGER, True), (90 // TIMES_LARGER + 1, False), (5, True), (4, False)]
)
def test_clusters_that_are_not_small_stay_and_tiny_ones_too(small, gives_way):
    """Of about 200 rows in two clusters fewer than five are tiny."""
    found = border_to_drop(*labels((100, 90, small)), sums())
    assert found == ((2, 1) if gives_way else None)


def test_it_must_be_known_which_border_is_new():
    _, fine = labels()
    crossed = np.arange(len(fine)) % 2  # half of every cluster
    assert border_to_drop(crossed, fine, sums()) is None


def test_most_clusters_are_not_looked_at_again():
    assert may_give_way(np.array([190, 20])) and not may_give_way(np.array([120, 90]))
    assert not may_give_way(np.array([200, 3]))
    assert not may_give_way(np.array([5, 0]))


def test_names_do_not_matter():
    coarse, fine = labels()
    names = np.array([2, 0, 1])
    E = np.zeros((3, 3))
    E[np.ix_(names, names)] = sums()
    assert border_to_drop(1 - coarse, names[fine], E) == (names[2], names[1])


def test_a_tree_joins_two_of_its_clusters_first():
    merges = np.array([[0, 1], [2, 3], [4, 5], [6, 7]])
    tree = MergeTree(merges, np.array([0.1, 0.2, 0.5, 0.9]), np.array([4, 4, 5, 9]), np.array([2, 2, 3, 1, 1]))
    clusters = tree.cut(3)
    assert len({clusters[0], clusters[2], clusters[4]}) == 3
    other = tree.joined_first(3, clusters[0], clusters[4])
    assert len(other.merges) == 4 and other.sizes[-1] == 9
    np.testing.assert_array_equal(other.cut(3), clusters)
    two = other.cut(2)
    assert two[0] == two[1] == two[4] != two[2] == two[3]
    np.testing.assert_array_equal(np.diff(other.margins) >= 0, True)


@pytest.mark.parametrize("other", [3, 5, 7])
def test_digits_of_which_a_part_stands_apart(other):
    """27 ones stand apart; the default told them from all other rows once, an error of 43 %."""
    data = datasets.load_digits()
    chosen = np.isin(data.target, [1, other])
    model = MaxMarginClustering(2, random_state=0).fit(data.data[chosen])
    assert clustering_accuracy(data.target[chosen], model.labels_) >= 0.99
    assert model.agreement_.mean() > 0.9
    items = np.unique(model.labels_, return_counts=True)[1]
    assert sorted(np.bincount(model.tree_.cut(2), model.tree_.leaf_sizes)) == sorted(items)


def test_the_two_of_many_that_were_one():
    fine = np.repeat(np.arange(4), (50, 40, 30, 20))
    assert _split(np.minimum(fine, 2), fine, 4) == (2, 3)
    assert _split(np.array([0, 1, 2, 2])[3 - fine], fine, 4) == (0, 1)
    assert _split(np.where(fine < 2, 0, 1), fine, 4) is None  # two borders more, not one
