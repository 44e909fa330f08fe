"""The explorer on models after updates, whose clusters have numbers with gaps."""

import json
from io import BytesIO

import numpy as np
import pandas as pd
import pytest

from _updated import rows_of, updated
from widegap import MaxMarginClustering, persistence
from widegap.explorer import Workspace
from widegap.explorer import _payloads as payloads
from widegap.explorer._answers import Answers
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


def test_rows_from_before_the_update_lie_on_the_same_map():
    first = rows_of((0, 1, 2))[0]
    model = MaxMarginClustering(3, random_state=0).fit(first)
    X, _ = rows_of((0, 1, 4), n=90, seed=3)
    found = Workspace(model.update(X), X)
    answers = Answers(found, lambda: None)
    assert payloads.overview(found)["remembered"] == len(first)
    behind = np.frombuffer(answers.reads["background"]({}), np.float32).reshape(-1, 2)
    assert len(behind) == len(first) and np.isfinite(behind).all()
    points = answers.reads["points"]({"layout": "neighbours"})
    assert len(points) == 12 * len(X)
    places = np.frombuffer(points, np.float32, offset=4 * len(X)).reshape(-1, 2)
    near, far = (np.median(behind[g::3], axis=0) - np.median(places[0::3], axis=0) for g in (0, 2))
    assert np.linalg.norm(near) < np.linalg.norm(far)  # old rows of a group lie where its new rows do


def test_a_model_without_an_update_has_no_background():
    X, _ = rows_of((0, 1, 2))
    found = Workspace(MaxMarginClustering(3, random_state=0).fit(X), X)
    assert payloads.overview(found)["remembered"] == 0
    assert Answers(found, lambda: None).reads["background"]({}) == b""
