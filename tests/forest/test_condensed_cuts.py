"""Cuts in which small parts are no clusters: against the definition, and what they are for."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from widegap import MaxMarginClustering
from widegap.forest._condensed_cuts import PIECE_SHARE, WIDE_SPACING, condensed_cut, rows_needed
from widegap.forest._linkage import tree_of
from widegap.forest._small_clusters import TINY_CLUSTER
from widegap.metrics import clustering_accuracy


def random_tree(seed, m=12):
    """A tree over a few groups of very different sizes."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(m, 2, replace=False) for _ in range(20 * m)])
    sizes = np.maximum(1, (40 * rng.random(m) ** 3).astype(np.int64))
    tree = tree_of(pairs, rng.random(len(pairs)), sizes)
    return tree if len(tree.merges) == m - 1 else random_tree(seed + 10_000, m)


def by_definition(tree, k, needed):
    """Sets of first groups: merges are undone from the last, and count where the smaller side has enough rows."""
    m = len(tree.leaf_sizes)
    inside = [{leaf} for leaf in range(m)]
    for a, b in tree.merges:
        inside.append(inside[a] | inside[b])
    rows = [sum(tree.leaf_sizes[leaf] for leaf in leaves) for leaves in inside]
    clusters = [set(inside[-1])]
    for a, b in tree.merges[::-1]:
        small = min((rows[b], 0, b), (rows[a], 1, a))[2]
        if len(clusters) < k and rows[small] >= needed[small]:
            owner = next(cluster for cluster in clusters if inside[small] <= cluster)
            owner -= inside[small]
            clusters.append(set(inside[small]))
    return clusters if len(clusters) == k else by_definition(tree, k, needed / 2)


def sets_of(labels):
    return {frozenset(np.flatnonzero(labels == p)) for p in range(labels.max() + 1)}


@given(seed=st.integers(0, 1000), k=st.integers(1, 12), most=st.floats(0, 60))
@settings(max_examples=60, deadline=None)
def test_the_cut_is_that_of_the_definition(seed, k, most):
    tree = random_tree(seed)
    needed = most * np.random.default_rng(seed).random(2 * len(tree.leaf_sizes) - 1)
    assert sets_of(condensed_cut(tree, k, needed)) == set(map(frozenset, by_definition(tree, k, needed)))


@given(seed=st.integers(0, 1000), k=st.integers(1, 12))
@settings(max_examples=30, deadline=None)
def test_where_nothing_is_needed_it_is_the_cut_of_the_tree(seed, k):
    tree = random_tree(seed)
    assert sets_of(condensed_cut(tree, k, np.zeros(2 * len(tree.leaf_sizes) - 1))) == sets_of(tree.cut(k))


@given(seed=st.integers(0, 1000), k=st.integers(1, 12), least=st.floats(0, 60))
@settings(max_examples=60, deadline=None)
def test_clusters_have_the_rows_that_all_need_where_the_tree_has_such_parts(seed, k, least):
    tree = random_tree(seed)
    rows = np.concatenate([tree.leaf_sizes, tree.sizes])
    sizes = np.bincount(condensed_cut(tree, k, np.full(len(rows), least)), tree.leaf_sizes)
    assert len(sizes) == k
    if (rows[tree.merges].min(axis=1) >= least).sum() >= k - 1:
        assert (sizes >= min(least, rows[-1])).all()


@given(seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_parts_of_close_rows_need_more_of_them(seed):
    tree, rng, k = random_tree(seed), np.random.default_rng(seed), 3
    groups = np.repeat(np.arange(len(tree.leaf_sizes)), tree.leaf_sizes).astype(np.int32)
    spacing = rng.random(len(groups))
    inside = [{leaf} for leaf in range(len(tree.leaf_sizes))]
    for a, b in tree.merges:
        inside.append(inside[a] | inside[b])
    for needed, leaves in zip(rows_needed(tree, groups, spacing, k)[:-1], inside, strict=False):
        wide = spacing[np.isin(groups, list(leaves))].mean() >= WIDE_SPACING
        assert needed == pytest.approx((TINY_CLUSTER if wide else PIECE_SHARE) * len(groups) / k)


def documents(copies=30, seed=0):
    """Two subjects of 300 documents that share words, and copies of two documents with other words."""
    rng = np.random.default_rng(seed)
    subjects = [np.r_[np.full(60, 3.0), np.full(60, 1.0)], np.r_[np.full(60, 1.0), np.full(60, 3.0)]]
    X = np.vstack([rng.poisson(weights / 10, (300, 120)) for weights in subjects])
    alone = np.zeros((2 * copies, 40))
    alone[:copies, :20], alone[copies:, 20:] = 1, 1
    alone += rng.random(alone.shape) < 0.02
    return sp.csr_array(sp.block_diag([X, alone])).astype(np.float64), np.repeat([0, 1], 300)


def test_copies_of_a_document_do_not_take_the_place_of_a_subject():
    X, y = documents()
    model = MaxMarginClustering(2, random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_[:600]) > 0.9
    np.testing.assert_array_equal(model.cut(2), model.labels_)
    np.testing.assert_array_equal(model.with_clusters(3).labels_, model.cut(3))


def test_a_rare_subject_is_found():
    X, y = documents()
    rows = np.r_[0:300, 300:330]
    model = MaxMarginClustering(2, random_state=0).fit(X[rows])
    assert clustering_accuracy(y[rows], model.labels_) > 0.9


def test_a_search_that_was_stopped_after_one_member_is_cut_in_the_same_way():
    rng = np.random.default_rng(0)
    topics = [(rng.random((120, 60)) < np.where(np.arange(60) // 15 == topic, 0.3, 0.02)) for topic in range(4)]
    copies = [np.tile(rng.random(60) < 0.2, (6, 1)) for _ in range(6)]
    X = sp.csr_array(np.vstack([*topics, *copies]).astype(np.float64))
    model = MaxMarginClustering(4, random_state=0, callback=lambda record: True).fit(X)
    assert len(model.history_) == 1
    assert np.bincount(model.labels_).min() > 100
    assert model.objective_ == pytest.approx(model.history_[0].objective)
