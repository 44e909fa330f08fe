"""``widegap refine``: every correction holds, nothing else changes, and what was fixed stays fixed."""

import csv
import json
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs

from widegap import persistence
from widegap.cli._main import main
from widegap.corrections._actions import constraints_of, state_of
from widegap.corrections._stored_log import StoredCorrections
from widegap.describe import leads, scores

CENTRES = [[0, 0], [9, 0], [0, 9], [9, 9]]


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """A table of four groups and a model that was told the label of one row and two links."""
    folder = tmp_path_factory.mktemp("start")
    X, y = make_blobs(80, centers=CENTRES, cluster_std=0.6, random_state=0)
    frame = pd.DataFrame(X, columns=["width", "height"])
    frame["kind"] = np.where(np.arange(80) == np.flatnonzero(y == 1)[0], "tall", "")
    frame.to_csv(folder / "table.csv", index=False)
    first, second, third = np.flatnonzero(y == 0)[:3] + 1
    (folder / "must.csv").write_text(f"{first},{second}\n")
    arguments = ["cluster", str(folder / "table.csv"), "-k", "4", "--known-column", "kind", "--must-link"]
    assert main([*arguments, str(folder / "must.csv"), "--model", str(folder / "0.widegap"), "-q"]) == 0
    return folder


class Refine:
    """Runs ``widegap refine``, each time from the last model."""

    def __init__(self, folder, capsys):
        self.folder, self.capsys, self.n = folder, capsys, 0

    @property
    def model(self):
        return persistence.load(self.folder / f"{self.n}.widegap")[0][-1]

    @property
    def log(self):
        """The log of corrections in the model file."""
        return persistence.load(self.folder / f"{self.n}.widegap")[1]["corrections"]["events"]

    @property
    def fixed(self):
        """The constraints that follow from it."""
        stored = StoredCorrections.read(persistence.load(self.folder / f"{self.n}.widegap")[1], 10**6, 10**6)
        return constraints_of(state_of(stored.events).corrections)

    @property
    def features(self):
        """The rows as the estimator gets them."""
        encoder = persistence.load(self.folder / f"{self.n}.widegap")[0][0]
        return encoder.transform(pd.read_csv(self.folder / "table.csv", dtype=str, keep_default_na=False))

    @property
    def labels(self):
        return self.model.labels_

    def command(self, *options):
        old, new = (self.folder / f"{n}.widegap" for n in (self.n, self.n + 1))
        return main(["refine", str(old), str(self.folder / "table.csv"), "--model", str(new), *options])

    def __call__(self, *options):
        out = self.folder / "out.csv"
        code = self.command("-o", str(out), "--json", *options)
        shown = self.capsys.readouterr()
        assert code == 0, shown.err
        self.n += 1
        with out.open(newline="") as file:
            np.testing.assert_array_equal([int(row["cluster"]) for row in csv.DictReader(file)], self.labels)
        return json.loads(shown.out)

    def refusal(self, *options):
        assert self.command(*options) == 2
        return " ".join(self.capsys.readouterr().err.split())


@pytest.fixture
def refine(start, tmp_path, capsys):
    shutil.copytree(start, tmp_path, dirs_exist_ok=True)
    return Refine(tmp_path, capsys)


def rows(places):
    """Places from 0 as the command line numbers rows."""
    return ",".join(str(place + 1) for place in places)


def test_merge_makes_two_clusters_one_and_leaves_the_others(refine):
    before, names = refine.labels, refine.model.classes_
    assert names == ["tall", None, None, None]
    summary = refine("--merge", "1,2")
    np.testing.assert_array_equal(refine.labels, np.array([0, 1, 1, 2])[before])
    assert refine.model.classes_ == ["tall", None, None]
    assert "merged Cluster 1 and Cluster 2" in summary["by_hand"]["words"]
    new = refine.model.predict(refine.features)
    assert np.mean(new == refine.labels) > 0.95  # the model, too, knows the merged cluster


def test_split_divides_one_cluster_as_a_merge_of_two_groups_asks(refine):
    before = refine.labels
    refine("--merge", "1,3")
    merged = refine.labels
    refine("--split", "1")
    after = refine.labels
    np.testing.assert_array_equal(after[merged != 1], merged[merged != 1])
    pairs = set(zip(before[merged == 1].tolist(), after[merged == 1].tolist(), strict=True))
    assert len(pairs) == 2 and {new for _, new in pairs} == {1, 3}  # the two groups that had been merged
    assert refine.model.n_clusters_ == 4


def test_moved_rows_are_where_they_were_put_and_no_other_row_moves(refine):
    before = refine.labels
    moved = np.flatnonzero(before == 2)[:3]
    refine("--move", f"{rows(moved)}:tall")
    expected = before.copy()
    expected[moved] = 0
    np.testing.assert_array_equal(refine.labels, expected)
    out = refine.folder / "again.csv"
    assert (
        main(["predict", str(refine.folder / "1.widegap"), str(refine.folder / "table.csv"), "-o", str(out), "-q"]) == 0
    )
    assert pd.read_csv(out)["cluster"].tolist() == expected.tolist()


def test_moves_may_come_from_a_file(refine):
    before = refine.labels
    a, b = np.flatnonzero(before == 2)[0], np.flatnonzero(before == 3)[0]
    file = refine.folder / "moves.csv"
    file.write_text(f"row,cluster\n{a + 1},3\n{b + 1},2\n")
    refine("--move", str(file))
    assert (refine.labels[a], refine.labels[b]) == (3, 2)
    file.write_text("row,cluster\n1,2\n5,9\n")
    assert "line 3: --move: there is no cluster '9'; they are numbered from 0 to 3" in refine.refusal(
        "--move", str(file)
    )


def test_a_name_is_kept_and_shown(refine):
    summary = refine("--rename", "2=loyal", "--rename", "tall=high")
    assert refine.model.classes_ == ["high", None, "loyal", None]
    assert [cluster["name"] for cluster in summary["clusters"]][::2] == ["high", "loyal"]
    page = refine.folder / "r.html"
    model, table = refine.folder / "1.widegap", refine.folder / "table.csv"
    assert main(["report", str(model), str(table), "--report", str(page), "-q"]) == 0
    assert "loyal" in page.read_text(encoding="utf-8")


def test_rows_set_aside_have_no_cluster_and_no_influence(refine):
    before = refine.labels
    gone = np.flatnonzero(before == 3)[:5]
    summary = refine("--outliers", rows(gone))
    expected = before.copy()
    expected[gone] = -1
    np.testing.assert_array_equal(refine.labels, expected)
    assert summary["by_hand"]["set_aside"] == 5 and "5 rows in no cluster, marked -1" in summary["by_hand"]["words"]
    inside = expected >= 0
    X = refine.features[inside]
    alone = clone(refine.model).fit(X, known=before[inside], must_link=pairs_within(refine.fixed, inside))
    np.testing.assert_allclose(alone.coef_, refine.model.coef_)


def pairs_within(fixed, inside):
    place = np.cumsum(inside) - 1
    return place[fixed.must_link]


@pytest.mark.parametrize("follow", [[], ["--follow"]])
def test_a_later_refine_keeps_the_earlier_ones(refine, follow):
    before = refine.labels
    moved, gone = np.flatnonzero(before == 2)[:2], np.flatnonzero(before == 1)[:2]
    must = refine.fixed.must_link
    assert must.shape == (1, 2)
    refine("--move", f"{rows(moved)}:3", "--outliers", rows(gone), "--rename", "3=mine", *follow)
    assert {*moved.tolist()} <= {*refine.fixed.by_hand} and refine.fixed.junk.tolist() == gone.tolist()
    refine("--merge", "1,2", *follow)
    summary = refine("--split", "mine", "--rename", "0=first", *follow)
    labels = refine.labels
    mine = refine.model.classes_.index("mine")
    assert (labels[moved] == mine).all()  # through the renumbering of the merge, and a split of their cluster
    assert (labels[gone] == -1).all()
    assert labels[must[0, 0]] == labels[must[0, 1]]
    assert refine.model.classes_[0] == "first"
    words = summary["by_hand"]["words"]
    assert [event["kind"] for event in refine.log] == [
        "links",
        "is",
        "rename",
        "is",
        "junk",
        "merge",
        "rename",
        "split",
    ]
    moves, junk = (f"rows {' and '.join(rows(some).split(','))}" for some in (moved, gone))
    expected = (f"assigned {moves} to mine", f"marked {junk} as junk", "merged Cluster 1 and Cluster 2")
    assert all(part in words for part in (*expected, "split mine in two"))


def test_others_follow_only_if_asked(refine):
    """On iris, where two species touch: half of the flowers that are in the wrong cluster are moved."""
    X, y = load_iris(return_X_y=True)
    table, model = refine.folder / "table.csv", refine.folder / "0.widegap"
    pd.DataFrame(X, columns=["a", "b", "c", "d"]).to_csv(table, index=False)
    assert main(["cluster", str(table), "-k", "3", "--model", str(model), "-q"]) == 0
    before = refine.labels
    truth = np.array([np.bincount(before[y == kind]).argmax() for kind in range(3)])[y]
    moved = np.flatnonzero(before != truth)[::2]
    moves = [text for row in moved for text in ("--move", f"{row + 1}:{truth[row]}")]
    margins = leads(scores(refine.model, refine.features), before)
    refine(*moves)
    assert {*np.flatnonzero(refine.labels != before)} == {*moved}

    shutil.copy(model, refine.folder / "1.widegap")
    refine(*moves, "--follow")
    assert (refine.labels[moved] == truth[moved]).all()
    followed = np.setdiff1d(np.flatnonzero(refine.labels != before), moved)
    assert len(followed)
    middle = [np.median(margins[before == label]) for label in range(3)]
    assert all(margins[row] < middle[before[row]] for row in followed)  # typical rows stay


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "Nothing to correct; pass --merge, --split, --move, --rename or --outliers"),
        (["--merge", "1"], "--merge '1' must name two clusters or more"),
        (["--merge", "1,7"], "there is no cluster '7'; they are numbered from 0 to 3, or called 'tall'"),
        (["--merge", "1,2", "--split", "2"], "--split 2: the same command merges this cluster"),
        (["--move", "81:1"], "--move: '81' is not a row number from 1 to 80"),
        (["--move", "81"], "--move '81' is neither rows and a cluster, such as 4,7:2, nor a file"),
        (["--rename", "1"], "--rename '1' must be a cluster and its name"),
        (["--rename", "1=tall"], "another cluster is called 'tall'"),
        (["--outliers", ","], "--outliers ',' names no rows"),
        (["--move", "4:1", "--move", "4:2"], "Row 4 is moved to 1 and moved to 2 by the same command; keep one"),
        (["--move", "3-5:1", "--outliers", "4"], "Row 4 is moved to 1 and an outlier by the same command; keep one"),
        (["--outliers", "1-80"], "Cluster 0 would have no rows left"),
    ],
)
def test_what_cannot_be_done_is_refused(refine, options, expected):
    assert expected in refine.refusal(*options)


def test_a_file_that_moves_nothing_is_refused(refine):
    (refine.folder / "moves.csv").write_text("A4,1\n")  # one mistyped line passes for names of columns
    assert "moves no row; each line names one and its new cluster" in refine.refusal(
        "--move", str(refine.folder / "moves.csv")
    )


def test_weights_that_a_model_asks_for_in_vain(refine):
    path = refine.folder / "0.widegap"
    model, extra = persistence.load(path)
    persistence.save(model, path, extra={**extra, "weight_column": "times"})
    assert "lacks the column 'times', the weights that the model was fitted with" in refine.refusal("--move", "4:1")


def test_a_move_against_a_link_is_refused_with_the_reason(refine):
    a, b = refine.fixed.must_link[0]
    other = (refine.labels[a] + 1) % 4
    said = refine.refusal("--move", f"{a + 1}:{other}")
    assert f"Rows {a + 1} and {b + 1} are" in said or f"Rows {b + 1} and {a + 1} are" in said
    assert "links put them together" in said
    refine("--move", f"{a + 1},{b + 1}:{other}")
    assert refine.labels[a] == refine.labels[b] == other


def test_other_rows_and_other_models_are_refused(refine):
    table = pd.read_csv(refine.folder / "table.csv")
    table["width"] += 1
    table.to_csv(refine.folder / "table.csv", index=False)
    assert "does not hold the rows that the model was fitted to" in refine.refusal("--rename", "1=a")
    arguments = ["cluster", str(refine.folder / "table.csv"), "-k", "2", "--method", "iter-svr", "--model"]
    assert main([*arguments, str(refine.folder / "0.widegap"), "-q"]) == 0
    assert "IterSVR takes no known labels, so its result cannot be refined" in refine.refusal("--rename", "1=a")


@pytest.mark.parametrize(
    "fixed",
    [{"rows": [500], "clusters": [0]}, {"rows": [1], "clusters": []}, {"must_link": [[1]]}, [], {"aside": ["1"]}],
)
def test_damaged_notes_in_a_model_file_are_refused(refine, fixed):
    path = refine.folder / "0.widegap"
    model, extra = persistence.load(path)
    persistence.save(model, path, extra={**extra, "corrections": None, "fixed": fixed})
    assert "The corrections in the model file are damaged" in refine.refusal("--rename", "1=a")


@pytest.mark.parametrize("method", ["cpm3c", "mkc"])
def test_models_of_other_methods_are_refined_as_well(refine, method):
    table = str(refine.folder / "table.csv")
    arguments = ["cluster", table, "-k", "3", "--method", method, "--columns", "width,height", "-q", "--model"]
    assert main([*arguments, str(refine.folder / "0.widegap")]) == 0
    before = refine.labels
    row = np.flatnonzero(before == 2)[0]
    refine("--merge", "0,1", "--move", f"{row + 1}:0")
    expected = np.array([0, 0, 1])[before]
    expected[row] = 0
    np.testing.assert_array_equal(refine.labels, expected)


def test_outliers_weights_sizes_and_ids_of_the_first_fit(refine):
    table = pd.read_csv(refine.folder / "table.csv")[["width", "height"]]
    table.insert(0, "id", [f"R{i}" for i in range(80)])
    table["times"] = 1 + np.arange(80) % 2
    table.to_csv(refine.folder / "table.csv", index=False)
    arguments = ["cluster", str(refine.folder / "table.csv"), "-k", "4", "--outliers", "5%", "--max-size", "22"]
    model = str(refine.folder / "0.widegap")
    assert main([*arguments, "--weight-column", "times", "--model", model, "-q"]) == 0
    before = refine.labels
    aside = np.flatnonzero(before == -1)
    assert len(aside) > 1
    summary = refine("--move", f"R{aside[0]}:2", "--merge", "0,1")  # beyond the bound: corrections go first
    expected = np.where(before == -1, -1, np.array([0, 0, 1, 2])[before])
    expected[aside[0]] = 1
    np.testing.assert_array_equal(refine.labels, expected)
    assert summary["by_hand"]["weight_column"] == "times"
    page = opened(refine)  # which names rows as the command line does, and weighs them
    assert page.rows.title(aside[0]) == f"row {aside[0] + 1} (R{aside[0]})"
    np.testing.assert_array_equal(page.weights, table["times"])
    assert "'3' is not a value of the column 'id'" in refine.refusal("--move", "3:1")


def test_models_of_documents_are_refused(refine):
    texts = [f"{word} {word} {i}" for i in range(6) for word in ("apples pears plums", "nuts bolts screws")]
    pd.DataFrame({"text": texts}).to_csv(refine.folder / "texts.csv", index=False)
    model = str(refine.folder / "0.widegap")
    assert main(["documents", str(refine.folder / "texts.csv"), "-k", "2", "--model", model, "-q"]) == 0
    said = refine.refusal("--rename", "1=a")
    assert "is a model of documents" in said and "--known-column" in said


# What the explorer and refine share


def opened(refine, n=None):
    """The workspace that ``widegap explore`` opens on a model and its table."""
    from widegap.cli._explore import _open_model
    from widegap.explorer import Workspace
    from widegap.tables._delimited import Dialect

    model = refine.folder / f"{refine.n if n is None else n}.widegap"
    found = _open_model(model, refine.folder / "table.csv", None, Dialect("auto", None))
    shown = {"rows": found.shown, "encoder": found.encoder, "extra": found.extra, "weights": found.weights}
    return Workspace(found.model, found.X, **shown)


def taken_home(refine, workspace):
    """Export the model of a workspace as the next one of ``refine``."""
    from widegap.explorer._export import download

    refine.n += 1
    (refine.folder / f"{refine.n}.widegap").write_bytes(download(workspace, "model.widegap")[0])


def same_statements(first, second):
    return first.known == second.known and first.junk.tolist() == second.junk.tolist() and all(
        np.array_equal(a, b) for a, b in ((first.must_link, second.must_link), (first.cannot_link, second.cannot_link))
    )  # fmt: skip


def test_the_explorer_restores_what_was_fixed_and_exports_it(refine):
    before, fixed = refine.labels, refine.fixed
    moved, gone = np.flatnonzero(before == 2)[-2:].tolist(), np.flatnonzero(before == 1)[-2:].tolist()
    refine("--move", f"{rows(moved)}:3", "--outliers", rows(gone), "--rename", "3=mine")
    workspace = opened(refine)
    assert workspace.pending == 0 and not workspace.history.can_undo
    assert {said["kind"] for said in workspace.constraints} == {"is", "links", "junk"}
    assert workspace.names() == {"0": "tall", "3": "mine"}
    np.testing.assert_array_equal(workspace.labels, refine.labels)
    extra = int(np.flatnonzero(before == 0)[-1])
    workspace.act("is", {"rows": [extra], "cluster": 2})
    workspace.again()
    assert (workspace.keys[moved] == 3).all() and (workspace.keys[gone] == -1).all() and workspace.keys[extra] == 2
    assert len(set(workspace.keys[fixed.must_link[0]])) == 1
    labels = workspace.labels
    taken_home(refine, workspace)
    assert {*moved, extra} <= {*refine.fixed.by_hand} and refine.fixed.junk.tolist() == gone
    assert refine.fixed.must_link.tolist() == fixed.must_link.tolist()
    again = opened(refine)
    np.testing.assert_array_equal(again.labels, labels)
    assert same_constraints(again, workspace)
    summary = refine("--rename", "1=other")
    np.testing.assert_array_equal(refine.labels, labels)
    assert {*moved, extra} <= {*refine.fixed.by_hand} and refine.fixed.junk.tolist() == gone
    assert refine.model.classes_ == ["tall", "other", None, "mine"]
    words = summary["by_hand"]["words"]
    corrections = (" to mine", f"assigned row {extra + 1} to Cluster 2", "renamed cluster 1 to 'other'")
    assert all(part in words for part in corrections)


def same_constraints(first, second):
    return same_statements(constraints_of(first.corrections), constraints_of(second.corrections))


def test_what_was_fixed_can_be_taken_back_on_the_page_and_survives_a_session(refine):
    from widegap.explorer import Workspace

    path = refine.folder / "session.jsonl"
    first = opened(refine)
    first = Workspace(first.opening.model, first.X, extra=first.extra, session=path)
    links = next(said for said in first.constraints if said["kind"] == "links")
    first.act("drop", {"statement": links["number"]})
    assert first.pending == 1
    first.close()
    second = Workspace(first.opening.model, first.X, extra=first.extra, session=path, resume=True)
    assert second.state == first.state and second.pending == 1
    second.again()
    assert [said["kind"] for said in second.constraints] == ["is"] and second.pending == 0
    second.undo()
    second.undo()
    with pytest.raises(ValueError, match="nothing to undo"):
        second.undo()


def test_the_script_takes_a_model_that_was_corrected_before(refine):
    from widegap.explorer._export import download

    workspace = opened(refine)
    workspace.act("is", {"rows": [5], "cluster": int(workspace.keys[5])})
    workspace.again()
    made = {"__name__": "made"}
    exec(compile(download(workspace, "reproduce.py")[0].decode(), "reproduce.py", "exec"), made)  # noqa: S102
    again = made["reproduce"](workspace.X, workspace.opening.model)
    assert again.state.corrections == workspace.state.corrections and again.notes == []
    np.testing.assert_array_equal(again.labels, workspace.labels)


def test_a_merge_means_the_same_on_the_page_and_in_refine(refine):
    """In clusters that overlap, also where others may follow, and for whoever opens the result."""
    X, _ = make_blobs(120, centers=CENTRES, cluster_std=3.5, random_state=3)
    pd.DataFrame(X, columns=["width", "height"]).to_csv(refine.folder / "table.csv", index=False)
    model = str(refine.folder / "0.widegap")
    assert main(["cluster", str(refine.folder / "table.csv"), "-k", "4", "--model", model, "-q"]) == 0
    before = refine.labels
    workspace = opened(refine)
    workspace.act("merge", {"clusters": [1, 2]})
    workspace.again()
    refine("--merge", "1,2", "--follow")
    for labels in (workspace.keys, refine.labels):
        assert set(labels[np.isin(before, [1, 2])]) == {1}
    from_refine = opened(refine)
    taken_home(refine, workspace)
    from_page = opened(refine)
    for found in (from_refine, from_page):
        found.act("junk", {"rows": [int(np.flatnonzero(before == 0)[0])]})
        found.again()  # a new search, which keeps to the merge
        assert set(found.keys[np.isin(before, [1, 2])]) == {1}


def old_file(refine, fixed):
    """Turn the last model file into one from before the log, which holds the outcome of the corrections."""
    path = refine.folder / f"{refine.n}.widegap"
    model, extra = persistence.load(path)
    del extra["corrections"]
    persistence.save(model, path, extra={**extra, "fixed": fixed})


def test_a_file_from_before_the_log_is_replayed(refine):
    before = refine.labels
    moved, merged = np.flatnonzero(before == 2)[:2].tolist(), np.flatnonzero(before == 1).tolist()
    fixed = {
        "rows": moved,
        "clusters": [2, 2],
        "settled_rows": merged,
        "settled_clusters": [1] * len(merged),
        "must_link": [[0, int(np.flatnonzero(before == before[0])[1])]],
        "cannot_link": [],
        "aside": [],
        "corrections": ["merged 1 and 2"],
    }
    old_file(refine, fixed)
    workspace = opened(refine)
    assert [event.kind for event in workspace.corrections] == ["links", "is", "is"] and workspace.pending == 0
    summary = refine("--rename", "3=mine")
    assert "Corrected: merged 1 and 2; renamed cluster 3 to 'mine'." in summary["by_hand"]["words"]
    found = refine.fixed
    assert found.by_hand == dict.fromkeys(moved, 2) and found.settled == {*merged}
    assert found.must_link.tolist() == fixed["must_link"]
    np.testing.assert_array_equal(refine.labels, before)


@pytest.mark.parametrize(
    "event",
    [
        {"kind": "junk", "rows": [500]},
        {"kind": "is", "rows": [1], "cluster": 4},
        {"kind": "again", "parent": 0, "using": [], "k": 2, "shown": 2, "labels": ""},
        {"kind": "fly"},
        {},
    ],
)
def test_damaged_logs_are_refused(refine, event):
    path = refine.folder / "0.widegap"
    model, extra = persistence.load(path)
    log = {"events": [{"number": 1, "at": "", **event}]}
    persistence.save(model, path, extra={**extra, "corrections": log})
    assert "The corrections in the model file are damaged" in refine.refusal("--rename", "1=a")


def test_a_chain_of_merges_makes_one_cluster_here_and_on_the_page(refine):
    before = refine.labels
    workspace = opened(refine)
    workspace.act("merge", {"clusters": [1, 2]})
    workspace.act("merge", {"clusters": [2, 3]})
    workspace.again()
    refine("--merge", "1,2", "--merge", "2,3")
    np.testing.assert_array_equal(workspace.labels, np.minimum(before, 1))
    np.testing.assert_array_equal(refine.labels, np.minimum(before, 1))
    refine("--split", "1")
    assert [event["clusters"] for event in refine.log if event["kind"] == "merge"] == [[1, 3], [1, 4]]


def test_a_merged_cluster_takes_the_first_name_here_and_on_the_page(refine):
    refine("--rename", "2=second", "--rename", "3=third")
    workspace = opened(refine)
    workspace.act("merge", {"clusters": [1, 3]})
    assert workspace.state.names[1] == "third"
    refine("--merge", "1,3")
    assert refine.model.classes_ == ["tall", "third", "second"]


def test_a_split_means_the_same_on_the_page_and_in_refine(refine):
    """All rows of the cluster go to one part or the other, and rows that were assigned stay."""
    assigned = np.flatnonzero(refine.labels == 2)[:2]
    refine("--move", f"{rows(assigned)}:2")
    before = refine.labels
    workspace = opened(refine)
    stay, leave = workspace.act("split", {"cluster": 2}).data["parts"]
    assert sorted(stay + leave) == np.flatnonzero(before == 2).tolist() and {*assigned.tolist()} <= {*stay}
    workspace.again()
    assert set(workspace.keys[stay]) == {2} and set(workspace.keys[leave]) == {4}
    refine("--split", "2")
    np.testing.assert_array_equal(refine.labels, workspace.labels)


def test_a_new_search_in_the_explorer_follows_the_weights(refine):
    """Junk takes part in no fit, so the search is a new one."""
    from widegap.explorer import Workspace

    workspace = opened(refine)
    weights = 1.0 + np.arange(80) % 2
    workspace = Workspace(workspace.opening.model, workspace.X, weights=weights)
    workspace.act("junk", {"rows": [0]})
    workspace.again()
    alone = clone(workspace.opening.model).fit(workspace.X[1:], sample_weight=weights[1:])
    np.testing.assert_allclose(workspace.model.coef_, alone.coef_)
