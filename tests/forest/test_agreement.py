"""Agreement of members: average linkage against scipy's on the rows themselves, and what must not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

from widegap.forest import _agreement
from widegap.forest._agreement import agree, average_linkage, row_agreement


def noisy_members(seed, n=60, k=3, n_members=7, noise=0.15):
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n) % k)
    members = np.repeat(truth[:, None], n_members, axis=1)
    wrong = rng.random(members.shape) < noise
    members[wrong] = rng.integers(0, k, wrong.sum())
    return truth, members.astype(np.int32)


@pytest.mark.parametrize("seed", range(8))
def test_average_linkage_of_weighted_items_is_scipys_on_repeated_ones(seed):
    rng = np.random.default_rng(seed)
    u = 9
    S = rng.random((u, u))
    S = (S + S.T) / 2
    np.fill_diagonal(S, 1)
    weights = rng.integers(1, 4, u)
    tree = average_linkage(S, weights)
    item = np.repeat(np.arange(u), weights)
    D = 1 - S[np.ix_(item, item)]
    D[item[:, None] == item[None, :]] = 0
    Z = hierarchy.linkage(squareform(D, checks=False), "average")
    for k in range(1, u + 1):
        expected = hierarchy.fcluster(Z, k, "maxclust")
        assert adjusted_rand_score(expected, tree.cut(k)[item]) == 1
    np.testing.assert_allclose(tree.margins, Z[len(item) - u :, 2], atol=1e-9)
    assert tree.sizes[-1] == weights.sum()
    assert hierarchy.is_valid_linkage(tree.to_linkage())


def test_members_that_agree_are_returned_unchanged():
    truth, members = noisy_members(0, noise=0)
    found = agree(members)
    assert adjusted_rand_score(truth, found.cut(3)) == 1
    assert (row_agreement(members, found.cut(3), 3) == 1).all()


@pytest.mark.parametrize("seed", range(10))
def test_agreement_is_better_than_its_members(seed):
    truth, members = noisy_members(seed, n=200, n_members=13, noise=0.25)
    alone = np.mean([adjusted_rand_score(truth, member) for member in members.T])
    assert adjusted_rand_score(truth, agree(members).cut(3)) > alone + 0.2


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_names_and_order_of_rows_do_not_matter(seed):
    truth, members = noisy_members(seed, n=150, n_members=11, noise=0.1)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(truth))
    renamed = np.column_stack([rng.permutation(3)[member] for member in members[order].T]).astype(np.int32)
    first, second = agree(members).cut(3), np.empty(len(truth), np.int32)
    second[order] = agree(renamed).cut(3)
    assert adjusted_rand_score(first, second) == 1
    np.testing.assert_allclose(row_agreement(members, first, 3), row_agreement(members, second, 3))


def test_no_more_clusters_than_items():
    members = np.repeat(np.array([[0], [1]], np.int32), 10, axis=0)
    assert set(agree(members).cut(5)) == {0, 1}


def test_row_agreement_by_its_definition():
    _, members = noisy_members(4, n=40)
    labels = agree(members).cut(3)
    together = np.mean(members[:, None, :] == members[None, :, :], axis=2)
    expected = [together[i, labels == labels[i]].mean() for i in range(len(labels))]
    np.testing.assert_allclose(row_agreement(members, labels, 3), expected)


def test_rare_items_join_the_frequent_ones(monkeypatch):
    truth, members = noisy_members(1, n=300, n_members=9, noise=0.1)
    whole = agree(members).cut(3)
    monkeypatch.setattr(_agreement, "MOST_ITEMS", 30)
    few = agree(members)
    assert len(few.tree.leaf_sizes) == 30 and few.tree.leaf_sizes.sum() == 300
    assert adjusted_rand_score(whole, few.cut(3)) > 0.9


def test_many_items_share_what_few_would():
    _, members = noisy_members(2, n=260, n_members=13, noise=0.4)
    assert len(agree(members).tree.leaf_sizes) >= 200  # from there on members are compared one after the other
    expected = np.mean(members[:, None, :] == members[None, :, :], axis=2)
    np.testing.assert_allclose(_agreement._together(members), expected, atol=1e-6)


@pytest.mark.parametrize(("n_members", "k"), [(3, 2), (12, 10), (40, 30)])  # the last do not fit into one number
def test_distinct_rows_are_those_of_numpy(n_members, k):
    rng = np.random.default_rng(0)
    members = rng.integers(0, k, (50, n_members)).astype(np.int32)[rng.integers(0, 50, 200)]
    items, item_of_row, weights = _agreement._distinct_rows(members)
    expected = np.unique(members, axis=0, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(items, expected[0])
    np.testing.assert_array_equal(item_of_row, expected[1].ravel())
    np.testing.assert_array_equal(weights, expected[2])


def test_rare_items_go_to_the_frequent_one_by_hand(monkeypatch):
    """Of five kinds of rows the two rarest join the first kind with which most members keep them."""
    monkeypatch.setattr(_agreement, "MOST_ITEMS", 3)
    kinds = np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2], [1, 1, 0], [2, 3, 0]], np.int32)
    rows = np.repeat([0, 1, 2, 3, 4], [9, 8, 7, 2, 1])
    found = agree(kinds[rows])
    np.testing.assert_array_equal(found.item_of_row, np.array([0, 1, 2, 1, 0])[rows])
    np.testing.assert_array_equal(found.tree.leaf_sizes, [10, 10, 7])
    monkeypatch.setattr(_agreement, "MOST_ITEMS", 5)
    assert len(agree(kinds[rows]).tree.leaf_sizes) == 5


def test_nearest_items_of_many():
    rng = np.random.default_rng(0)
    rare, frequent = rng.integers(0, 4, (600, 9)).astype(np.int32), rng.integers(0, 4, (30, 9)).astype(np.int32)
    expected = (rare[:, None, :] == frequent[None]).sum(axis=2).argmax(axis=1)
    np.testing.assert_array_equal(_agreement._nearest_items(rare, frequent), expected)


@pytest.mark.parametrize("seed", range(6))
def test_merges_of_equal_height_come_in_the_order_of_the_rows_they_touch(seed):
    """Against the nearest pair of all, merged step by step, without ties."""
    rng = np.random.default_rng(seed)
    S, sizes = rng.random((8, 8)), rng.integers(1, 9, 8)
    S = S + S.T
    tree = average_linkage(S / 2, sizes)
    groups, heights = [[i] for i in range(8)], []
    while len(groups) > 1:
        means = {
            (a, b): np.average([S[i, j] / 2 for i in groups[a] for j in groups[b]],
                               weights=[sizes[i] * sizes[j] for i in groups[a] for j in groups[b]])
            for a in range(len(groups)) for b in range(a + 1, len(groups))
        }  # fmt: skip
        a, b = max(means, key=means.get)
        heights.append(1 - means[a, b])
        groups = [*(g for i, g in enumerate(groups) if i not in (a, b)), groups[a] + groups[b]]
    np.testing.assert_allclose(tree.margins, np.round(heights, 12), atol=1e-11)
    tied = average_linkage(
        np.array([[1, 0.5, 0, 0], [0.5, 1, 0, 0], [0, 0, 1, 0.5], [0, 0, 0.5, 1]]), np.array([5, 4, 2, 1])
    )
    np.testing.assert_array_equal(tied.merges, [[2, 3], [0, 1], [4, 5]])
    np.testing.assert_array_equal(tied.sizes, [3, 9, 12])
    np.testing.assert_allclose(tied.margins, [0.5, 0.5, 1])


@pytest.mark.parametrize(
    ("values", "former", "nearest"),
    [
        ([-np.inf, 0.2, 0.7, 0.7], -1, 2),
        ([0.7, 0.2, -np.inf, 0.7], 3, 3),
        ([0.7, 0.9, -np.inf, 0.7], 3, 1),
        ([0.7, 0.7 + 1e-15, -np.inf, 0.1], -1, 0),
        ([0.5, 0.6, 0.7, -np.inf], 0, 2),
        ([0.5, -np.inf, 0.4], 0, 0),
    ],
)
def test_the_nearest_item_is_the_former_or_the_first_of_the_largest(values, former, nearest):
    assert _agreement._nearest_item(np.array(values), former) == nearest


def test_a_cut_has_no_more_clusters_than_items_and_no_fewer_than_asked():
    members = np.array([[0], [1], [2], [2]], np.int32)
    assert [len(np.unique(agree(members).cut(k))) for k in (1, 2, 3, 4)] == [1, 2, 3, 3]
