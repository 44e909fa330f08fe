"""Who is who on the page: numbers agree with files, names stay with their clusters, and how sure follows the slider."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from widegap import MaxMarginClustering
from widegap.exceptions import InvalidDataError
from widegap.explorer import Workspace
from widegap.explorer._export import download
from widegap.explorer._identity import CutKeys, NewKeys, matched_keys, with_keys
from widegap.explorer._payloads import clusters, overview, row, shown_at
from widegap.explorer._rows import ShownRows

X, TRUTH = make_blobs([50, 40, 30, 25, 15], 3, cluster_std=2.5, random_state=3)
NUMBERS = range(2, 9)


@pytest.fixture(scope="module")
def model():
    return MaxMarginClustering(5, random_state=0).fit(X)


@pytest.fixture
def workspace(model):
    return Workspace(model, X)


def names_of_rows(workspace):
    """What the page calls the cluster of every row."""
    called = {one["key"]: one["name"] for one in clusters(workspace, workspace.k)}
    return np.array([called[key] for key in workspace.keys.tolist()])


# How sure


@pytest.mark.parametrize("k", NUMBERS)
def test_how_sure_is_that_of_the_clusters_that_are_shown(workspace, model, k):
    expected, near = model.with_clusters(k).agreement_, {"abs": 1 / 255}  # other numbers are kept in bytes
    ahead = shown_at(workspace, k)  # while the slider moves, before the number is an action
    assert ahead["sure"] == pytest.approx(expected.mean(), **near)
    workspace.act("k", {"k": k})
    shown = overview(workspace)
    assert shown["sure"] == pytest.approx(expected.mean(), **near) and shown["surer"]["now"] == shown["sure"]
    assert row(workspace, 7)["sure"] == pytest.approx(expected[7], **near)
    for one in shown["clusters"]:
        assert one["sure"] == pytest.approx(expected[workspace.keys == one["key"]].mean(), **near)


def test_how_sure_differs_between_numbers(workspace):
    assert len({shown_at(workspace, k)["sure"] for k in NUMBERS}) > 3


# Undo


def test_the_first_fit_cannot_be_undone():
    workspace = Workspace(MaxMarginClustering(5, random_state=0), X)
    assert not workspace.can_undo
    workspace.again()
    assert not workspace.can_undo and not overview(workspace)["can_undo"]
    with pytest.raises(InvalidDataError, match="nothing to undo"):
        workspace.undo()
    workspace.act("k", {"k": 3})
    assert overview(workspace)["can_undo"]
    workspace.undo()
    assert workspace.k == 5 and not workspace.can_undo


def test_a_later_fit_can_be_undone(workspace):
    workspace.again()
    assert workspace.can_undo
    workspace.undo()
    assert workspace.state.fit == 0


# Names and numbers


@pytest.mark.parametrize("k", NUMBERS)
def test_files_hold_the_numbers_and_names_of_the_page(workspace, k):
    workspace.act("rename", {"cluster": 2, "name": "mine"})
    workspace.act("k", {"k": k})
    lines = list(csv.DictReader(io.StringIO(download(workspace, "assignments.csv")[0].decode())))
    assert [line["cluster_name"] for line in lines] == names_of_rows(workspace).tolist()
    for line in lines:
        assert line["cluster_name"] in ("mine", f"Cluster {line['cluster']}")
    assert {one["label"] for one in clusters(workspace, k)} == {*range(k)}


def test_files_after_a_merge_hold_the_numbers_and_names_of_the_page(workspace):
    workspace.act("merge", {"clusters": [1, 2]})
    workspace.again()
    lines = list(csv.DictReader(io.StringIO(download(workspace, "assignments.csv")[0].decode())))
    assert [line["cluster_name"] for line in lines] == names_of_rows(workspace).tolist()
    assert {line["cluster_name"] for line in lines} == {f"Cluster {number}" for number in range(4)}


def test_a_split_leaves_the_name_with_the_larger_part(workspace):
    workspace.act("rename", {"cluster": 0, "name": "mine"})
    before = names_of_rows(workspace)
    workspace.act("split", {"cluster": 0})
    workspace.again()
    after = names_of_rows(workspace)
    parts = {name: np.count_nonzero(after[before == "mine"] == name) for name in {*after}}
    assert max(parts, key=parts.get) == "mine" and sum(count > 0 for count in parts.values()) >= 2
    assert len({*after}) == 6


def test_a_new_cluster_does_not_inherit_a_name_that_a_merge_left_over(workspace):
    workspace.act("rename", {"cluster": 2, "name": "gone"})
    workspace.act("rename", {"cluster": 1, "name": "kept"})
    workspace.act("merge", {"clusters": [1, 2]})
    workspace.again()
    assert {*names_of_rows(workspace)} == {"kept", "Cluster 0", "Cluster 2", "Cluster 3"}
    for k in workspace.reach:
        workspace.act("k", {"k": k})
        assert "gone" not in names_of_rows(workspace) and len({*names_of_rows(workspace)}) == k


def test_a_split_in_fewer_clusters_takes_no_key_of_a_hidden_cluster(workspace):
    hidden = set(range(5)) - set(workspace.fit.keys(3).tolist())
    for key in hidden:
        workspace.act("rename", {"cluster": key, "name": f"hidden {key}"})
    workspace.act("k", {"k": 3})
    event = workspace.act("split", {"cluster": workspace.cluster_keys[0]})
    assert event.data["new"] not in range(5)
    workspace.again()
    assert "new" in event.data and event.data["new"] in workspace.cluster_keys
    called = {one["key"]: one["name"] for one in clusters(workspace, workspace.k)}
    assert not called[event.data["new"]].startswith("hidden")


def test_a_name_comes_back_with_its_rows_after_a_fit_with_fewer_clusters(workspace):
    hidden = next(iter(set(range(5)) - set(workspace.fit.keys(3).tolist())))
    workspace.act("rename", {"cluster": hidden, "name": "mine"})
    rows = workspace.keys == hidden
    workspace.act("k", {"k": 3})
    pair = np.flatnonzero(workspace.keys == workspace.cluster_keys[0])[:2].tolist()
    workspace.act("together", {"rows": pair})
    workspace.again()
    assert "mine" not in names_of_rows(workspace) and workspace.k == 3
    workspace.act("k", {"k": 5})
    found = names_of_rows(workspace) == "mine"
    assert np.count_nonzero(found & rows) > 0.5 * max(np.count_nonzero(found), np.count_nonzero(rows))


def test_new_clusters_of_every_fit_have_keys_of_their_own(workspace):
    seen: dict[int, np.ndarray] = {}
    for wanted in (3, 7, 4, 8):
        workspace.act("number", {"k": wanted})
        workspace.again()
        for k in workspace.reach[:10]:
            of_rows = workspace.fit.row_keys(k)
            for key in workspace.fit.keys(k).tolist():
                # A key that comes back stands for some of the rows that it stood for before.
                assert key not in seen or (seen[key] & (of_rows == key)).any()
                seen[key] = seen.get(key, False) | (of_rows == key)


def test_the_log_keeps_the_words_of_its_time(workspace):
    workspace.act("merge", {"clusters": [1, 3]})
    workspace.again()
    workspace.act("rename", {"cluster": 1, "name": "both"})
    assert [one["words"] for one in overview(workspace)["corrections"]] == ["merged Cluster 1 and Cluster 3"]
    moves = overview(workspace)["moved"]["moves"]
    assert ["former Cluster 3", "both"] in [move["names"] for move in moves]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 4), min_size=24, max_size=24), min_size=2, max_size=5))
def test_a_key_stays_with_rows_or_is_new(partitions):
    partitions = [np.unique(labels, return_inverse=True)[1] for labels in partitions]
    first = partitions[0]
    keys, gone, before = np.arange(first.max() + 1), set(), first
    for labels in partitions[1:]:
        k = int(labels.max()) + 1
        gone |= set(keys.tolist())
        keys = matched_keys(before, labels, k, new_keys=NewKeys(100), gone=gone)
        assert len(set(keys.tolist())) == k
        for label, key in enumerate(keys.tolist()):
            assert (key >= 100 and key not in gone) or (before[labels == label] == key).any()
        before = with_keys(keys, labels)


def test_a_step_back_finds_the_same_keys_in_any_order():
    rng = np.random.default_rng(0)
    cuts = {k: np.concatenate([np.arange(k), rng.integers(k, size=36 - k)]) for k in range(2, 7)}
    earlier = (cuts[4],)
    forth, back = (CutKeys(cuts.__getitem__, 4, np.arange(4), NewKeys(60, earlier)) for _ in range(2))
    found = {k: forth.at(k).tolist() for k in (2, 3, 5, 6)}
    assert found == {k: back.at(k).tolist() for k in (6, 5, 3, 2)}


# Words


def test_categories_are_per_cent_as_in_the_report():
    values = np.column_stack([X, TRUTH == 0, TRUTH == 1]).astype(float)
    shown = ShownRows(X, values=values, names=["a", "b", "c", "city = Rome", "city = Bonn"])
    workspace = Workspace(MaxMarginClustering(5, random_state=0).fit(values), values, rows=shown)
    listed = {one["feature"]: one for cluster in clusters(workspace, 5) for one in cluster["apart"]}
    rome = listed["city = Rome"]
    assert rome["text"].endswith(" %") and rome["rest_text"].endswith(" %")
    assert listed["a"]["text"] == f"{listed['a']['mean']:.3g}".replace("-", "−")


def test_frames_name_clusters_as_the_page_does(model):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    workspace = Workspace(model, X, rows=ShownRows(X, frame=frame))
    workspace.act("k", {"k": 6})
    found = pd.read_json(io.BytesIO(download(workspace, "assignments.jsonl")[0]), lines=True)
    assert found["cluster_name"].tolist() == names_of_rows(workspace).tolist()
    np.testing.assert_array_equal(found["cluster"], workspace.labels)
    np.testing.assert_array_equal(found["cluster"], workspace.model.labels_)
