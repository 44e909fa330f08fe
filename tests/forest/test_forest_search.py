"""The search by merging: how many rows, landmarks and members, when it doubts, and what it takes beside the pools."""

from types import SimpleNamespace

import numpy as np
import pytest

from widegap import MaxMarginClustering
from widegap.exceptions import NoStructureWarning
from widegap.forest import _forest_search
from widegap.forest._forest_search import ForestSearch, _doubt, _warn_of_independent_columns, _warn_without_structure


def search(k=3, smoothing="auto", one_tree=False):
    return ForestSearch(k, smoothing, 30, one_tree, 1)


@pytest.mark.parametrize(
    ("n", "landmarks"), [(10, 150), (600, 150), (604, 151), (1199, 299), (1200, 300), (99_999, 300)]
)
def test_landmarks_are_a_quarter_of_the_rows(n, landmarks):
    assert search().n_landmarks(n) == landmarks


@pytest.mark.parametrize(
    ("n", "members"), [(300, 24), (1499, 24), (1500, 24), (1999, 24), (2000, 48), (4999, 48), (5000, 40), (90_000, 40)]
)
def test_how_many_members_there_are(n, members):
    """Groups of two strengths of smoothing, three rules and two pools; of many rows eight partitions, too."""
    assert search().n_records(n) == members
    assert search(smoothing=3).n_records(n) == members / 2 + (8 if n >= 5000 else 0)
    assert search(one_tree=True).n_records(n) == 1


def test_as_many_records_as_said():
    X = np.random.default_rng(0).normal(size=(80, 2)) + 8 * (np.arange(80) % 2)[:, None]
    seen = []
    MaxMarginClustering(2, random_state=0, callback=seen.append).fit(X)
    assert len(seen) == search().n_records(80) and [record.start for record in seen] == list(range(len(seen)))
    assert {record.pool for record in seen} == {"gaps", "even"} and {r.kind.split(", ")[1] for r in seen} == {
        "margin", "graph", "degree product"}  # fmt: skip
    seen.clear()
    model = MaxMarginClustering(2, search="merge", random_state=0, callback=seen.append).fit(X)
    assert [record.kind for record in seen] == ["gaps, margin, 10 groups, 2 steps"] and model.agreement_.min() == 1


@pytest.mark.parametrize(
    ("k", "by_columns", "sparse", "n", "expected"),
    [
        (3, False, False, 200_000, 10_000),
        (3, True, False, 90_000, 10_000),
        (3, False, False, 90_000, 100_000),
        ("auto", False, True, 90_000, 10_000),
        (9000, False, True, 90_000, 18_000),
        (9000, True, True, 90_000, 10_000),
    ],
)
def test_how_many_rows_are_searched(k, by_columns, sparse, n, expected):
    assert search(k).n_searched((n, 3), sparse=sparse, by_columns=by_columns) == expected


def test_what_a_search_is():
    assert search().follows_columns and not search(one_tree=True).follows_columns
    assert search().cuts_anywhere and search().unit_rows and search().auto_fraction == 0
    assert search().smoothings == (2, 8) and search(smoothing=5).smoothings == (5,)


class TestDoubt:
    def doubt(self, agreement, sound=1.0, pool="gaps", of_gaps=None):
        candidates = [SimpleNamespace(n_clusters=3, pool="gaps", agreement=agreement if of_gaps is None else of_gaps)]
        candidates.append(SimpleNamespace(n_clusters=4, pool="gaps", agreement=1.0))
        pools = dict.fromkeys(("gaps", "even", "communities"), SimpleNamespace(share_sound=lambda k: sound))
        forest = SimpleNamespace(pools=pools, candidates=candidates)
        return _doubt(SimpleNamespace(agreement=np.full(4, agreement), pool=pool, n_clusters=3), forest)

    @pytest.mark.parametrize(
        ("agreement", "sound", "said"),
        [
            (0.9, 0.3, ""),
            (0.8999, 0.3, "the members of the search agree only to 90 %"),
            (0.734, 1.0, "the members of the search agree only to 73 %"),
            (0.5, 0.0, "the members of the search agree only to 50 %"),
            (0.95, 0.25, "75 % of the members of the search were left out for clusters of stray rows"),
            (0.95, 0.2999, "70 % of the members of the search were left out for clusters of stray rows"),
        ],
    )
    def test_members_disagree_or_few_count(self, agreement, sound, said):
        assert self.doubt(agreement, sound) == said

    def test_where_gaps_or_communities_agree_there_is_none(self):
        assert self.doubt(0.5, pool="communities", of_gaps=0.95) == ""
        assert self.doubt(0.95, pool="communities", of_gaps=0.5) == ""
        assert self.doubt(0.6, pool="communities", of_gaps=0.8).endswith("to 80 %")
        assert self.doubt(0.6, pool="even", of_gaps=0.95).endswith("to 60 %")

    @pytest.mark.parametrize(("separation", "warns"), [([1.0, 2.4999], True), ([2.5, 0.0], False), ([], True)])
    def test_clusters_no_further_apart_than_chance_are_warned_of(self, separation, warns, recwarn):
        _warn_without_structure(4, np.array(separation), "nobody agrees")
        assert [str(found.message) for found in recwarn] == [
            "The 4 clusters are no further apart than clusters of rows without structure, and nobody agrees: do not "
            "read much into them. n_clusters='auto' tells whether another number does better."
        ] * warns

    def test_columns_that_do_not_go_together_are_warned_of(self):
        with pytest.warns(NoStructureWarning, match=r"do not go together: .* one by one. The 4 clusters divide them"):
            _warn_of_independent_columns(4)

    @pytest.mark.parametrize("n_axes", [0, 1])
    def test_which_warning(self, n_axes, monkeypatch, recwarn):
        """Latent classes are judged by the axes of the columns, all others by separations where there is a doubt."""
        asked = []
        monkeypatch.setattr(_forest_search, "separations_found", lambda *rest: asked.append(rest) or np.zeros(2))
        monkeypatch.setattr(_forest_search, "_doubt", lambda result, forest: doubts.pop())
        forest = SimpleNamespace(columns=SimpleNamespace(n_axes=n_axes), space=SimpleNamespace(rows=None))
        doubts = ["never asked"]
        search()._warn_of_doubt(SimpleNamespace(n_clusters=3, classes=object()), forest, None)
        assert doubts and not asked and len(recwarn) == 1 - n_axes
        doubts = ["", "few agree"]
        plain = SimpleNamespace(n_clusters=3, classes=None)
        search()._warn_of_doubt(plain, forest, None)
        assert len(asked) == 1 and "few agree" in str(recwarn[-1].message)
        search()._warn_of_doubt(plain, SimpleNamespace(columns=None, space=None), None)
        assert len(asked) == 1 and len(recwarn) == 2 - n_axes


def test_a_number_that_was_given_is_warned_of_and_one_that_was_found_is_not(recwarn):
    X = np.random.default_rng(1).normal(size=(150, 3))
    assert MaxMarginClustering("auto", random_state=0).fit(X).n_clusters_ == 1
    assert not recwarn.list
    MaxMarginClustering(4, random_state=0).fit(X)
    assert [found.category for found in recwarn] == [NoStructureWarning]


@pytest.mark.parametrize(
    ("rows", "search", "moves"), [(120, "agree", True), (121, "agree", False), (99, "merge", False)]
)
def test_moves_are_a_candidate_for_few_rows(rows, search, moves, monkeypatch):
    monkeypatch.setattr(_forest_search, "ROWS_FOR_MOVES", 121)
    X = np.random.default_rng(0).normal(size=(rows, 2)) + 8 * (np.arange(rows) % 2)[:, None]
    model = MaxMarginClustering(2, search=search, random_state=0).fit(X)
    assert (model._forest.moves is not None) == moves
    assert ("moves" in {candidate.pool for candidate in model.candidates_}) == moves


class Recorded(Exception):  # noqa: N818 - ends a search, and is no error
    """How many clusters members are grown for."""


@pytest.mark.parametrize(
    ("k", "found", "fewest", "grown"),
    [(1, None, 1, 2), (5, None, 7, 5), ("auto", 4, 1, 4), ("auto", 4, 6, 6), ("auto", 1, 1, 2)],
)
@pytest.mark.parametrize("by_columns", [False, True])
def test_members_are_grown_for_the_number_found_or_asked_for(k, found, fewest, grown, by_columns, monkeypatch):
    def grow(self, k, *rest):
        raise Recorded(k)

    number = SimpleNamespace(n_clusters=found)
    monkeypatch.setattr(_forest_search, "find_number", lambda *rest: SimpleNamespace(steps=number))
    monkeypatch.setattr(ForestSearch, "_grow", grow)
    columns = SimpleNamespace(number=lambda: number) if by_columns else None
    prepared = SimpleNamespace(space=SimpleNamespace(rows=None), columns=columns, fewest=fewest)
    with pytest.raises(Recorded, match=f"^{grown}$"):
        search(k).run(prepared, None, None)
