"""Which splits are real: the words, the excess of merges by brute force, and where they are kept."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from widegap import MaxMarginClustering, persistence
from widegap.features._neighbours import neighbour_graph
from widegap.forest import _search_result
from widegap.forest._linkage import MergeTree
from widegap.forest._number_search import cuts_of_merges, find_number, n_linked
from widegap.forest._split_words import share_real, split_words
from widegap.report import render, summarize
from widegap.results._dendrogram import judged_tree


def blobs(centres=4, n=400, seed=0):
    return make_blobs(n, centers=12 * np.eye(5)[:centres], random_state=seed)[0]


@pytest.mark.parametrize(
    ("excess", "word"),
    [(np.nan, ""), (-20.0, "as in a cloud"), (2.5, "as in a cloud"), (2.6, "likely"), (7.1, "likely"), (7.3, "clear")],
)
def test_words(excess, word):
    assert split_words(np.array([excess])) == [word]


def test_shares_rise_with_the_excess():
    shares = share_real(np.linspace(-30, 30, 200))
    assert (np.diff(shares) > 0).all() and 0 < shares[0] < 0.01 and 0.99 < shares[-1] < 1


def test_the_curve_by_hand():
    x = np.array([-3.0, 0, 1, 2.6, 7.2, 30, np.nan])
    expected = [1 / (1 + np.exp(3.68 - 2.2 * np.log(v + np.sqrt(v * v + 1)))) for v in x]
    np.testing.assert_allclose(share_real(x), expected)
    borders = np.sinh((3.68 + np.log([1.0, 9.0])) / 2.2)  # one half, and nine tenths
    words = split_words(np.concatenate([borders - 1e-9, borders + 1e-9]))
    assert words == ["as in a cloud", "likely", "likely", "clear"]


class TestCuts:
    def test_cuts_of_merges_by_brute_force(self):
        """The weights of a graph summed over the rows of both sides of every merge."""
        rng = np.random.default_rng(0)
        X, leaves = rng.standard_normal((120, 2)), rng.integers(0, 7, 120)
        graph = neighbour_graph(X, 10)
        pairs = np.array([[0, 3], [1, 2], [4, 7], [5, 8], [9, 10], [6, 11]])
        rows = [set(np.flatnonzero(leaves == leaf)) for leaf in range(7)]
        phi, smaller = cuts_of_merges(tree_of_pairs(pairs, np.bincount(leaves)), graph, leaves)
        W = graph.weights.toarray()
        W += W.T
        for step, (a, b) in enumerate(pairs):
            first, second = list(rows[a]), list(rows[b])
            across, inside = W[np.ix_(first, second)].sum(), [W[np.ix_(part, part)].sum() for part in (first, second)]
            assert phi[step] == pytest.approx(across / (min(inside) + across))
            assert smaller[step] == min(len(first), len(second))
            rows.append(rows[a] | rows[b])

    def test_rows_outside_of_the_sample_do_not_count(self):
        X = blobs()
        found = find_number(X, 30, np.random.default_rng(0))
        labels = np.repeat([0, 1, 2], [200, 195, 5])
        tree = tree_of_pairs(np.array([[1, 2], [0, 3]]), np.bincount(labels))
        judged = found.judged_tree(tree, labels, 2)
        assert np.isnan(judged.excess[0]) and np.isfinite(judged.excess[1])  # five rows are too few to tell
        assert judged.words()[0] == ""

    @pytest.mark.parametrize(("n", "linked"), [(100, 20), (2000, 20), (3000, 40), (4000, 60), (10**6, 60)])
    def test_the_graph_reaches_farther_the_more_rows(self, n, linked):
        assert n_linked(n) == linked


def tree_of_pairs(merges, leaf_sizes):
    sizes = list(leaf_sizes)
    for a, b in merges:
        sizes.append(sizes[a] + sizes[b])
    return MergeTree(merges, np.zeros(len(merges)), np.array(sizes[len(leaf_sizes) :]), leaf_sizes)


class TestTree:
    def test_auto_says_which_splits_are_real(self):
        model = MaxMarginClustering("auto", random_state=0).fit(blobs())
        assert model.n_clusters_ == 4
        assert model.tree_.words()[-3:] == ["clear"] * 3
        assert model.with_clusters(3).tree_.words()[-2:] == ["clear"] * 2  # another tree, judged alike

    def test_splits_of_a_cloud_are_not(self):
        X = np.random.default_rng(0).standard_normal((500, 3))
        model = MaxMarginClustering("auto", random_state=0).fit(X).with_clusters(4)
        words = [word for word in model.tree_.words()[-3:] if word]
        assert words and set(words) == {"as in a cloud"}

    @pytest.mark.parametrize("search", ["agree", "merge"])
    def test_with_a_given_number_they_are_found_on_demand_and_once(self, search, monkeypatch):
        calls = []
        monkeypatch.setattr(_search_result, "find_number", lambda *args: calls.append(1) or find_number(*args))
        model = MaxMarginClustering(4, search=search, random_state=0).fit(blobs())
        labels, after = model.labels_.copy(), model.cut(5)
        assert np.isnan(model.tree_.excess).all() and not calls
        assert judged_tree(model).words()[-3:] == ["clear"] * 3
        assert np.isnan(model.tree_.excess).all()  # looking at it changes nothing
        judged_tree(model)
        assert model.with_clusters(3).tree_.words()[-2:] == ["clear"] * 2
        assert len(calls) == 1
        assert (model.labels_ == labels).all() and (model.cut(5) == after).all()

    def test_a_report_shows_them(self):
        X = blobs()
        page = render(summarize(MaxMarginClustering(4, random_state=0).fit(X), X))
        assert "3 of 3 splits between clusters are clear, 0 likely." in page
        assert page.count("<title>clear</title>") == 3

    def test_model_files_keep_them(self, tmp_path):
        model = MaxMarginClustering("auto", random_state=0).fit(blobs())
        persistence.save(model, tmp_path / "m.widegap")
        again, _ = persistence.load(tmp_path / "m.widegap")
        np.testing.assert_array_equal(again.tree_.excess, model.tree_.excess)
        assert again.n_clusters_choice_ == model.n_clusters_choice_
        assert again.n_clusters_scores_ == model.n_clusters_scores_
        assert judged_tree(again) is again.tree_

    def test_trees_of_old_files_have_none(self):
        tree = MergeTree(np.array([[0, 1]]), np.array([0.5]), np.array([9]), np.array([4, 5]))
        assert np.isnan(tree.excess).all() and tree.words() == [""]

    @pytest.mark.parametrize("excess", [np.zeros(3), np.array([np.inf])])
    def test_a_forged_excess_is_refused(self, excess):
        tree = MergeTree(np.array([[0, 1]]), np.array([0.5]), np.array([9]), np.array([4, 5]), excess)
        with pytest.raises(ValueError, match="the excess of its tree does not fit its merges"):
            tree.check()
