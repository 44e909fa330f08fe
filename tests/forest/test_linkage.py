"""Merging groups: every rule's bookkeeping against its definition on the rows, and what must not matter."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from sklearn.linear_model import Ridge

from widegap.forest._confusion import CONFUSION_RIDGE, confusion_of_groups
from widegap.forest._linkage import (
    NO_CAP,
    AverageLinkage,
    DegreeLinkage,
    MergeTree,
    _join_sizes,
    cut_conductance,
    merge_all,
)


def random_graph(seed, n=24, m=6):
    """A directed graph of a few rows, the rows' groups, and the tables I and O of the degree product."""
    rng = np.random.default_rng(seed)
    W = np.where(rng.random((n, n)) < 0.4, rng.random((n, n)), 0.0)
    np.fill_diagonal(W, 0)
    labels = rng.permutation(np.arange(n) % m).astype(np.int32)
    Y = np.eye(m)[labels]
    return W, labels, Y.T @ W, Y.T @ W.T


def principal_coordinates(X):
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return U * s


def sums_between(W, labels, m):
    Y = np.eye(m)[labels]
    E = Y.T @ W @ Y
    return E + E.T


def average_by_definition(W, a, b):
    return (W[np.ix_(a, b)].sum() + W[np.ix_(b, a)].sum()) / (len(a) * len(b))


def degree_by_definition(W, a, b):
    """Both directions of the product of in- and out-weights, row by row."""

    def towards(a, b):
        return sum(W[a, i].sum() * W[i, a].sum() for i in b) / len(a) ** 2

    return towards(a, b) + towards(b, a)


@pytest.mark.parametrize("kind", ["average", "degree"])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_similarities_of_the_first_groups_equal_the_definition(kind, seed):
    W, labels, into, out = random_graph(seed)
    m = 6
    sizes, groups = np.bincount(labels, minlength=m), [np.flatnonzero(labels == p) for p in range(m)]
    if kind == "average":
        rule, define = AverageLinkage(sums_between(W, labels, m), sizes), average_by_definition
    else:
        rule, define = DegreeLinkage(into, out, labels, sizes), degree_by_definition
    for a, b in combinations(range(m), 2):
        found = rule.similarity()[[a, b], [b, a]]
        assert found == pytest.approx(np.full(2, define(W, groups[a], groups[b])), rel=1e-9, abs=1e-12)


def greedy_by_definition(W, groups, define, k):
    """Merge by brute force on the rows until k groups are left; the sets of rows."""
    groups = [list(group) for group in groups]
    while len(groups) > k:
        pairs = [
            (define(W, groups[a], groups[b]), -a, -b) for a in range(len(groups)) for b in range(a + 1, len(groups))
        ]
        _, a, b = max(pairs)
        groups[-a] += groups.pop(-b)
    return {frozenset(group) for group in groups}


@pytest.mark.parametrize(("kind", "define"), [("average", average_by_definition), ("degree", degree_by_definition)])
@pytest.mark.parametrize("seed", range(10))
def test_every_cut_equals_brute_force(kind, define, seed):
    m = 7
    W, labels, into, out = random_graph(seed, n=28, m=m)
    sizes, E = np.bincount(labels, minlength=m), sums_between(W, labels, m)
    rule = AverageLinkage(E, sizes) if kind == "average" else DegreeLinkage(into, out, labels, sizes)
    tree = merge_all(rule, E, np.zeros((m, m)), sizes)
    for k in range(1, m + 1):
        found = tree.cut(k)[labels]
        expected = greedy_by_definition(W, [np.flatnonzero(labels == p) for p in range(m)], define, k)
        assert {frozenset(np.flatnonzero(found == p)) for p in range(k)} == expected


def merges_by_definition(E, sizes, near):
    """All merges of an average linkage, each the best of all pairs that are left; a tie goes to the nearer means."""
    E, sizes, near = E.astype(float), sizes.astype(float), near * np.outer(sizes, sizes)
    n_groups, names, merges = len(sizes), list(range(len(sizes))), []
    while len(names) > 1:
        weights = np.outer(sizes, sizes)
        S = E / weights
        values = S / max(S.max(), np.finfo(float).tiny) + 1e-9 * near / weights
        values[np.tril_indices(len(names))] = -np.inf
        a, b = np.unravel_index(values.argmax(), values.shape)
        merges.append(sorted((names[a], names[b])))
        names[a] = n_groups + len(merges) - 1
        for table in (E, near):
            table[a] += table[b]
            table[:, a] += table[:, b]
        sizes[a] += sizes[b]
        E, near = (np.delete(np.delete(table, b, 0), b, 1) for table in (E, near))
        sizes = np.delete(sizes, b)
        del names[b]
    return merges


@pytest.mark.parametrize("share", [0.05, 0.5])  # of pairs that anything connects: few leave nearly all to ties
@pytest.mark.parametrize("seed", range(5))
def test_best_partners_are_kept_through_all_merges(seed, share):
    rng = np.random.default_rng(seed)
    m = 40
    E = np.where(rng.random((m, m)) < share, rng.integers(1, 4, (m, m)), 0)
    E, near, sizes = E + E.T, rng.random((m, m)), rng.integers(1, 9, m)
    near = (near + near.T) / 2
    tree = merge_all(AverageLinkage(E, sizes), E, near, sizes)
    assert tree.merges.tolist() == merges_by_definition(E, sizes, near)


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_names_and_order_of_rows_do_not_matter(seed):
    m = 6
    W, labels, into, out = random_graph(seed)
    rng = np.random.default_rng(seed)
    order, names = rng.permutation(len(labels)), rng.permutation(m)
    other = names[labels[order]].astype(np.int32)
    back = np.argsort(order)

    def tree(W, labels):
        Y, sizes = np.eye(m)[labels], np.bincount(labels, minlength=m)
        E = sums_between(W, labels, m)
        return merge_all(DegreeLinkage(Y.T @ W, Y.T @ W.T, labels, sizes), E, np.zeros((m, m)), sizes)

    first, second = tree(W, labels), tree(W[np.ix_(order, order)], other)
    for k in range(1, m + 1):
        assert same_partition(first.cut(k)[labels], second.cut(k)[other][back])
    np.testing.assert_allclose(first.margins, second.margins, rtol=1e-9)


def test_cuts_are_nested_and_numbered_by_size():
    m = 8
    W, labels, _, _ = random_graph(3, n=40, m=m)
    sizes, E = np.bincount(labels, minlength=m), sums_between(W, labels, m)
    tree = merge_all(AverageLinkage(E, sizes), E, np.zeros((m, m)), sizes)
    for k in range(1, m):
        coarse, fine = tree.cut(k), tree.cut(k + 1)
        assert len(set(coarse)) == k
        assert all(len(set(coarse[fine == p])) == 1 for p in range(k + 1))
        counts = np.bincount(coarse, sizes, k)
        assert (np.diff(counts) <= 0).all()


def test_scipy_draws_the_tree():
    m = 8
    W, labels, _, _ = random_graph(5, n=40, m=m)
    sizes, E = np.bincount(labels, minlength=m), sums_between(W, labels, m)
    linkage = merge_all(AverageLinkage(E, sizes), E, np.zeros((m, m)), sizes).to_linkage()
    assert hierarchy.is_valid_linkage(linkage) and hierarchy.is_monotonic(linkage)
    drawn = hierarchy.dendrogram(linkage, no_plot=True)
    assert sorted(drawn["leaves"]) == list(range(m))
    assert linkage[-1, 3] == m


def test_one_group_has_a_trivial_tree():
    tree = MergeTree(np.zeros((0, 2), np.int64), np.zeros(0), np.zeros(0, np.int64), np.array([5]))
    assert tree.cut(1).tolist() == [0]
    assert tree.to_linkage().shape == (0, 4)


def test_unconnected_groups_join_by_the_second_criterion():
    sizes = np.array([4, 4, 4])
    near = np.array([[1.0, 0.1, 0.2], [0.1, 1.0, 0.9], [0.2, 0.9, 1.0]])
    tree = merge_all(AverageLinkage(np.zeros((3, 3)), sizes), np.zeros((3, 3)), near, sizes)
    assert tree.merges[0].tolist() == [1, 2]
    assert (tree.margins == 1).all()  # nothing crosses any of the cuts


def test_conductance_of_a_cut():
    weights = np.array([[6.0, 2.0], [2.0, 10.0]])
    assert cut_conductance(weights, 0, 1) == pytest.approx(2 / 8)
    assert cut_conductance(np.zeros((2, 2)), 0, 1) == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_claims_are_leave_one_out_scores(dtype):
    """Against ridge classifiers that are fitted anew without each row."""
    rng = np.random.default_rng(0)
    n, r, m = 30, 4, 3
    P = principal_coordinates(rng.standard_normal((n, r)))
    labels = (np.arange(n) % m).astype(np.int32)
    Y = np.eye(m)[labels]
    rho = CONFUSION_RIDGE * np.trace(P.T @ P) / r
    expected = np.zeros((m, m))
    for i in range(n):
        # The definition: the fit on all rows with this row's residual divided by 1 - h.
        fit = Ridge(alpha=rho).fit(P, Y)
        H = P @ np.linalg.solve(P.T @ P + rho * np.eye(r), P.T) + 1 / n
        score = (fit.predict(P[i : i + 1])[0] - H[i, i] * Y[i]) / (1 - H[i, i])
        expected[labels[i]] += np.where(score < 1 / m, 0, score)
    np.testing.assert_allclose(
        confusion_of_groups(P.astype(dtype), labels, m), expected, rtol=1e-3 if dtype == np.float32 else 1e-9
    )


def test_leave_one_out_formula_is_a_refit_without_the_row():
    """1 - h is exact for a ridge whose penalty and centring stay as they were: uncentred rows show it."""
    rng = np.random.default_rng(1)
    P, y, rho = rng.standard_normal((12, 3)), rng.standard_normal(12), 0.7
    H = P @ np.linalg.solve(P.T @ P + rho * np.eye(3), P.T)
    for i in range(12):
        rest = np.arange(12) != i
        w = np.linalg.solve(P[rest].T @ P[rest] + rho * np.eye(3), P[rest].T @ y[rest])
        assert P[i] @ w == pytest.approx(((H @ y)[i] - H[i, i] * y[i]) / (1 - H[i, i]))


def test_margin_keeps_far_groups_apart():
    """Two pairs of touching blobs: the classifier joins each pair before it joins the pairs."""
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [1.5, 0], [12, 0], [13.5, 0]])
    labels = np.repeat(np.arange(4), 50).astype(np.int32)
    P = centres[labels] + rng.standard_normal((200, 2))
    Z = confusion_of_groups(principal_coordinates(P), labels, 4)
    sizes = np.full(4, 50)
    tree = merge_all(AverageLinkage(Z + Z.T, sizes), Z + Z.T, np.zeros((4, 4)), sizes)
    assert same_partition(tree.cut(2), [0, 0, 1, 1])


def small_tree(seed=0, m=6):
    W, labels, _, _ = random_graph(seed)
    E, sizes = sums_between(W, labels, m), np.bincount(labels, minlength=m)
    return E, merge_all(AverageLinkage(E.copy(), sizes), E.copy(), np.zeros((m, m)), sizes)


def test_the_first_margin_is_one_minus_the_conductance_of_its_cut():
    E, tree = small_tree()
    a, b = tree.merges[0]
    assert tree.margins[0] == pytest.approx(1 - cut_conductance(E, a, b))
    assert 0 < tree.margins[0] < 1


def test_two_clusters_can_be_joined_first():
    _, tree = small_tree()
    before = tree.cut(4)
    for a, b in [(0, 1), (1, 3), (2, 3)]:
        after = tree.joined_first(4, a, b).cut(3)
        assert same_partition(after, np.where(before == b, a, before))


def gini(sizes):
    """The Gini index by the textbook: from sorted sizes, relative to that of one cluster with all rows."""
    m = len(sizes)
    return sum((2 * i - m - 1) * size for i, size in enumerate(sorted(sizes), 1)) / ((m - 1) * sum(sizes))


def capped_by_definition(W, groups, define, cap):
    """All merges by brute force on the rows; every step the sets of rows, and whether a smallest had to take part."""
    groups, steps = [list(group) for group in groups], []
    while len(groups) > 1:
        sizes = [len(group) for group in groups]
        capped = gini(sizes) > cap
        pairs = [
            (define(W, groups[a], groups[b]), -a, -b)
            for a in range(len(groups))
            for b in range(a + 1, len(groups))
            if not capped or min(sizes) in (sizes[a], sizes[b])
        ]
        _, a, b = max(pairs)
        groups[-a] += groups.pop(-b)
        steps.append(({frozenset(group) for group in groups}, capped))
    return steps


def unequal_graph(seed, n=30, m=9):
    """A random graph whose groups have sizes from one to many."""
    W, _, _, _ = random_graph(seed, n, m)
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(m), np.minimum(rng.geometric(0.4, n - m) - 1, m - 1)])
    return W, rng.permutation(labels).astype(np.int32)


def capped_tree(W, labels, m, kind, cap):
    Y, sizes, E = np.eye(m)[labels], np.bincount(labels, minlength=m), sums_between(W, labels, m)
    rule = AverageLinkage(E, sizes) if kind == "average" else DegreeLinkage(Y.T @ W, Y.T @ W.T, labels, sizes)
    return merge_all(rule, E, np.zeros((m, m)), sizes, cap)


@pytest.mark.parametrize(("kind", "define"), [("average", average_by_definition), ("degree", degree_by_definition)])
@pytest.mark.parametrize("cap", [0.0, 0.3, 0.6])
def test_merging_under_a_cap_equals_brute_force(kind, define, cap):
    m, times_capped, times_free = 9, 0, 0
    for seed in range(6):
        W, labels = unequal_graph(seed)
        tree = capped_tree(W, labels, m, kind, cap)
        steps = capped_by_definition(W, [np.flatnonzero(labels == p) for p in range(m)], define, cap)
        for k, (expected, capped) in zip(range(m - 1, 0, -1), steps, strict=True):
            found = tree.cut(k)[labels]
            assert {frozenset(np.flatnonzero(found == p)) for p in range(k)} == expected
            times_capped, times_free = times_capped + capped, times_free + (not capped)
    assert times_capped > 0  # else nothing was tested
    assert times_free > 0 or cap == 0


@pytest.mark.parametrize("kind", ["average", "degree"])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_a_cap_of_one_leaves_merging_free(kind, seed):
    W, labels = unequal_graph(seed)
    free, capped = (capped_tree(W, labels, 9, kind, cap) for cap in (np.inf, NO_CAP))
    np.testing.assert_array_equal(free.merges, capped.merges)
    np.testing.assert_array_equal(free.margins, capped.margins)


@given(seed=st.integers(0, 10_000), cap=st.sampled_from([0.0, 0.1, 0.3, 0.5]))
@settings(max_examples=30, deadline=None)
def test_while_sizes_are_too_unequal_a_smallest_cluster_takes_part(seed, cap):
    W, labels = unequal_graph(seed)
    tree = capped_tree(W, labels, 9, "average", cap)
    sizes = dict(enumerate(tree.leaf_sizes.tolist()))
    for step, (a, b) in enumerate(tree.merges):
        if len(sizes) > 1 and gini(sizes.values()) > cap:
            assert min(sizes[a], sizes[b]) == min(sizes.values())
        sizes[9 + step] = sizes.pop(a) + sizes.pop(b)
        assert sizes[9 + step] == tree.sizes[step]


@given(seed=st.integers(0, 10_000), m=st.integers(2, 12))
@settings(max_examples=40, deadline=None)
def test_the_inequality_of_sizes_is_followed_exactly(seed, m):
    """Over merges of any pairs, not only of those that a rule would choose."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 10 ** rng.integers(1, 5), m)
    differences = sum(abs(x - y) for x, y in combinations(sizes.tolist(), 2))
    found, followed = sizes.astype(float), float(differences)
    left = {a: int(size) for a, size in enumerate(sizes)}
    for step in range(m - 1):
        assert followed / ((m - step - 1) * sizes.sum()) == pytest.approx(gini(left.values()), rel=1e-15, abs=0)
        a, b = sorted(rng.choice(list(left), 2, replace=False))
        followed += _join_sizes(found, int(a), int(b))
        left[a] += left.pop(b)
        assert followed == sum(abs(x - y) for x, y in combinations(left.values(), 2))
    assert followed == 0 and found[found > 0].tolist() == [sizes.sum()]


@pytest.mark.parametrize("kind", ["average", "degree"])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_under_a_cap_names_and_order_of_rows_do_not_matter(kind, seed):
    m = 9
    W, labels = unequal_graph(seed)
    rng = np.random.default_rng(seed)
    order, names = rng.permutation(len(labels)), rng.permutation(m)
    other = names[labels[order]].astype(np.int32)
    first, second = capped_tree(W, labels, m, kind, 0.3), capped_tree(W[np.ix_(order, order)], other, m, kind, 0.3)
    for k in range(1, m + 1):
        assert same_partition(first.cut(k)[labels][order], second.cut(k)[other])
    np.testing.assert_allclose(first.margins, second.margins, rtol=1e-9)


def test_a_cap_keeps_a_corner_from_being_one_of_two_clusters():
    """A chain of groups, and a small one that little connects: merged freely it stays to the end."""
    m = 7
    E = np.diag(np.full(m, 60.0))
    for a in range(m - 2):
        E[a, a + 1] = E[a + 1, a] = 4.0 + abs(a - 2)  # the weakest link of the chain is its middle
    E[m - 1, m - 2] = E[m - 2, m - 1] = 0.05
    sizes = np.array([10] * (m - 1) + [3])
    free, even = (merge_all(AverageLinkage(E, sizes), E, np.zeros((m, m)), sizes, cap).cut(2) for cap in (NO_CAP, 0.3))
    assert sorted(np.bincount(free, sizes)) == [3, 60]
    assert min(np.bincount(even, sizes)) == 23  # the corner and the two groups next to it
