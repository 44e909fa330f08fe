"""The explorer on models after updates, whose clusters have numbers with gaps."""

import json
from io import BytesIO

import numpy as np
import pandas as pd
import pytest

from _updated import KNOWN_GROUPS, rows_of, updated
from widegap import MaxMarginClustering, persistence
from widegap.explorer import Workspace, _before_update
from widegap.explorer import _payloads as payloads
from widegap.explorer._answers import Answers
from widegap.explorer._before_update import RowsBefore
from widegap.explorer._export import download


@pytest.fixture
def workspace():
    model, X, _ = updated()
    return Workspace(model, X, extra={"names": {str(int(model.cluster_numbers_.max())): "latest"}})


def test_clusters_are_shown_by_number(workspace):
    model = workspace.opening.model
    shown = payloads.overview(workspace)["clusters"]
    numbers = [cluster["label"] for cluster in shown]
    assert sorted(numbers) == sorted(model.cluster_numbers_.tolist())
    assert {c["label"]: c["size"] for c in shown} == {p: int((model.labels_ == p).sum()) for p in numbers}
    latest = max(numbers)
    assert {c["label"]: c["name"] for c in shown}[latest] == "latest"
    np.testing.assert_array_equal(workspace.labels, model.labels_)
    json.dumps(payloads.profile(workspace, workspace.k))


def test_sliding_keeps_to_the_models_own_cuts(workspace):
    model = workspace.opening.model
    k = model.n_clusters_ - 1
    workspace.act("k", {"k": k})
    np.testing.assert_array_equal(workspace.labels, model.cut(k))
    np.testing.assert_array_equal(workspace.model_classes, model.with_clusters(k).cluster_numbers_)
    workspace.undo()
    np.testing.assert_array_equal(workspace.labels, model.labels_)


def test_corrections_are_followed_undone_and_stored(workspace, tmp_path):
    model = workspace.opening.model
    numbers = sorted(model.cluster_numbers_.tolist())
    row = int(np.flatnonzero(model.labels_ == numbers[0])[0])
    workspace.act("is", {"rows": [row], "cluster": numbers[-1]})
    workspace.again()
    assert workspace.labels[row] == workspace.labels[np.flatnonzero(model.labels_ == numbers[-1])[0]]
    place = tmp_path / "model.widegap"
    place.write_bytes(download(workspace, "model.widegap")[0])
    again, extra = persistence.load(place)
    np.testing.assert_array_equal(again.labels_, workspace.labels)
    reopened = Workspace(again, workspace.X, extra=extra)
    assert reopened.keyed_constraints.known[row] == int(workspace.labels[row])
    workspace.undo()
    workspace.undo()
    np.testing.assert_array_equal(workspace.labels, model.labels_)


def test_downloads_have_the_numbers(workspace):
    frame = pd.read_csv(BytesIO(download(workspace, "assignments.csv")[0]))
    np.testing.assert_array_equal(frame["cluster"], workspace.opening.model.labels_)
    assert b"What changed" in download(workspace, "report.html")[0]


def test_a_model_that_was_just_updated_can_be_slid():
    model = MaxMarginClustering(3, random_state=0).fit(rows_of((0, 1, 2))[0])
    X, _ = rows_of((0, 1, 4), seed=3)
    found = Workspace(model.update(X), X)
    k = found.k - 1
    assert len(np.unique(found.fit.cut(k))) <= k
    assert len(found.fit.cut(k)) == len(X)


@pytest.fixture(scope="module")
def after_update():
    """The rows of a fit, an updated model and its new rows: group 2 is gone, and group 4 is new."""
    first = rows_of((0, 1, 2))[0]
    X, _ = rows_of((0, 1, 4), n=90, seed=3)
    return first, MaxMarginClustering(3, random_state=0).fit(first).update(X), X


def behind(workspace, **asked):
    """Keys and places of the rows behind the map, and places of those on it."""
    answers = Answers(workspace, lambda: None, served_by=())
    content, points = (answers.reads[name](asked) for name in ("behind", "points"))
    n, m = len(points) // 12, len(content) // 12
    places = [np.frombuffer(part, np.float32, offset=4 * k).reshape(-1, 2) for part, k in ((content, m), (points, n))]
    return np.frombuffer(content, np.int32, m), *places


@pytest.mark.parametrize("layout", ["neighbours", "scores"])
def test_rows_from_before_the_update_lie_on_the_same_map(after_update, layout):
    first, model, X = after_update
    found = Workspace(model, X)
    assert payloads.overview(found)["rows_before"] == len(first)
    keys, old, new = behind(found, layout=layout)
    assert len(keys) == len(old) == len(first) and len(new) == len(X)
    assert np.isfinite(old).all()
    np.testing.assert_array_equal(keys, np.tile([model.predict(first[[g]])[0] for g in range(3)], len(first) // 3))
    near, far = (np.median(old[g::3], axis=0) - np.median(new[0::3], axis=0) for g in (0, 2))
    assert np.linalg.norm(near) < 0.5 * np.linalg.norm(far)  # old rows of a group lie where its new rows do


def test_two_columns_have_no_places_for_rows_from_before(after_update):
    _, model, X = after_update
    asked = {"layout": "columns", "x": "column 0", "y": "column 1"}
    answers = Answers(Workspace(model, X), lambda: None, served_by=())
    assert answers.reads["behind"](asked) == b""
    assert len(answers.reads["points"](asked)) == 12 * len(X)


def test_rows_from_before_are_there_in_a_frame_and_after_a_stored_session(after_update, tmp_path):
    _, model, X = after_update
    frame = pd.DataFrame(X, columns=list("abc"))
    fitted = MaxMarginClustering(3, random_state=0).fit(pd.DataFrame(rows_of((0, 1, 2))[0], columns=list("abc")))
    updated_model = fitted.update(frame)
    place = tmp_path / "session.jsonl"
    found = Workspace(updated_model, frame, session=place)
    found.act("is", {"rows": [0], "cluster": int(found.keys[1])})
    found.again()
    before = behind(found, layout="scores")
    found.close()
    resumed = Workspace(updated_model, frame, session=place, resume=True)
    for one, other in zip(before, behind(resumed, layout="scores"), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert payloads.overview(resumed)["update"] == payloads.overview(found)["update"]
    resumed.close()


def test_of_more_new_rows_than_are_searched_the_old_ones_are_still_told(monkeypatch):
    from widegap.updating import _updatable

    monkeypatch.setattr(_updatable, "SEARCHED_ROWS", 60)
    first = rows_of((0, 1, 2))[0]
    X, _ = rows_of((0, 1, 4), n=600, seed=3)
    model = MaxMarginClustering(3, random_state=0).fit(first).update(X)
    workspace = Workspace(model, X)
    assert model.n_clusters_ in workspace.reach
    assert len(model.cut(2)) == len(X)  # of all rows, not of the sample alone
    found = RowsBefore.of(model, X)
    assert found is not None
    assert found.n_rows == len(first)
    np.testing.assert_allclose(found.rows, first)


def test_a_sample_of_many_remembered_rows_is_shown(after_update, monkeypatch):
    _, model, X = after_update
    monkeypatch.setattr(_before_update, "MOST_REMEMBERED", 50)
    assert payloads.overview(Workspace(model, X))["rows_before"] == 50


def test_what_changed_is_told_with_the_clusters(after_update):
    _, model, X = after_update
    gone, new = (next(c.cluster for c in model.changes_ if c.kind == kind) for kind in ("vanished", "new"))
    found = Workspace(model, X, extra={"names": {str(gone): "leavers"}})
    told = payloads.overview(found)["update"]
    assert told["words"] == "2 of 4 clusters changed: 1 vanished, 1 new."
    by_key = {one["key"]: one for one in told["clusters"]}
    assert by_key[new] == {"key": new, "kind": "new", "text": f"Cluster {new}: new, 33 % of the new rows."}
    assert by_key[gone]["text"].startswith(f"Cluster {gone}, leavers: vanished")
    json.dumps(told)


def test_a_model_without_an_update_and_other_rows_have_nothing_to_tell(after_update):
    _, model, X = after_update
    fitted = MaxMarginClustering(3, random_state=0).fit(X)
    for found in (Workspace(fitted, X), Workspace(model, X[::2])):
        shown = payloads.overview(found)
        assert shown["rows_before"] == 0 and shown["update"] is None
        assert Answers(found, lambda: None, served_by=()).reads["behind"]({"layout": "neighbours"}) == b""


def test_numbers_of_clusters_leave_room_for_the_sizes():
    X, _ = rows_of(KNOWN_GROUPS, 60)
    workspace = Workspace(MaxMarginClustering(4, size_min=9, size_max=20, random_state=0).fit(X), X)
    assert workspace.reach == range(3, 7)
    for k in workspace.reach:
        workspace.act("k", {"k": k})
        sizes = np.bincount(workspace.labels)
        assert len(sizes) == k and 9 <= sizes.min() <= sizes.max() <= 20


def test_an_update_under_bounds_on_sizes_is_shown_and_fitted_again():
    X, _ = rows_of(KNOWN_GROUPS, 60)
    model = MaxMarginClustering(4, size_min=6, random_state=0).fit(X).update(X[:40])
    workspace = Workspace(model, X[:40])
    assert list(workspace.reach) == [model.n_clusters_]  # cuts of a search with remembered rows would not keep them
    workspace.act("together", {"rows": [0, 1], "asked": False})
    workspace.again()
    assert workspace.labels[0] == workspace.labels[1] and np.bincount(workspace.labels).min() >= 6
