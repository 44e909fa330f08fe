"""``widegap cluster``, ``predict`` and ``report`` on files of every kind."""

import csv
import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, make_blobs

from widegap import MaxMarginClustering
from widegap.cli._main import main
from widegap.tables import _standard_input
from widegap.tables._writing import neutral

CENTRES = [[0, 0, 0], [8, 0, 4], [0, 8, -4]]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(60, centers=CENTRES, cluster_std=0.5, random_state=0)


@pytest.fixture
def table(tmp_path, blobs):
    X, y = blobs
    frame = pd.DataFrame(X, columns=["width", "height", "depth"])
    frame["kind"] = np.array(["a", "b", "c"])[y]
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


pytestmark = pytest.mark.usefixtures("wide_screen")


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        head = file.readline()
        file.seek(0)
        return list(csv.DictReader(file, delimiter=";" if ";" in head else ","))


def agree(labels, truth):
    """Whether two labelings divide the rows in the same way."""
    return len(set(zip(labels, truth, strict=True))) == len(set(truth)) == len(set(labels))


def test_rows_model_and_report_are_written_and_used_again(table, tmp_path, capsys):
    out, model, page = tmp_path / "out.csv", tmp_path / "m.widegap", tmp_path / "r.html"
    arguments = ["cluster", str(table), "-k", "3", "--label-column", "kind", "-o", str(out)]
    assert main([*arguments, "--model", str(model), "--report", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "60 rows, 3 clusters by MaxMarginClustering" in shown
    assert "100.0 % of the rows" in " ".join(shown.split())
    rows = rows_of(out)
    assert agree([row["cluster"] for row in rows], [row["kind"] for row in rows])
    assert all(float(row["margin"]) > 0 for row in rows)
    assert [row["width"] for row in rows] == [row["width"] for row in rows_of(table)]  # to the last digit
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")

    again = tmp_path / "again.csv"
    assert main(["predict", str(model), str(table), "-o", str(again), "--quiet"]) == 0
    assert [row["cluster"] for row in rows_of(again)] == [row["cluster"] for row in rows]
    assert capsys.readouterr().out == ""

    assert main(["report", str(model), str(table), "--report", str(tmp_path / "r2.html"), "--title", "Once more"]) == 0
    assert '<h1 dir="auto">Once more</h1>' in (tmp_path / "r2.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("method", ["max-margin", "cpm3c", "mkc", "iter-svr", "iter-lssvm", "iter-svm"])
def test_every_method_writes_a_model_that_predicts_the_same(method, table, tmp_path):
    out, again, model = tmp_path / "out.csv", tmp_path / "again.csv", tmp_path / "m.widegap"
    arguments = ["cluster", str(table), "-k", "3", "--columns", "width,height,depth", "--method", method, "-q"]
    assert main([*arguments, "-o", str(out), "--model", str(model)]) == 0
    assert main(["predict", str(model), str(table), "-o", str(again), "-q"]) == 0
    found = [row["cluster"] for row in rows_of(out)]
    assert set(found) == {"0", "1", "2"}
    assert [row["cluster"] for row in rows_of(again)] == found


def write_as(kind, folder, X, y):
    path = folder / f"data{kind}"
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    if kind == ".tsv":
        frame.to_csv(path, sep="\t", index=False)
    elif kind == ".parquet":
        frame.to_parquet(path)
    elif kind == ".npy":
        np.save(path, X)
    elif kind == ".npz":
        np.savez(path, X=X)
    elif kind == ".svm":
        dump_svmlight_file(X, y, str(path))
    else:
        frame.to_csv(path, index=False, sep=";")
    return path


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".parquet", ".npy", ".npz", ".svm"])
def test_all_kinds_of_files_give_the_same_clusters(kind, tmp_path, blobs):
    X, y = blobs
    path = write_as(kind, tmp_path, X, y)
    out, model = tmp_path / "out.csv", tmp_path / "m.widegap"
    assert main(["cluster", str(path), "-k", "3", "-q", "-o", str(out), "--model", str(model)]) == 0
    rows = rows_of(out)
    assert agree([row["cluster"] for row in rows], y)
    assert main(["predict", str(model), str(path), "-q", "-o", str(out)]) == 0
    assert rows_of(out) == rows


def test_a_sparse_matrix_from_a_file(tmp_path):
    X = sparse.random(80, 40, 0.2, format="csr", random_state=0).toarray()
    X[:40, :3] = 5.0
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_matrix(X))
    out = tmp_path / "out.csv"
    assert main(["cluster", str(tmp_path / "s.npz"), "-k", "2", "--method", "cpm3c", "-q", "-o", str(out)]) == 0
    assert agree([row["cluster"] for row in rows_of(out)], [0] * 40 + [1] * 40)


@pytest.mark.parametrize("ending", [".tsv", ".parquet", ".jsonl"])
def test_rows_are_written_by_the_ending_of_the_name(ending, table, tmp_path):
    out = tmp_path / f"out{ending}"
    assert main(["cluster", str(table), "-k", "3", "-q", "-o", str(out)]) == 0
    read = {".tsv": lambda p: pd.read_csv(p, sep="\t"), ".parquet": pd.read_parquet}
    frame = read.get(ending, lambda p: pd.read_json(p, lines=True))(out)
    assert list(frame.columns) == ["width", "height", "depth", "kind", "cluster", "sure", "margin"]
    assert len(frame) == 60


def test_standard_input_and_output(table, monkeypatch, capsys):
    with table.open("rb") as file:
        monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": file})())
        assert main(["cluster", "-", "-k", "3", "-o", "-"]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 61  # only the rows: the summary went to the other stream
    assert "3 clusters" in said.err


@pytest.mark.parametrize("command", ["cluster", "documents"])
def test_standard_input_without_an_end_is_refused(command, monkeypatch, capsys):
    class Endless(io.RawIOBase):
        taken = 0

        def read(self, size=-1):
            assert size > 0 and self.taken < 10 << 20
            self.taken += size
            return b"1,2\n" * (size // 4)

    monkeypatch.setattr(_standard_input, "MAX_INPUT_BYTES", 3 << 20)
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": Endless()})())
    assert main([command, "-", "-k", "3"]) == 2
    assert "standard input has more than 3 MiB" in capsys.readouterr().err


def test_json_for_machines(table, capsys):
    assert main(["cluster", str(table), "-k", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "widegap.report/2"
    assert sorted(cluster["size"] for cluster in found["clusters"]) == [20, 20, 20]
    assert "map" not in found


def test_a_range_of_numbers_recommends_one_without_labels(table, tmp_path, capsys):
    assert main(["cluster", str(table), "-k", "2..4", "--columns", "width,height,depth", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["n_clusters"], summary["recommendation"]["recommended"]) == (3, 3)
    assert len(summary["assignments"]) == 60
    found = {entry["n_clusters"]: entry for entry in summary["recommendation"]["numbers"]}
    assert list(found) == [2, 3, 4]
    assert found[3]["stability"] == pytest.approx(1.0)
    assert found[4]["stability"] < 0.95
    assert found[3]["smallest"] == found[3]["largest"] == 1.0
    assert found[3]["gain"] > 0
    assert found[3]["strength"] > 1 > found[4]["strength"]
    assert found[3]["agreement"] > 0.95
    report, out = tmp_path / "r.html", tmp_path / "out.csv"
    arguments = ["cluster", str(table), "-k", "2-3", "--columns", "width,height,depth"]
    assert main([*arguments, "--report", str(report), "-o", str(out)]) == 0
    assert {row["cluster"] for row in rows_of(out)} == {"0", "1", "2"}  # the result of the recommended number
    assert "How many clusters" in report.read_text(encoding="utf-8")
    shown = " ".join(capsys.readouterr().out.split())
    assert "gain over null" in shown
    assert "3 clusters (strength" in shown and "a single cloud reaches 1 about once in 50" in shown


def test_the_number_of_clusters_is_found(table, tmp_path, capsys):
    report, model = tmp_path / "r.html", tmp_path / "m.widegap"
    arguments = ["cluster", str(table), "-k", "auto", "--columns", "width,height,depth"]
    assert main([*arguments, "--report", str(report), "--model", str(model)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("60 rows, 3 clusters by MaxMarginClustering")
    assert "3 clusters (strength" in shown
    page = report.read_text(encoding="utf-8")
    assert "How many clusters" in page and "Strength of every number of clusters" in page
    assert main(["predict", str(model), str(table)]) == 0
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    number = json.loads(capsys.readouterr().out)["number"]
    assert (number["chosen"], number["sure"], number["needed"]) == (3, "clear", 1.0)
    assert number["choice"]["n_clusters"] == 3 and number["words"].startswith(number["choice"]["sentence"])
    assert [score["n_clusters"] for score in number["scores"]][:3] == [2, 3, 4]


def test_a_number_that_is_found_takes_one_fit(table, capsys, monkeypatch):
    fits, fit = [], MaxMarginClustering.fit
    monkeypatch.setattr(MaxMarginClustering, "fit", lambda *args, **said: fits.append(1) or fit(*args, **said))
    assert main(["cluster", str(table), "-k", "auto", "--columns", "width,height,depth"]) == 0
    shown = capsys.readouterr().out
    assert "stands out" in shown and "agreement" in shown
    assert "stability" not in shown
    assert len(fits) == 1


def test_one_cluster_is_an_answer(tmp_path, capsys):
    path = tmp_path / "noise.npy"
    np.save(path, np.random.default_rng(0).normal(size=(100, 3)))
    report = tmp_path / "r.html"
    assert main(["cluster", str(path), "-k", "auto", "--report", str(report)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "100 rows, 1 cluster by MaxMarginClustering" in shown
    assert "There are no separate groups; the data may vary continuously." in shown
    assert "If you expect groups, check the scale of the columns" in shown
    assert "How many clusters" in report.read_text(encoding="utf-8")


def test_noise_is_called_noise(tmp_path, capsys):
    path = tmp_path / "noise.npy"
    np.save(path, np.random.default_rng(0).normal(size=(100, 3)))
    assert main(["cluster", str(path), "-k", "2-4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["recommendation"]["is_noise"]
    assert found["recommendation"]["words"].startswith(
        "No separate groups; the data may vary continuously: with 2 to 4"
    )
    assert found["n_clusters"] == found["recommendation"]["recommended"]


def test_clusters_keep_their_least_size(table, tmp_path):
    out = tmp_path / "out.csv"
    for method in ("max-margin", "cpm3c"):
        arguments = ["cluster", str(table), "-k", "2", "--columns", "width,height,depth", "--method", method]
        assert main([*arguments, "--min-size", "45%", "-q", "-o", str(out)]) == 0
        labels = [row["cluster"] for row in rows_of(out)]
        assert min(labels.count("0"), labels.count("1")) >= 27


def test_the_same_run_gives_the_same_files(table, tmp_path):
    files = [[tmp_path / f"{i}.{kind}" for kind in ("csv", "widegap")] for i in range(2)]
    for out, model in files:
        assert main(["cluster", str(table), "-k", "3", "-q", "-o", str(out), "--model", str(model)]) == 0
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(*files, strict=True))


def test_equal_rows_are_one_cluster(tmp_path, capsys):
    path = tmp_path / "same.npy"
    np.save(path, np.ones((30, 2)))
    assert main(["cluster", str(path), "-k", "auto"]) == 0
    assert "One cluster: all rows are equal, or too few to tell" in " ".join(capsys.readouterr().out.split())


def test_mixed_tables_say_what_was_done(tmp_path, capsys):
    lines = ["id,size,colour,remark"]
    lines += [
        f"{i},{'' if i == 3 else i % 2 * 100 + i / 10},{'red' if i % 2 else 'blue'},remark {i}" for i in range(40)
    ]
    path = tmp_path / "mixed.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    out = tmp_path / "out.csv"
    assert main(["cluster", str(path), "-k", "2", "-o", str(out)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.index("40 rows, 2 clusters") < shown.index("column read as why how to change")  # the result is first
    assert "id id, not used its name says so, and every row has a different whole number --numeric id" in shown
    assert "remark left out, not used 40 different values in 40 rows, too many for categories" in shown
    assert "colour category 2 different values --drop colour" in shown
    assert "size number 1 of 40 cells is missing; gaps filled with the median, 3.8 --categorical size" in shown
    assert (
        "Numbers were divided by their standard deviation, so that they count like categories. --scale changes it."
        in shown
    )
    assert len(rows_of(out)) == 40
    assert main(["cluster", str(path), "-k", "2", "-o", str(out), "--missing", "drop"]) == 0
    rows = rows_of(out)
    assert len(rows) == 39
    assert agree([row["cluster"] for row in rows], [row["colour"] for row in rows])
    assert "1 row lacks a value and was left out." in " ".join(capsys.readouterr().out.split())
    assert main(["cluster", str(path), "-k", "2", "--missing", "refuse"]) == 2
    assert (
        "Column 'size' lacks 1 of 40 values; fill them in, leave the column or the rows out, or pass --missing median"
        in capsys.readouterr().err
    )


def test_values_that_the_model_has_not_seen_are_counted(tmp_path, capsys):
    path, other, model = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "m.widegap"
    path.write_text("x,c\n" + "".join(f"{i % 2 * 9},{'uv'[i % 2]}\n" for i in range(20)), encoding="utf-8")
    other.write_text("c,x\nw,9\nu,0\n", encoding="utf-8")  # columns are found by name
    assert main(["cluster", str(path), "-k", "2", "-q", "--model", str(model)]) == 0
    assert main(["predict", str(model), str(other)]) == 0
    assert "1 row has a category that the model has not seen ('w') and counts as none." in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.parametrize("scale", ["none", "standard", "minmax", "robust"])
def test_scales_are_kept_with_the_model(scale, table, tmp_path):
    out, again, model = tmp_path / "o.csv", tmp_path / "a.csv", tmp_path / "m.widegap"
    arguments = ["cluster", str(table), "-k", "3", "-q", "--scale", scale, "-o", str(out), "--model", str(model)]
    assert main(arguments) == 0
    assert main(["predict", str(model), str(table), "-q", "-o", str(again)]) == 0
    assert rows_of(again) == rows_of(out)


def test_decimal_commas_and_tables_without_header(tmp_path, capsys):
    path = tmp_path / "german.csv"
    path.write_text("a;b\n" + "".join(f"{i % 2 * 50},5;1,{i}\n" for i in range(20)), encoding="utf-8")
    assert main(["cluster", str(path), "-k", "2"]) == 0
    assert "a number decimal comma, 0,5 is 0.5 --categorical a" in " ".join(capsys.readouterr().out.split())
    assert main(["cluster", str(path), "-k", "2", "--decimal", ","]) == 0
    path.write_text("".join(f"{i % 2 * 50},{i}\n" for i in range(20)), encoding="utf-8")
    assert main(["cluster", str(path), "-k", "2"]) == 0
    assert "20 rows" in capsys.readouterr().out


@pytest.mark.parametrize("cell", ["=1+1", "+A1", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1"])
def test_formulas_are_neutral_in_exported_texts(cell, tmp_path):
    path, out = tmp_path / "f.csv", tmp_path / "out.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["x", "=name"], *[[(i % 2 * 9) - 4, cell if i else "plain"] for i in range(20)]])
    assert main(["cluster", str(path), "-k", "2", "-q", "--columns", "x", "-o", str(out)]) == 0
    rows = rows_of(out)
    assert rows[1]["'=name"] == "'" + cell
    assert {row["x"] for row in rows} == {"-4", "5"}  # numbers stay numbers
    assert neutral("plain") == "plain"


def test_an_existing_cluster_column_is_not_overwritten(tmp_path):
    path, out = tmp_path / "c.csv", tmp_path / "out.csv"
    path.write_text("x,cluster\n" + "".join(f"{i % 2 * 9},old\n" for i in range(10)), encoding="utf-8")
    assert main(["cluster", str(path), "-k", "2", "-q", "-o", str(out)]) == 0
    assert rows_of(out)[0].keys() == {"x", "cluster", "widegap_cluster", "widegap_sure", "widegap_margin"}
    assert rows_of(out)[0]["cluster"] == "old"


def test_json_and_rows_do_not_share_standard_output(table, capsys):
    assert main(["cluster", str(table), "-k", "3", "--json", "-o", "-"]) == 2
    assert "both write to standard output" in capsys.readouterr().err


@pytest.mark.parametrize("k", [1, 60])
def test_one_cluster_and_as_many_as_rows(k, table, tmp_path):
    out, page = tmp_path / "out.csv", tmp_path / "r.html"
    assert main(["cluster", str(table), "-k", str(k), "-q", "-o", str(out), "--report", str(page)]) == 0
    assert len({row["cluster"] for row in rows_of(out)}) == k


def test_a_checkpoint_is_kept_used_and_refused(table, tmp_path, capsys):
    path, outputs = tmp_path / "run.checkpoint", [tmp_path / "a.csv", tmp_path / "b.csv"]
    for output in outputs:
        command = ["cluster", str(table), "-k", "3", "--method", "cpm3c", "--checkpoint", str(path), "-o", str(output)]
        assert main(command) == 0
    assert path.stat().st_size > 1000
    assert outputs[0].read_text() == outputs[1].read_text()
    assert main([*command[:3], "2", *command[4:]]) != 0
    assert "checkpoint of another fit: n_clusters was 3, and is 2" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("method", ["max-margin", "iter-svr"])
def test_a_checkpoint_of_a_method_that_has_none_is_refused(method, table, tmp_path, capsys):
    path = tmp_path / "run.checkpoint"
    assert main(["cluster", str(table), "-k", "3", "--method", method, "--checkpoint", str(path)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"--checkpoint is for --method cpm3c and mkc; {method} reads the rows only a few times and has none" in said
    assert "leave --checkpoint out" in said and not path.exists()
