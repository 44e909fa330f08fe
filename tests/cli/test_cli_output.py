"""What the commands write: where, in what types, and what they say of it."""

import csv
import json
import os
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from widegap import TableEncoder
from widegap.cli._compare import print_chart
from widegap.cli._fitting import check_variety
from widegap.cli._main import main
from widegap.cli._output import screen
from widegap.exceptions import InvalidDataError
from widegap.selection import ClusterNumberRecord
from widegap.tables._stored import from_json, to_json
from widegap.tables._writing import delimited, json_lines, neutral, with_numbers, with_results


@pytest.fixture
def table(tmp_path):
    """Two groups, far apart, with negative numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) + np.where(np.arange(30)[:, None] % 2, 20, -20)
    path = tmp_path / "table.csv"
    pd.DataFrame(X.round(2), columns=["a", "b"]).to_csv(path, index=False)
    return path


pytestmark = pytest.mark.usefixtures("wide_screen")


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        head = file.readline()
        file.seek(0)
        return list(csv.DictReader(file, delimiter=";" if ";" in head else ","))


def said_by(capsys, *arguments, code=0):
    assert main([str(argument) for argument in arguments]) == code
    said = capsys.readouterr()
    return " ".join((said.err if code else said.out).split())


@pytest.fixture
def model(table, tmp_path):
    path = tmp_path / "m.widegap"
    assert main(["cluster", str(table), "-k", "2", "-q", "--model", str(path)]) == 0
    return path


@pytest.mark.parametrize("option", ["-o", "--report", "--model"])
def test_links_are_followed_and_modes_kept(option, table, tmp_path):
    there, link = tmp_path / "there.html", tmp_path / ("link.html" if option == "--report" else "link.csv")
    there.write_text("old", encoding="utf-8")
    there.chmod(0o600)
    link.symlink_to(there)
    assert main(["cluster", str(table), "-k", "2", "-q", option, str(link)]) == 0
    assert link.is_symlink()
    assert there.read_bytes() != b"old"
    assert there.stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == [link.name, "table.csv", "there.html"]


def test_a_link_to_a_new_file(table, tmp_path, capsys):
    (tmp_path / "link.csv").symlink_to(tmp_path / "new.csv")
    assert main(["cluster", str(table), "-k", "2", "-q", "-o", str(tmp_path / "link.csv")]) == 0
    assert len(rows_of(tmp_path / "new.csv")) == 30
    (tmp_path / "lost.csv").symlink_to(tmp_path / "nowhere" / "new.csv")
    said = said_by(capsys, "cluster", table, "-k", "2", "-o", tmp_path / "lost.csv", code=2)
    assert "nowhere: no such folder for new.csv" in said


@pytest.mark.parametrize("option", ["-o", "--report", "--model"])
def test_pipes_are_refused_before_the_fit(option, table, tmp_path, capsys):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    said = said_by(capsys, "cluster", table, "-k", "2", option, pipe, code=2)
    assert f"{pipe} is a pipe or a device, but results replace only ordinary files" in said
    assert "'-o -' for standard output" in said
    assert pipe.is_fifo()


def test_predict_refuses_pipes_too(table, model, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe or a device" in said_by(capsys, "predict", model, table, "-o", tmp_path / "pipe", code=2)


def test_numbers_with_a_decimal_comma_are_no_formulas(table, tmp_path):
    german, out, again = tmp_path / "german.csv", tmp_path / "out.csv", tmp_path / "again.csv"
    pd.read_csv(table).to_csv(german, index=False, sep=";", decimal=",")
    arguments = ["cluster", str(german), "-k", "2", "-q", "--decimal", ",", "-o", str(out)]
    assert main([*arguments, "--model", str(tmp_path / "m")]) == 0
    cells = [line.split(";") for line in german.read_text(encoding="utf-8").splitlines()[1:]]
    written = [line.split(";") for line in out.read_text(encoding="utf-8").splitlines()[1:]]
    assert [row[:2] for row in written] == cells  # in the dialect that was read
    assert all("," in row[4] and "." not in row[3] + row[4] for row in written)
    assert any(row[0].startswith("-") for row in written)
    assert main(["predict", str(tmp_path / "m"), str(german), "-q", "-o", str(again)]) == 0
    assert again.read_text() == out.read_text()


def test_only_texts_are_made_neutral():
    assert neutral("-20,45") == "-20,45"
    assert neutral("-€1,200.50") == "-€1,200.50"
    assert neutral("-1e3") == "-1e3"
    assert neutral("=-1e3") == "'=-1e3"
    assert neutral("-1+2") == "'-1+2"
    assert neutral("-") == "-"
    text = delimited(pd.DataFrame({"x": ["-1.5", "=1+1", "-", "+2"], "y": [0.5, np.nan, -1.0, 2.0]}))
    assert text == "x,y\n-1.5,0.5\n'=1+1,\n-,-1\n+2,2\n"


def test_parquet_with_gaps_in_texts(tmp_path, capsys):
    frame = pd.DataFrame({"x": [0.0, 9.0] * 10, "kind": ["u", None, "u", "v"] * 5})
    path, out = tmp_path / "gaps.parquet", tmp_path / "out.csv"
    frame.to_parquet(path)
    said = said_by(capsys, "cluster", path, "-k", "2", "-o", out)
    assert "kind category 2 different values; 5 of 20 cells are missing and have no category --drop kind" in said
    assert [row["kind"] for row in rows_of(out)][:4] == ["u", "", "u", "v"]


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_numbers_are_written_as_numbers(ending, tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / f"out{ending}"
    lines = [f"{i % 2 * 9 - 4},{'' if i == 3 else i / 7},0{i % 2},{i}a" for i in range(20)]
    path.write_text("n,x,code,text\n" + "\n".join(lines), encoding="utf-8")
    assert main(["cluster", str(path), "-k", "2", "-q", "--columns", "n", "-o", str(out)]) == 0
    if ending == ".parquet":
        rows = pd.read_parquet(out).to_dict("records")
        assert pd.isna(rows[3].pop("x"))
    else:
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        assert rows[3].pop("x") is None
    assert len(rows) == 20
    assert [row["n"] for row in rows[:2]] == [-4, 5]
    assert isinstance(rows[0]["n"], int)
    assert rows[5]["x"] == pytest.approx(5 / 7, abs=1e-14)
    assert rows[5]["code"] == "01"  # a name, whatever its digits
    assert rows[5]["text"] == "5a"


def test_numbers_with_a_decimal_comma_become_numbers():
    frame = with_numbers(pd.DataFrame({"x": ["1,5", "-2", ",5"], "y": ["1.5", "inf", "2"]}), ",")
    assert frame["x"].tolist() == [1.5, -2.0, 0.5]
    assert frame["y"].tolist() == ["1.5", "inf", "2"]


def test_texts_of_a_parquet_file_stay_texts(tmp_path):
    path, out = tmp_path / "t.parquet", tmp_path / "out.parquet"
    pd.DataFrame({"x": [0.0, 9.0] * 5, "code": ["1", "2"] * 5}).to_parquet(path)
    assert main(["cluster", str(path), "-k", "2", "-q", "-o", str(out)]) == 0
    assert pd.read_parquet(out)["code"].tolist() == ["1", "2"] * 5


COUNTED = [
    ("sample", 1, True),  # from 0 or 1, whatever the name
    ("sample", 0, True),
    ("sample", 7, False),
    ("year", 1990, False),
    ("Year", 1, False),  # of a study, say
    ("row_no", 7, True),  # or by its name
    ("customerId", 10_001, True),
    ("Index", 5, True),
    ("price", 1990, False),
    ("width", 3, False),  # has the letters "id" but not the word
]


@pytest.mark.parametrize(("name", "first", "left_out"), COUNTED)
def test_columns_that_count_the_rows_are_left_out(name, first, left_out, tmp_path, capsys):
    path = tmp_path / "t.csv"
    rows = "".join(f"{i % 2 * 9 + i / 10},{i + first}\n" for i in range(20))
    path.write_text(f"id,{name}\n{rows}", encoding="utf-8")
    found = json.loads(said_by(capsys, "cluster", path, "-k", "2", "--json"))
    assert [entry["used"] for entry in found["columns"]] == [True, not left_out]
    column = next(entry for entry in found["columns"] if entry["column"] == name)
    assert column["read_as"] == ("id" if left_out else "number")
    assert (column["why"] == "it goes up by one from row to row") != left_out
    assert (column["change"] == f"--numeric {name}") == left_out
    assert f"{name} " in said_by(capsys, "cluster", path, "-k", "2", "--columns", name).split("sets it apart")[1]


def test_columns_without_a_name_that_number_the_rows(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rows = "".join(f"{i * 37 % 101},{i % 2 * 9}\n" for i in range(20))
    path.write_text("n,x\n" + rows, encoding="utf-8")
    assert "not used" not in said_by(capsys, "cluster", path, "-k", "2")
    path.write_text(",x\n" + rows, encoding="utf-8")
    said = said_by(capsys, "cluster", path, "-k", "2")
    assert "column 1 id, not used it has no name, and a different whole number in every row" in said
    assert "The header has no name for column 1" in said


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_floats_of_a_parquet_file_are_written_to_the_last_digit(ending, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=30) + 9 * (np.arange(30) % 2), "small": rng.normal(size=30) * 1e-300})
    frame["f32"] = frame["x"].astype(np.float32)
    frame["f16"] = frame["x"].astype(np.float16)
    frame["gaps"] = frame["x"].where(frame.index != 3)
    frame["nullable"] = frame["f32"].astype("Float32").where(frame.index != 4)
    frame["whole"] = pd.array([None, *range(2**53, 2**53 + 29)], dtype="Int64")
    path, out = tmp_path / "t.parquet", tmp_path / f"out{ending}"
    frame.to_parquet(path)
    assert main(["cluster", str(path), "-k", "2", "-q", "--columns", "x", "-o", str(out)]) == 0
    if ending == ".parquet":
        pd.testing.assert_frame_equal(pd.read_parquet(out)[list(frame.columns)], frame)
        return
    if ending == ".jsonl":
        rows = [json.loads(line, parse_float=str) for line in out.read_text(encoding="utf-8").splitlines()]
    else:
        with out.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t" if ending == ".tsv" else ","))
    for name, kind in (("x", np.float64), ("small", np.float64), ("f32", np.float32), ("f16", np.float16)):
        assert [kind(row[name]) for row in rows] == frame[name].tolist()
    assert [row["f32"] for row in rows] == list(map(str, frame["f32"].to_numpy()))  # no digits that were not there
    assert rows[3]["gaps"] in ("", None)
    assert rows[4]["nullable"] in ("", None)
    assert rows[5]["nullable"] == rows[5]["f32"]
    assert str(rows[2]["whole"]) == str(2**53 + 1)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_rows_of_a_matrix_are_written_to_the_last_digit(kind, tmp_path):
    X = (np.random.default_rng(0).normal(size=(30, 2)) * 7 + 90 * (np.arange(30)[:, None] % 2)).astype(kind)
    np.save(tmp_path / "x.npy", X)
    out = tmp_path / "out.csv"
    assert main(["cluster", str(tmp_path / "x.npy"), "-k", "2", "-q", "-o", str(out)]) == 0
    rows = rows_of(out)
    assert list(rows[0]) == ["row", "column 0", "column 1", "cluster", "sure", "margin"]
    np.testing.assert_array_equal(np.array([[kind(row["column 0"]), kind(row["column 1"])] for row in rows]), X)
    wide = np.hstack([X, np.ones((30, 99), kind)])
    np.save(tmp_path / "x.npy", wide)
    assert main(["cluster", str(tmp_path / "x.npy"), "-k", "2", "-q", "-o", str(out)]) == 0
    assert list(rows_of(out)[0]) == ["row", "cluster", "sure", "margin"]


def test_json_has_no_numbers_that_json_lacks():
    text = json_lines(pd.DataFrame({"x": [np.inf, np.nan, 0.1]}))
    assert text.splitlines() == ['{"x": null}', '{"x": null}', '{"x": 0.1}']


VARIED = [(3, 4, True), (4, 4, False), (1, 2, True)]


@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize(("different", "k", "noted"), VARIED)
def test_more_clusters_than_different_rows_are_noted(different, k, noted, sparse_rows):
    X = np.zeros((12, 2))
    X[:, 1] = np.arange(12) % different
    X[::2, 0] = -0.0
    notes = []
    check_variety(k, sparse.csr_matrix(X) if sparse_rows else X, notes)
    said = f"-k {k} asks for more clusters than there are different rows ({different})"
    assert [note.startswith(said) for note in notes] == [True] * noted
    assert all(note.endswith(f"; ask for {different} or fewer.") for note in notes)


def test_the_note_on_equal_rows_reaches_the_user(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "1,2\n3,5\n8,8\n" * 10, encoding="utf-8")
    assert "-k 5 asks for more clusters than there are different rows (3)" in said_by(
        capsys, "cluster", path, "-k", "5"
    )
    assert "different rows" not in said_by(capsys, "cluster", path, "-k", "3")


def test_first_lines_that_look_like_rows(tmp_path, capsys):
    path, out = tmp_path / "t.csv", tmp_path / "out.csv"
    path.write_text("".join(f"{i % 2 * 9 + i / 8},{'uv'[i % 2]}\n" for i in range(20)), encoding="utf-8")
    said = said_by(capsys, "cluster", path, "-k", "2")
    assert "19 rows" in said
    assert "though '0.0' is a number; pass --no-header if it is a row" in said
    arguments = ["cluster", path, "-k", "2", "--no-header", "-o", out, "--model", tmp_path / "m"]
    assert "20 rows" in said_by(capsys, *arguments)
    assert list(rows_of(out)[0]) == ["column 0", "column 1", "cluster", "sure", "margin"]
    assert "20 rows" in said_by(capsys, "predict", tmp_path / "m", path, "--no-header")
    path.write_text("".join(f"{i % 2 * 9},5;{i * i},5\n" for i in range(20)), encoding="utf-8")
    said = said_by(capsys, "cluster", path, "-k", "2", "--decimal", ",")
    assert "20 rows" in said
    assert "The first line holds only numbers, so it was read as a row; pass --header if it holds names." in said
    assert "19 rows" in said_by(capsys, "cluster", path, "-k", "2", "--decimal", ",", "--header")


def test_two_results_do_not_share_a_place(table, tmp_path, capsys):
    out = tmp_path / "out.csv"
    said = said_by(capsys, "cluster", table, "-k", "2", "-o", out, "--report", tmp_path / "." / "out.csv", code=2)
    assert "out.csv is given for both -o and --report; each needs its own file" in said
    said = said_by(capsys, "cluster", table, "-k", "2", "-o", "-", "--report", "-", code=2)
    assert "-o and --report - both write to standard output" in said
    assert "a model cannot be printed" in said_by(capsys, "cluster", table, "-k", "2", "--model", "-", code=2)
    assert not out.exists()


def test_what_is_read_is_not_replaced(table, model, tmp_path, capsys):
    before, link = table.read_bytes(), tmp_path / "link.csv"
    os.link(table, link)
    for option in ("-o", "--report", "--model"):
        for path in (table, link):
            said = said_by(capsys, "cluster", table, "-k", "2", option, path, code=2)
            assert f"{path}: {option} would overwrite a file that this command reads; choose another name" in said
    assert "would overwrite" in said_by(capsys, "predict", model, table, "-o", table, code=2)
    assert "would overwrite" in said_by(capsys, "report", model, table, "--report", model, code=2)
    assert "both write to standard output" in said_by(capsys, "predict", model, table, "--json", "-o", "-", code=2)
    assert table.read_bytes() == before


def test_results_of_an_earlier_run_are_left_out(table, tmp_path, capsys):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    assert main(["cluster", str(table), "-k", "2", "-q", "-o", str(first)]) == 0
    said = said_by(capsys, "cluster", first, "-k", "2", "-o", second)
    assert "cluster result, not used an earlier run wrote it --numeric cluster" in said
    assert "sure result, not used an earlier run wrote it --numeric sure" in said
    own = ["cluster", "sure", "margin"]
    assert list(rows_of(second)[0]) == ["a", "b", *own, *(f"widegap_{name}" for name in own)]
    assert [row["widegap_margin"] for row in rows_of(second)] == [row["margin"] for row in rows_of(first)]
    assert "widegap_margin result, not used" in said_by(capsys, "cluster", second, "-k", "2")
    assert "result, not used" not in said_by(capsys, "cluster", first, "-k", "2", "--columns", "a,margin")


def test_results_share_their_names_beside_columns_of_the_user():
    frame = with_results(pd.DataFrame({"cluster": [5, 6]}), {"cluster": [0, 1], "margin": [0.1, 0.2]})
    assert list(frame) == ["cluster", "widegap_cluster", "widegap_margin"]
    again = with_results(frame, {"cluster": [0, 1], "cluster_name": ["a", ""], "margin": [0.1, 0.2]})
    assert list(again)[3:] == [f"widegap_widegap_{name}" for name in ("cluster", "cluster_name", "margin")]


def test_names_that_an_earlier_run_wrote_are_left_out_too(table, tmp_path, capsys):
    first, names = tmp_path / "first.csv", tmp_path / "names.csv"
    names.write_text("0,large ones\n", encoding="utf-8")
    assert "0 large ones" in said_by(capsys, "cluster", table, "-k", "2", "--names", names, "-o", first)
    assert {row["cluster_name"] for row in rows_of(first)} == {"large ones", ""}
    said = said_by(capsys, "cluster", first, "-k", "2")
    assert "cluster_name result, not used an earlier run wrote it --categorical cluster_name" in said


def test_few_new_rows_are_not_described_by_the_fit(table, model, tmp_path, capsys):
    assert "explained" in said_by(capsys, "cluster", table, "-k", "2")
    few = tmp_path / "few.csv"
    few.write_text("a,b\n-20,-20\n", encoding="utf-8")
    said = said_by(capsys, "predict", model, few)
    assert said.startswith("1 row, 2 clusters by MaxMarginClustering cluster size")
    assert "Very small" not in said
    assert "explained" not in said
    assert "a -20" not in said  # one row sets nothing apart


def test_the_objective_is_told_as_a_share(table, capsys):
    assert " % of the cluster labels explained" in said_by(capsys, "cluster", table, "-k", "3")
    assert " % of the cluster labels explained" in said_by(capsys, "cluster", table, "-k", "2")
    assert "(lower is better)" in said_by(capsys, "cluster", table, "-k", "2", "--method", "cpm3c")
    alone = said_by(capsys, "cluster", table, "-k", "1")
    assert "1 cluster by" in alone
    assert "explained" not in alone


BAD_ROWS = [
    (
        "a,b\n1,word\n",
        "Column 'b' was a number when the model was fitted, but no cell is one now (the first is 'word')",
    ),
    ("a,b\n", "at least one row"),
]


@pytest.mark.parametrize(("content", "message"), BAD_ROWS)
def test_predict_names_no_options_of_others(content, message, model, tmp_path, capsys):
    path = tmp_path / "bad.csv"
    path.write_text(content, encoding="utf-8")
    said = said_by(capsys, "predict", model, path, code=2)
    assert message in said
    assert "--" not in said


@pytest.mark.parametrize("missing", ["refuse", "drop"])
def test_predict_on_gaps_names_no_options_of_its_own(missing, table, tmp_path, capsys):
    model, path = tmp_path / "m", tmp_path / "gap.csv"
    path.write_text("a,b\n1,\n", encoding="utf-8")
    assert main(["cluster", str(table), "-k", "2", "-q", "--missing", missing, "--model", str(model)]) == 0
    said = said_by(capsys, "predict", model, path, code=2)
    assert "fill" in said
    assert "pass --" not in said


@pytest.mark.parametrize("weights", [[1.0, float("nan")], [float("inf"), 1.0]])
def test_scales_that_are_no_numbers_are_the_models_fault(weights):
    state = to_json(TableEncoder(scale="standard").fit(np.arange(6.0).reshape(3, 2)))
    with pytest.raises(InvalidDataError, match="are not finite, or too few; fit"):
        from_json({**state, "factors": weights})


def test_a_table_is_written_without_a_report(table, model, tmp_path, monkeypatch):
    expected, found = tmp_path / "expected.csv", tmp_path / "found.csv"
    assert main(["predict", str(model), str(table), "-o", str(expected)]) == 0
    monkeypatch.setattr("widegap.results.Result.summary", lambda *args, **options: pytest.fail("a report was made"))
    assert main(["predict", str(model), str(table), "-o", str(found), "-q"]) == 0
    assert found.read_bytes() == expected.read_bytes()


def test_json_is_printed_even_if_quiet(table, model, capsys):
    assert json.loads(said_by(capsys, "cluster", table, "-k", "2", "--json", "--quiet"))["n_rows"] == 30
    assert json.loads(said_by(capsys, "predict", model, table, "--json", "-q"))["n_rows"] == 30


@pytest.mark.parametrize("extra", [[], ["--json"], ["-o", "-"]])
def test_a_reader_that_leaves_is_no_error(extra, table):
    command = [sys.executable, "-m", "widegap", "cluster", str(table), "-k", "2", *extra]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    run.stdout.close()
    errors = run.stderr.read()
    run.stderr.close()
    assert run.wait() == 141
    assert "rror" not in errors


def test_no_minus_zero(capsys):
    record = ClusterNumberRecord(n_clusters=2, stability=1.0, gain=-0.001, smallest=1.0, largest=1.0, objective=0.5)
    print_chart(screen(), {"numbers": [asdict(record)], "recommended": 2})
    assert "+0 %" in capsys.readouterr().out


def test_what_is_said_of_noise_is_in_the_words_of_the_command_line(tmp_path, capsys):
    rows = np.random.default_rng(0).normal(size=(200, 4))
    path = tmp_path / "noise.csv"
    pd.DataFrame(rows, columns=list("abcd")).to_csv(path, index=False)
    said = said_by(capsys, "cluster", path, "-k", "3")
    assert "-k auto tells whether another number does better" in said
    assert "n_clusters" not in said
