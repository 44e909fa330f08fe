"""What ``widegap cluster`` is told besides the rows: known labels, links, weights, sizes, outliers."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from widegap import MaxMarginClustering, persistence
from widegap.cli._main import main

CENTRES = [[0, 0, 0], [8, 0, 4], [0, 8, -4]]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(60, centers=CENTRES, cluster_std=0.5, random_state=0)


@pytest.fixture
def frame(blobs):
    return pd.DataFrame(blobs[0].copy(), columns=["width", "height", "depth"])  # older pandas writes into its array


pytestmark = pytest.mark.usefixtures("wide_screen")


class Run:
    """Runs ``widegap cluster`` on a frame."""

    def __init__(self, folder, capsys):
        self.folder, self.capsys = folder, capsys

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return str(self.folder / name)

    def __call__(self, frame, *options, k="3"):
        """The clusters as written, and the summary."""
        frame.to_csv(self.folder / "table.csv", index=False)
        out = self.folder / "out.csv"
        code = main(["cluster", str(self.folder / "table.csv"), "-k", k, "-o", str(out), "--json", *options])
        shown = self.capsys.readouterr()
        assert code == 0, shown.err
        with out.open(encoding="utf-8", newline="") as file:
            labels = [int(row["cluster"]) for row in csv.DictReader(file)]
        return np.array(labels), json.loads(shown.out)

    def refusal(self, frame, *options, k="3"):
        frame.to_csv(self.folder / "table.csv", index=False)
        assert main(["cluster", str(self.folder / "table.csv"), "-k", k, *options]) == 2
        return " ".join(self.capsys.readouterr().err.split())


@pytest.fixture
def run(tmp_path, capsys):
    return Run(tmp_path, capsys)


@pytest.mark.parametrize("method", ["max-margin", "cpm3c", "mkc"])
def test_known_rows_keep_their_labels_and_name_their_clusters(run, frame, blobs, method):
    y = blobs[1]
    frame["kind"] = ""
    wrong, right = np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[:4]
    frame.loc[wrong, "kind"] = "bulky"  # against what the rows say: the label must hold all the same
    frame.loc[right, "kind"] = "bulky"
    frame.loc[np.flatnonzero(y == 2)[:3], "kind"] = "flat"
    labels, summary = run(frame, "--known-column", "kind", "--method", method)
    names = {cluster["label"]: cluster["name"] for cluster in summary["clusters"]}
    found = np.array([names[label] for label in labels])
    assert (found[frame["kind"] == "bulky"] == "bulky").all()
    assert (found[frame["kind"] == "flat"] == "flat").all()
    assert (found[y == 2] == "flat").all()
    with (run.folder / "out.csv").open(encoding="utf-8", newline="") as file:
        named = {(row["cluster"], row["cluster_name"]) for row in csv.DictReader(file)}
    assert {name for _, name in named} == {"bulky", "flat", ""} and len(named) == 3
    assert {"known": 8, "labels": ["bulky", "flat"], "set_aside": 0}.items() <= summary["by_hand"].items()
    assert "Fixed by hand: 8 rows known by 'kind' (2 labels)." in summary["warnings"]
    assert [column["used"] for column in summary["columns"] if column["column"] == "kind"] == [False]


def test_a_saved_model_and_its_report_know_the_names(run, frame, blobs, tmp_path):
    frame["kind"] = np.where(np.arange(60) < 12, np.array(["a kind", "b kind", "c kind"])[blobs[1]], "")
    model, page = tmp_path / "m.widegap", tmp_path / "r.html"
    run(frame, "--known-column", "kind", "--model", str(model), "--report", str(page))
    assert persistence.load(model)[0][-1].classes_ == ["a kind", "b kind", "c kind"]
    text = page.read_text(encoding="utf-8")
    assert "Fixed by hand: 12 rows known by" in text and "b kind" in text
    new = tmp_path / "new.csv"
    frame.drop(columns="kind").to_csv(new, index=False)
    assert main(["report", str(model), str(new), "--report", str(page), "-q"]) == 0
    assert "b kind" in page.read_text(encoding="utf-8")


def test_links_are_kept_by_row_number_and_by_id(run, frame, blobs):
    y = blobs[1]
    a, b = np.flatnonzero(y == 0)[:2]
    c = np.flatnonzero(y == 1)[0]
    for offset in (None, 1000):
        rows = {i: str(i + 1) if offset is None else f"K{offset + i}" for i in (a, b, c)}
        if offset is not None:
            frame.insert(0, "id", [f"K{offset + i}" for i in range(60)])
        must = run.write("must.csv", f"one,other\n{rows[a]},{rows[c]}\n\n")
        cannot = run.write("cannot.csv", f"{rows[a]};{rows[b]}\n")
        labels, summary = run(frame, "--must-link", must, "--cannot-link", cannot)
        assert labels[a] == labels[c] != labels[b]
        assert (summary["by_hand"]["must_links"], summary["by_hand"]["cannot_links"]) == (1, 1)
        assert "--must-link must.csv: the first line, 'one' and 'other', names the columns." in summary["warnings"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2\n3,61\n", "must.csv, line 2: '61' is not a row number from 1 to 60"),
        ("1,2\n\n0,4\n", "must.csv, line 3: '0' is not a row number"),
        ("1,b\n", "must.csv, line 1: 'b' is not a row number"),
        ("1,2,3\n", "must.csv, line 1: 3 columns; there must be two"),
        ("5,5\n", "must.csv, line 1: links '5' with itself"),
        ("1,2\n2,3\n3,7\n", "Rows 1 and 7 cannot be together by --cannot-link, but 1 - 2 (must-link), 2 - 3"),
    ],
)
def test_bad_links_are_refused(run, frame, text, expected):
    said = run.refusal(
        frame, "--must-link", run.write("must.csv", text), "--cannot-link", run.write("cannot.csv", "1,7\n")
    )
    assert expected in said


def test_rows_that_were_left_out_cannot_be_linked(run, frame):
    frame.loc[1, "width"] = np.nan
    path = run.write("must.csv", "1,3\n2,3\n")
    said = run.refusal(frame, "--must-link", path, "--missing", "drop")
    assert "line 2: row '2' lacks a value and was left out" in said
    labels, _ = run(frame, "--must-link", run.write("must.csv", "3,60\n"), "--missing", "drop")
    assert len(labels) == 59 and labels[1] == labels[58]  # numbers are those of the file


def test_weights_are_those_of_the_estimator(run, frame):
    frame["times"] = np.where(np.arange(60) % 3 == 0, 0, 1 + np.arange(60) % 2)
    labels, summary = run(frame, "--weight-column", "times", "--scale", "none", k="2")
    model = MaxMarginClustering(2, random_state=0, standardize=False)
    X = frame[["width", "height", "depth"]].to_numpy()
    np.testing.assert_array_equal(labels, model.fit(X, sample_weight=frame["times"].to_numpy()).labels_)
    assert summary["by_hand"]["weight_column"] == "times"
    assert len(model.agreement_) == 60 and (model.agreement_ > 0).all()  # rows without weight have their cluster's


def test_sizes_have_an_upper_bound(run, frame):
    for method in ("max-margin", "cpm3c"):
        labels, _ = run(frame, "--max-size", "32", "--min-size", "45%", "--method", method, k="2")
        assert 27 <= min(np.bincount(labels)) and max(np.bincount(labels)) <= 32


def test_rows_that_belong_nowhere_are_set_aside(run, frame):
    far = pd.DataFrame([[40, 40, 40], [-60, 20, 5], [5, -70, 30]], columns=frame.columns)
    labels, summary = run(pd.concat([frame, far], ignore_index=True), "--outliers", "5%", "--scale", "none")
    assert set(np.flatnonzero(labels == -1)) == {60, 61, 62}
    assert summary["by_hand"]["set_aside"] == 3
    assert "3 rows in no cluster, marked -1." in summary["warnings"]
    assert [item["margin"] for item in summary["assignments"][60:]] == [None] * 3


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--known-column", "kind", "--method", "iter-svr"], "iter-svr; methods that take it: cpm3c, mkc, max-margin"),
        (["--outliers", "5%", "--method", "iter-svr"], "iter-svr; methods that take it: cpm3c, mkc, max-margin."),
        (["--max-size", "30", "--method", "iter-svm"], "--max-size is not possible with --method iter-svm"),
        (["--outliers", "2"], "--outliers '2' must be a share of the rows, such as 5% or 0.05, or auto"),
        (["--max-size", "few"], "--max-size 'few' must be a number of rows"),
        (["--max-size", "10"], "--max-size asks for 3 clusters of 10 rows or fewer, but there are 60 rows; raise one"),
        (["--known-column", "kinds"], "has no column 'kinds' (--known-column); did you mean 'kind'"),
        (["--known-column", ""], "has no column '' (--known-column)"),
        (["--weight-column", ""], "has no column '' (--weight-column)"),
        (["--outliers", "0.999"], "outliers=0.999 leaves 0 of 60 rows"),
        (["--known-column", "empty"], "--known-column 'empty' holds no label at all"),
        (["--known-column", "kind", "--label-column", "kind"], "--known-column and --label-column both name 'kind'"),
        (["--known-column", "many"], "--known-column many holds 4 labels ('p', 'q', 'r', 's'), but -k is 3"),
        (["--weight-column", "kind"], "--weight-column 'kind' holds 'a' in row 1"),
        (["--weight-column", "minus"], "--weight-column 'minus' holds '-1' in row 2"),
        (["--must-link", "nowhere.csv"], "--must-link nowhere.csv: no such file"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(run, frame, options, expected):
    frame["kind"] = np.where(np.arange(60) < 2, "a", "")
    frame["many"] = np.array(list("pqrs"))[np.arange(60) % 4]
    frame["minus"] = np.where(np.arange(60) == 1, -1, 1)
    frame["empty"] = ""
    assert expected in run.refusal(frame, *options, k="2" if "iter-svr" in options else "3")


@pytest.mark.parametrize("text", ["A1,A7\n", "", "\n\n"])
def test_a_file_without_links_is_refused(run, frame, text):
    # A single line whose names are mistyped would pass for names of columns, and nothing would be linked.
    said = run.refusal(frame, "--must-link", run.write("must.csv", text))
    assert "must.csv holds no links; each line names two rows, and a row is a row number from 1 to 60." in said


def test_a_range_of_numbers_says_that_it_was_compared_without(run, frame):
    frame["kind"] = np.where(np.arange(60) < 1, "a", "")
    labels, summary = run(frame, "--known-column", "kind", k="2-4")
    assert summary["n_clusters"] == 3
    assert any(
        note.startswith("The numbers of clusters were compared without --known-column") for note in summary["warnings"]
    )
