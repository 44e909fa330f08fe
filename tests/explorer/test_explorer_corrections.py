"""What a person says of rows, and what a fit makes of it."""

import inspect

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from tests._mixed_tables import customers
from widegap import CPM3C, MaxMarginClustering, TableEncoder
from widegap.corrections._actions import constraints_of, count_after
from widegap.corrections._events import Event
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.explorer import Workspace
from widegap.explorer._payloads import moved, overview
from widegap.explorer._question_payloads import questions

CENTRES = [[0, 0, 0], [6, 0, 3], [0, 6, -3], [6, 6, 6]]
X, TRUTH = make_blobs(160, 3, centers=CENTRES, cluster_std=0.7, random_state=0)
ROWS = [np.flatnonzero(TRUTH == p) for p in range(4)]


# Estimators whose fit takes what a person says.
TELLABLE = [kind for kind in (CPM3C, MaxMarginClustering) if "known" in inspect.signature(kind.fit).parameters]


@pytest.fixture(scope="module", params=TELLABLE)
def model(request):
    return request.param(4, random_state=0).fit(X)


@pytest.fixture
def workspace(model):
    return Workspace(model, X)


def test_rows_that_belong_together_are_together(workspace):
    rows = [int(ROWS[0][0]), int(ROWS[1][0]), int(ROWS[1][1])]
    assert len(set(workspace.keys[rows])) == 2
    workspace.act("together", {"rows": rows})
    workspace.again()
    assert len(set(workspace.keys[rows])) == 1
    assert workspace.k == 4
    told = moved(workspace)
    assert told["total"] >= 1 and sum(move["count"] for move in told["moves"]) == told["total"]
    workspace.undo()
    assert len(set(workspace.keys[rows])) == 2


def test_rows_that_do_not_are_apart(workspace):
    rows = ROWS[2][:2].tolist()
    workspace.act("apart", {"rows": rows})
    workspace.again()
    assert len(set(workspace.keys[rows])) == 2


def test_rows_of_a_cluster_are_in_it(workspace):
    key = int(workspace.keys[ROWS[3][0]])
    rows = ROWS[0][:3].tolist()
    workspace.act("is", {"rows": rows, "cluster": key})
    workspace.again()
    assert (workspace.keys[rows] == key).all()
    assert workspace.keys[ROWS[3][5]] == key


def test_a_new_cluster(workspace):
    rows = ROWS[0][:10].tolist()
    event = workspace.act("is", {"rows": rows, "cluster": "new"})
    assert event.data["cluster"] == 4
    workspace.again()
    assert workspace.k == 5 and (workspace.keys[rows] == 4).all()


def test_merging_and_splitting(workspace):
    first, second = (int(workspace.keys[ROWS[p][0]]) for p in (0, 1))
    workspace.act("merge", {"clusters": [first, second]})
    workspace.again()
    assert workspace.k == 3
    assert len(set(workspace.keys[[*ROWS[0], *ROWS[1]]])) == 1
    workspace.undo()
    workspace.undo()
    event = workspace.act("split", {"cluster": first})
    parts = event.data["parts"]
    workspace.again()
    assert workspace.k == 5
    assert {len(set(workspace.keys[part])) for part in parts} == {1}
    assert workspace.keys[parts[0][0]] != workspace.keys[parts[1][0]]


@pytest.mark.filterwarnings("ignore::widegap.exceptions.NoStructureWarning")
def test_a_merge_moves_all_rows_of_its_clusters_and_a_later_split_may_part_them():
    """As ``widegap refine --merge`` does; here the clusters overlap, and rows between them have other neighbours."""
    X, _ = make_blobs(200, 3, centers=CENTRES, cluster_std=2.0, random_state=1)
    workspace = Workspace(MaxMarginClustering(4, random_state=0).fit(X), X)
    before = workspace.keys
    workspace.act("merge", {"clusters": [0, 3]})
    workspace.again()
    assert workspace.k == 3
    assert set(workspace.keys[np.isin(before, [0, 3])]) == {0}
    workspace.act("junk", {"rows": [int(np.flatnonzero(before == 1)[0])]})
    workspace.again()  # a new search
    assert set(workspace.keys[np.isin(before, [0, 3])]) == {0}
    event = workspace.act("split", {"cluster": 0})
    workspace.again()
    assert workspace.k == 4
    assert len({int(workspace.keys[part[0]]) for part in event.data["parts"]}) == 2


def test_what_a_merge_settled_yields_to_later_links_and_assignments():
    merged = Event(1, "merge", "", {"clusters": [0, 1], "rows": [0, 1, 2, 3]})
    linked = Event(2, "together", "", {"rows": [3, 9]})
    placed = Event(3, "is", "", {"rows": [2], "cluster": 5})
    found = constraints_of([merged, linked, placed])
    assert found.known == {0: 0, 1: 0, 2: 5} and found.settled == {0, 1}


def test_names_and_keys_survive_a_fit(workspace):
    key = int(workspace.keys[ROWS[1][0]])
    workspace.act("rename", {"cluster": key, "name": "second"})
    workspace.act("is", {"rows": ROWS[3][:2].tolist(), "cluster": int(workspace.keys[ROWS[3][0]])})
    workspace.again()
    assert workspace.keys[ROWS[1][0]] == key
    names = {cluster["key"]: cluster["name"] for cluster in overview(workspace)["clusters"]}
    assert names[key] == "second"


def test_what_is_taken_back_counts_no_more(workspace):
    rows = [int(ROWS[0][0]), int(ROWS[1][0])]
    before = workspace.keys
    event = workspace.act("together", {"rows": rows})
    workspace.again()
    workspace.act("drop", {"statement": event.number})
    assert workspace.constraints == [] and workspace.pending == 1
    workspace.again()
    assert len(set(workspace.keys[rows])) == 2
    assert (workspace.keys == before).mean() > 0.95


def test_contradictions_are_told_at_once(workspace):
    a, b, c = (int(ROWS[0][i]) for i in range(3))
    workspace.act("together", {"rows": [a, b]})
    workspace.act("together", {"rows": [b, c]})
    with pytest.raises(InvalidDataError, match=f"Rows {a + 1} and {c + 1} .*{a + 1} - {b + 1}"):  # from 1, for people
        workspace.act("apart", {"rows": [a, c]})
    assert workspace.number == 2
    with pytest.raises(InvalidDataError, match="5 rows cannot all be in different clusters"):
        workspace.act("apart", {"rows": [*range(5)]})


def test_questions_are_about_pairs_and_answers_are_not_asked_again(workspace):
    asked = questions(workspace)
    assert len(asked) == 5 and all(len(set(one["rows"])) == 2 for one in asked)
    seen = set()
    for turn in range(5):
        one = questions(workspace, 1)[0]
        assert tuple(one["rows"]) not in seen
        seen.add(tuple(one["rows"]))
        same = TRUTH[one["rows"][0]] == TRUTH[one["rows"][1]]
        kind = "skip" if turn == 4 else "together" if same else "apart"
        workspace.act(kind, {"rows": one["rows"], "asked": True})
    workspace.again()
    assert overview(workspace)["surer"]["answers"] == 4
    for said in workspace.constraints:
        together = len(set(workspace.keys[said["rows"]])) == 1
        assert together == (said["kind"] == "together")


def test_other_estimators_follow_only_what_they_can():
    from sklearn.cluster import KMeans

    workspace = Workspace(KMeans(3, n_init=1, random_state=0).fit(X), X)
    assert workspace.supported == ("junk",)
    with pytest.raises(NotSupportedError, match="cannot follow"):
        workspace.act("together", {"rows": [0, 1]})
    workspace.act("junk", {"rows": [0, 1]})
    workspace.again()
    assert (workspace.labels[:2] == -1).all() and (workspace.labels[2:] >= 0).all()
    assert questions(workspace) == []


def test_statements_as_constraints():
    said = [
        Event(1, "together", "", {"rows": [1, 2, 3]}),
        Event(2, "apart", "", {"rows": [1, 4]}),
        Event(3, "is", "", {"rows": [5, 6], "cluster": 2}),
        Event(4, "is", "", {"rows": [6], "cluster": 1}),
        Event(5, "junk", "", {"rows": [3, 5], "gone": 1}),
        Event(6, "split", "", {"cluster": 0, "new": 7, "parts": [[7, 8], [9]]}),
        Event(7, "merge", "", {"clusters": [0, 1, 3], "rows": [6, 10, 11]}),
    ]
    found = constraints_of(said)
    assert found.known == {6: 0, 7: 0, 8: 0, 9: 7, 10: 0, 11: 0} and found.junk.tolist() == [3, 5]
    assert found.must_link.tolist() == [[1, 2]] and found.cannot_link.tolist() == [[1, 4]]
    assert found.with_anchors({1: 4, 9: 4, 12: 4}).known == {**found.known, 12: 4}
    assert count_after(said, 6) == 6 - 1 + 1 - 2
    assert constraints_of([*said, Event(8, "is", "", {"rows": [3], "cluster": 0})]).junk.tolist() == [5]


@pytest.mark.parametrize("k", [2, 3, 6])
def test_known_rows_are_stored_for_every_number_of_clusters(k, tmp_path):
    """In a cut with fewer clusters some keys are gone; known rows are where the model of the file has them."""
    from widegap import persistence
    from widegap.corrections._stored_log import StoredCorrections
    from widegap.explorer._export import download

    for group in ROWS:
        rows = group[:3].tolist()
        known = np.full(len(X), -1)
        known[rows] = 7
        model = MaxMarginClustering(4, random_state=0).fit(X, known=known)
        places = {row: int(model.labels_[row]) for row in rows}
        workspace = Workspace(model, X, extra=StoredCorrections.of_side_information(places, [], [], None).stored())
        workspace.act("k", {"k": k})
        (tmp_path / "model").write_bytes(download(workspace, "model.widegap")[0])
        loaded, extra = persistence.load(tmp_path / "model")
        found = Workspace(loaded, X, extra=extra).keyed_constraints.known
        assert found == {row: int(loaded.labels_[row]) for row in rows}


def test_a_table_with_categories_is_slid_and_corrected():
    table = TableEncoder().fit_transform(customers(300)[0])
    model = MaxMarginClustering(3, random_state=0).fit(table)
    workspace = Workspace(model, table)
    for k in (2, 4, 3):
        workspace.act("k", {"k": k})
        np.testing.assert_array_equal(workspace.labels, model.cut(k))
    workspace.act("together", {"rows": [5, 6]})
    workspace.act("apart", {"rows": [2, 3]})
    workspace.again()
    assert workspace.labels[5] == workspace.labels[6] and workspace.labels[2] != workspace.labels[3]
    assert any(c.pool == "columns" and c.chosen for c in workspace.model.candidates_)
    workspace.undo()
    np.testing.assert_array_equal(workspace.labels, model.labels_)
