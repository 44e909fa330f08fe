"""One rule for numbers of rows: people see them from 1, programs are told where they begin."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest

from widegap import MaxMarginClustering, persistence
from widegap.cli._main import main
from widegap.explorer import Workspace
from widegap.explorer._export import download
from widegap.explorer._payloads import find, overview, short_row
from widegap.explorer._rows import ShownRows
from widegap.report import summarize

X = np.random.default_rng(0).normal(size=(40, 2)) + 20 * (np.arange(40)[:, None] % 2)
GAPS = (0, 5, 12)  # rows that lack a value


@pytest.fixture(scope="module")
def model():
    return MaxMarginClustering(2, random_state=0).fit(X)


@pytest.fixture
def table(tmp_path):
    """A table some of whose rows are left out; ``n`` numbers all of them from 1, as a spreadsheet would."""
    frame = pd.DataFrame(X.round(3), columns=["a", "b"])
    frame.loc[list(GAPS), "a"] = np.nan
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def told_rows(summary):
    return [row for cluster in summary["clusters"] for row in (*cluster["representatives"], *cluster["borderline"])]


def test_the_column_of_a_matrix_counts_from_one(model, tmp_path):
    np.save(tmp_path / "x.npy", X)
    out = tmp_path / "out.csv"
    assert main(["cluster", str(tmp_path / "x.npy"), "-k", "2", "-q", "-o", str(out)]) == 0
    assert pd.read_csv(out)["row"].tolist() == [*range(1, 41)]
    page = download(Workspace(model, X), "assignments.csv")[0]
    assert pd.read_csv(io.BytesIO(page))["row"].tolist() == [*range(1, 41)]


def test_json_says_where_it_begins_to_count(table, capsys):
    assert main(["cluster", str(table), "-k", "2", "--missing", "drop", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows_from"] == 0
    left = np.setdiff1d(np.arange(40), GAPS)
    assert [one["row"] for one in found["assignments"]] == left.tolist()
    frame = pd.read_csv(table)
    for row in told_rows(found):  # the same numbers, not places among the rows that are left
        assert f"a {frame['a'][row['row']]:g}" in row["text"].replace(",", "")


def test_python_says_where_it_begins_to_count(model):
    assert summarize(model, X)["rows_from"] == 0
    assert overview(Workspace(model, X))["rows_from"] == 0


def test_a_number_of_the_page_is_the_row_that_refine_moves(table, tmp_path):
    model, report = tmp_path / "0.widegap", tmp_path / "r.html"
    arguments = ["cluster", str(table), "-k", "2", "--missing", "drop", "--model", str(model), "--report", str(report)]
    assert main([*arguments, "-q"]) == 0
    from widegap.cli._explore import _open_model
    from widegap.tables._delimited import Dialect

    opening = _open_model(model, table, None, Dialect("auto", None))
    workspace = Workspace(opening.model, opening.X, rows=opening.shown)
    row = 11  # among those that are left
    number = int(re.fullmatch(r"row (\d+)", short_row(workspace, row)["title"])[1])
    assert number == 15 == short_row(workspace, row)["number"]
    target = 1 - workspace.labels[row]
    new = tmp_path / "1.widegap"
    assert main(["refine", str(model), str(table), "--move", f"{number}:{target}", "--model", str(new), "-q"]) == 0
    moved = persistence.load(new)[0][-1].labels_
    assert np.flatnonzero(moved != workspace.labels).tolist() == [row]
    shown = {int(n) for n in re.findall(r'<tr class="example"><td class="num">(\d+)', report.read_text("utf-8"))}
    assert shown and not shown & {gap + 1 for gap in GAPS}


def test_rows_are_searched_and_told_by_the_numbers_that_are_shown(model):
    workspace = Workspace(model, X, rows=ShownRows(X, kept=np.arange(40) + 3))
    assert np.flatnonzero(find(workspace, {"text": "4"})).tolist() == [0]
    assert not find(workspace, {"text": "44"}).any()
    workspace.act("together", {"rows": [0, 2]})
    (said,) = overview(workspace)["corrections"]
    assert said["words"] == "linked rows 4 and 6"
    with pytest.raises(ValueError, match="[Rr]ows? 4 and 6|[Rr]ows? 6 and 4"):
        workspace.act("apart", {"rows": [0, 2]})


def test_contradictions_name_rows_of_the_table(table, tmp_path, capsys):
    (tmp_path / "must.csv").write_text("8,20\n")
    (tmp_path / "cannot.csv").write_text("20,8\n")
    links = ["--must-link", str(tmp_path / "must.csv"), "--cannot-link", str(tmp_path / "cannot.csv")]
    assert main(["cluster", str(table), "-k", "2", "--missing", "drop", *links]) == 2
    assert "Rows 8 and 20 cannot be together" in " ".join(capsys.readouterr().err.split())
