"""The workspace of the explorer, without any page: events, undo by replay, statements, autosave, resuming."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from widegap import MaxMarginClustering
from widegap.corrections._events import Event, History
from widegap.exceptions import InvalidDataError
from widegap.explorer import Workspace
from widegap.explorer._identity import matched_keys
from widegap.explorer._workspace import ChangedError
from widegap.report import summarize

CENTRES = [[0, 0, 0], [9, 0, 4], [0, 9, -4], [9, 9, 9]]
X, TRUTH = make_blobs(160, 3, centers=CENTRES, cluster_std=0.6, random_state=0)
X = X.astype(np.float64)


@pytest.fixture(scope="module")
def model():
    return MaxMarginClustering(4, random_state=0).fit(X)


@pytest.fixture
def workspace(model):
    return Workspace(model, X)


def test_a_new_workspace_shows_the_fit(workspace, model):
    assert workspace.number == 0 and workspace.k == 4
    np.testing.assert_array_equal(workspace.labels, model.labels_)
    np.testing.assert_array_equal(workspace.keys, model.labels_)
    assert workspace.model is model
    assert workspace.constraints == []


@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_sliding_shows_the_models_own_cut(workspace, model, k):
    workspace.act("k", {"k": k})
    np.testing.assert_array_equal(workspace.labels, model.cut(k))
    np.testing.assert_array_equal(workspace.model.labels_, model.cut(k))
    assert len(set(workspace.keys.tolist())) == k


def test_clusters_that_stay_keep_their_keys_while_k_slides(workspace):
    before = workspace.keys
    workspace.act("k", {"k": 5})
    after = workspace.keys
    same = before == after
    assert same.mean() >= 1 - max(np.bincount(before)) / len(before)
    workspace.act("k", {"k": 4})
    np.testing.assert_array_equal(workspace.keys, before)


def test_undo_and_redo_replay_the_events(workspace):
    workspace.act("k", {"k": 3})
    workspace.act("rename", {"cluster": 0, "name": "  the   first "})
    assert workspace.state.names == {0: "the first"}
    workspace.undo()
    assert workspace.state.names == {} and workspace.k == 3
    workspace.undo()
    assert workspace.k == 4
    workspace.redo()
    workspace.redo()
    assert workspace.state.names == {0: "the first"} and workspace.k == 3
    assert workspace.number == 6
    workspace.undo()
    workspace.act("k", {"k": 2})  # what was undone is gone now
    with pytest.raises(InvalidDataError, match="nothing to redo"):
        workspace.redo()


def test_nothing_to_undo(workspace):
    with pytest.raises(InvalidDataError, match="nothing to undo"):
        workspace.undo()
    assert workspace.number == 0


def test_an_action_on_an_older_state_is_refused(workspace):
    workspace.act("k", {"k": 3}, base=0)
    with pytest.raises(ChangedError, match="you saw action 0, the last is 1"):
        workspace.act("k", {"k": 5}, base=0)
    assert workspace.k == 3


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        ("k", {"k": 1_000}, "k=1000 must be a whole number from 2 to"),
        ("k", {"k": True}, "k=True must be"),
        ("rename", {"cluster": 17, "name": "x"}, "cluster=17 does not exist; choose from"),
        ("rename", {"cluster": 0, "name": 3}, "name=3 must be a text"),
        ("junk", {"rows": "all"}, "rows='all' must be a list"),
        ("junk", {"rows": [160]}, "numbered from 0 to 159"),
        ("junk", {"rows": []}, "needs at least 1 row; you selected 0"),
        ("junk", {"rows": list(range(160))}, "takes at most 159 rows"),
        ("drop", {"statement": 3}, "statement=3 is not the number of a correction"),
        ("again", {}, "'again' is an unknown action; choose from together"),
        ("nonsense", {}, "'nonsense' is an unknown action"),
    ],
)
def test_actions_that_make_no_sense_leave_no_event(workspace, kind, data, message):
    with pytest.raises(InvalidDataError, match=message):
        workspace.act(kind, data)
    assert workspace.number == 0


def test_junk_rows_leave_all_clusters_and_undo_brings_them_back(workspace):
    before = workspace.labels
    rows = np.flatnonzero(TRUTH == 1)[:10].tolist()
    workspace.act("junk", {"rows": rows})
    assert workspace.pending == 1
    np.testing.assert_array_equal(workspace.labels, before)
    workspace.again()
    assert workspace.pending == 0
    assert (workspace.labels[rows] == -1).all()
    rest = np.setdiff1d(np.arange(160), rows)
    assert (workspace.keys[rest] == before[rest]).all()
    old, new = workspace.moved()
    assert np.flatnonzero(old != new).tolist() == rows
    workspace.undo()
    np.testing.assert_array_equal(workspace.labels, before)
    workspace.redo()
    assert (workspace.labels[rows] == -1).all()


def test_it_is_said_before_that_junk_needs_a_new_search(workspace):
    from widegap.explorer._payloads import overview

    assert not overview(workspace)["anew"]
    workspace.act("together", {"rows": [0, 1]})
    assert not overview(workspace)["anew"]
    workspace.act("junk", {"rows": [2]})
    assert overview(workspace)["anew"]
    workspace.again()
    assert not overview(workspace)["anew"]
    workspace.act("apart", {"rows": [3, int(np.flatnonzero(workspace.labels != workspace.labels[3])[0])]})
    assert not overview(workspace)["anew"]  # the same rows are junk: what the last search has left serves again


def test_a_fit_that_is_stopped_changes_nothing(workspace):
    from widegap.explorer._workspace import StoppedError

    before = workspace.labels
    with pytest.raises(StoppedError):
        workspace.again(lambda record: True)
    assert workspace.number == 0 and not workspace.working
    np.testing.assert_array_equal(workspace.labels, before)


def test_rows_can_be_opened_before_their_first_fit():
    workspace = Workspace(MaxMarginClustering("auto", random_state=0), X)
    assert workspace.k == 1 and (workspace.labels == 0).all()
    workspace.again()
    assert workspace.k == 4


def test_forgotten_fits_are_found_again(workspace, monkeypatch):
    monkeypatch.setattr("widegap.explorer._workspace.KEPT_FITS", 1)
    seen = [workspace.labels]
    for row in (0, 1, 2):
        workspace.act("junk", {"rows": [row]})
        workspace.again()
        seen.append(workspace.labels)
    assert len(workspace._fits) <= 3
    for labels in seen[-2::-1]:
        workspace.undo()
        workspace.undo()
        np.testing.assert_array_equal(workspace.labels, labels)
    assert workspace.notes == []


# Saving


def test_every_action_is_on_disk_at_once_and_a_session_goes_on(model, tmp_path):
    path = tmp_path / "session.jsonl"
    first = Workspace(model, X, session=path)
    first.act("junk", {"rows": [3, 4]})
    first.again()
    first.act("rename", {"cluster": 1, "name": "Zweite"})
    first.undo()
    first.redo()
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines[0]["schema"] == "widegap.explore/1" and [line["number"] for line in lines[1:]] == [1, 2, 3, 4, 5]
    assert oct(path.stat().st_mode & 0o777) == "0o600"  # rows of a person's data are nobody else's business
    first.close()
    second = Workspace(model, X, session=path, resume=True)
    np.testing.assert_array_equal(second.labels, first.labels)
    assert second.state == first.state and second.number == 5 and second.notes == []
    second.act("k", {"k": 3})
    assert len(path.read_text(encoding="utf-8").splitlines()) == 7


def test_a_line_that_a_crash_cut_off_is_dropped(model, tmp_path):
    path = tmp_path / "session.jsonl"
    Workspace(model, X, session=path).act("k", {"k": 3})
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"number":2,"kind":"k","at":"2')
    workspace = Workspace(model, X, session=path, resume=True)
    assert workspace.k == 3 and path.read_bytes() == whole
    workspace.act("k", {"k": 5})
    workspace.close()
    assert Workspace(model, X, session=path, resume=True).k == 5


@pytest.mark.parametrize("content", [b"a,b\n1,2\n3,4", b"no line at all", b'{"schema":"other"}\nrest'])
def test_a_file_that_is_no_session_is_left_as_it_is(model, tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    for resume in (True, False):
        with pytest.raises(InvalidDataError, match="line 1: damaged|is not a session|exists already"):
            Workspace(model, X, session=path, resume=resume)
        assert path.read_bytes() == content


def test_a_session_on_other_rows_is_left_as_it_is(model, tmp_path):
    path = tmp_path / "session.jsonl"
    Workspace(model, X, session=path).act("k", {"k": 3})
    content = path.read_bytes() + b'{"number":2,"ki'
    path.write_bytes(content)
    with pytest.raises(InvalidDataError, match="a session on other rows"):
        Workspace(MaxMarginClustering(4), X[:100], session=path, resume=True)
    assert path.read_bytes() == content


def test_a_session_file_is_private_before_anything_is_in_it(model, tmp_path, monkeypatch):
    import os

    path, modes, opened = tmp_path / "session.jsonl", [], os.open

    def seen(name, *given, **named):
        descriptor = opened(name, *given, **named)
        if str(name) == str(path):
            modes.append(os.fstat(descriptor).st_mode & 0o777)
        return descriptor

    monkeypatch.setattr("widegap.explorer._autosave.os.open", seen)
    Workspace(model, X, session=path)
    assert modes == [0o600]


def test_two_explorers_cannot_share_a_session(model, tmp_path):
    path = tmp_path / "session.jsonl"
    first = Workspace(model, X, session=path)
    first.act("k", {"k": 3})
    with pytest.raises(InvalidDataError, match="still running; use its page, or close it first"):
        Workspace(model, X, session=path, resume=True)
    first.act("k", {"k": 5})
    first.close()
    second = Workspace(model, X, session=path, resume=True)
    assert second.k == 5
    first.act("k", {"k": 6})
    assert "the session was closed" in first.autosave.trouble
    second.act("k", {"k": 4})
    second.close()
    assert Workspace(model, X, session=path, resume=True).k == 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "line 2: damaged"),
        (b'{"number":2,"kind":"k","at":"x","k":3}', "follows event 0"),
        (b'{"number":1,"kind":"k","at":"x"}', r"Action 1 .*k=None must be a number of clusters\. Restore the file"),
        (b'{"number":1,"kind":"merge","at":"x","clusters":[0],"rows":[1]}', "two clusters or more"),
        (b'{"number":1,"kind":"junk","at":"x","rows":[160]}', "rows=.160. must be a list of existing rows"),
        (b'{"number":1,"kind":"again","at":"x","parent":1}', "parent=1 must be 0 or the number of an earlier fit"),
        (b'{"number":1,"kind":"fly","at":"x"}', "unknown kind, 'fly'"),
        (b"[]", "is not an event"),
    ],
)
def test_damaged_sessions_are_refused(model, tmp_path, line, message):
    path = tmp_path / "session.jsonl"
    Workspace(model, X, session=path)
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(InvalidDataError, match=message):
        Workspace(model, X, session=path, resume=True)


def test_a_session_belongs_to_its_rows(model, tmp_path):
    path = tmp_path / "session.jsonl"
    Workspace(model, X, session=path)
    with pytest.raises(InvalidDataError, match="a session on other rows"):
        Workspace(MaxMarginClustering(4), X[:100], session=path, resume=True)
    with pytest.raises(InvalidDataError, match="no such session"):
        Workspace(model, X, session=tmp_path / "other.jsonl", resume=True)


def test_a_full_disk_is_told_and_the_work_is_kept(model, tmp_path, monkeypatch):
    import errno
    import os

    path = tmp_path / "session.jsonl"
    workspace = Workspace(model, X, session=path)

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("widegap.explorer._autosave.os.fsync", full)
        workspace.act("k", {"k": 3})
        workspace.act("k", {"k": 5})
        assert "No space left" in workspace.autosave.trouble and workspace.k == 5
    workspace.act("k", {"k": 6})
    assert workspace.autosave.trouble is None
    workspace.close()
    assert Workspace(model, X, session=path, resume=True).history.number == 3


# Parts


def test_history_refuses_gaps():
    with pytest.raises(InvalidDataError, match="Event 2 follows event 0"):
        History([Event(2, "k", "", {"k": 3})])


def test_keys_follow_the_rows():
    old = np.array([0, 0, 0, 1, 1, 2, 2, -1])
    new = np.array([1, 1, 1, 0, 0, 2, 3, 2])
    assert matched_keys(old, new, 4).tolist() == [1, 0, 2, 3]
    assert matched_keys(old, new, 4, fixed={3: 0}).tolist()[3] == 0
    assert sorted(matched_keys(old, np.zeros(8, int), 1)) == [0]


# The report's charts


def test_tree_and_profile_are_those_of_the_report(workspace):
    from widegap.explorer._payloads import profile, tree

    found = tree(workspace)
    assert sum(found["leaves"]) == len(X)
    assert found["merges"][-1]["size"] == len(X)
    assert len(found["merges"]) == len(found["leaves"]) - 1
    places = [float(merge["path"].partition("H")[2].partition("V")[0]) for merge in found["merges"]]
    assert places == sorted(places, reverse=True)  # the last merge is at the left
    assert places[-1] < found["cuts"][2] < places[-2] < found["cuts"][3] < places[-3]
    told = profile(workspace, 4)
    summary = summarize(workspace.fit.model, X, labels=workspace.fit.cut(4))["profile"]
    assert [line["cells"] for line in told["lines"]] == [line["cells"] for line in summary["lines"]]
    assert told["keys"] == workspace.fit.keys(4).tolist()


# Taking it home


def test_model_and_report_are_of_what_is_shown(workspace, tmp_path):
    from widegap import persistence
    from widegap.explorer._export import download

    workspace.act("k", {"k": 3})
    workspace.act("rename", {"cluster": int(workspace.keys[0]), "name": "Mine & <yours>"})
    content, _ = download(workspace, "model.widegap")
    (tmp_path / "model").write_bytes(content)
    loaded, extra = persistence.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.labels_, workspace.labels)
    assert extra["names"] == {str(workspace.labels[0]): "Mine & <yours>"}
    page, _ = download(workspace, "report.html")
    assert b"Mine &amp; &lt;yours&gt;" in page


def test_a_pipeline_is_saved_with_the_steps_before_its_model(tmp_path):
    import pandas as pd
    from sklearn.pipeline import make_pipeline

    from widegap import TableEncoder, persistence
    from widegap.explorer._export import download
    from widegap.explorer._payloads import clusters

    frame = pd.DataFrame(X, columns=["width", "height", "depth"]).assign(city=np.array(["Berlin", "Rome"])[TRUTH % 2])
    whole = make_pipeline(TableEncoder(), MaxMarginClustering(4, random_state=0)).fit(frame)
    workspace = Workspace(whole, frame)
    assert workspace.rows.names == ["width", "height", "depth"] and "Rome" in str(workspace.rows.cells(1))
    assert all(cluster["apart"] for cluster in clusters(workspace, 4))
    assert workspace.rows.text(1).startswith("width ") and workspace.rows.text(1).endswith("city Rome")
    workspace.act("k", {"k": 3})
    (tmp_path / "model").write_bytes(download(workspace, "model.widegap")[0])
    loaded, _ = persistence.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(frame), workspace.labels)
    np.testing.assert_array_equal(workspace.pipeline.predict(frame), workspace.labels)


def test_rows_with_their_clusters(model):
    import io

    import pandas as pd

    from widegap.explorer._export import download
    from widegap.explorer._rows import ShownRows

    frame = pd.DataFrame({"who": [f"=row {i}" for i in range(160)], "cluster": "mine", "price": 1.5})
    workspace = Workspace(model, X, rows=ShownRows(X, frame=frame))
    workspace.act("junk", {"rows": [7]})
    workspace.again()
    read = {
        "csv": lambda content: pd.read_csv(io.BytesIO(content)),
        "parquet": lambda content: pd.read_parquet(io.BytesIO(content)),
        "jsonl": lambda content: pd.read_json(io.BytesIO(content), lines=True),
    }
    for ending, reader in read.items():
        found = reader(download(workspace, f"assignments.{ending}")[0])
        assert found["widegap_cluster"].tolist() == workspace.labels.tolist()
        assert found["cluster"].tolist() == ["mine"] * 160
        assert found["widegap_cluster"][7] == -1
        assert found["who"][3] == ("'=row 3" if ending == "csv" else "=row 3")  # no spreadsheet runs it
        assert found["price"][0] == 1.5


def test_the_script_does_it_again(workspace):
    from widegap.explorer._export import download

    workspace.title = 'Rows """ \\ of <b>'
    workspace.act("junk", {"rows": [1, 2]})
    workspace.again()
    workspace.act("rename", {"cluster": 0, "name": 'a """ b \\n'})
    workspace.act("k", {"k": 3})
    text = download(workspace, "reproduce.py")[0].decode()
    made: dict = {"__name__": "made"}
    exec(compile(text, "reproduce.py", "exec"), made)  # noqa: S102
    again = made["reproduce"](X)
    np.testing.assert_array_equal(again.labels, workspace.labels)
    assert again.state == workspace.state and again.notes == []
