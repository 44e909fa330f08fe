"""Clusters without a number, Excel files, and how sure every row is."""

import json

import numpy as np
import pandas as pd
import pytest

from widegap.cli._delivery import Targets
from widegap.cli._main import main
from widegap.exceptions import InvalidDataError
from widegap.tables._reading import read_table

pytestmark = pytest.mark.usefixtures("wide_screen")


def groups(n=40, k=2, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[0, 0], [9, 0], [0, 9]])[:k]
    X = np.vstack([rng.normal(centre, 1.0, (n, 2)) for centre in centres])
    frame = pd.DataFrame(X.round(3), columns=["width", "height"])
    frame["note"] = np.where(np.arange(len(X)) % 2, "=1+1", "plain")
    frame["class"] = np.repeat(list("abc")[:k], n)
    return frame


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "groups.csv"
    groups().to_csv(path, index=False)
    return path


def said_by(capsys, *arguments, code=0):
    assert main([str(argument) for argument in arguments]) == code
    said = capsys.readouterr()
    return " ".join((said.err if code else said.out).split())


def test_the_number_of_clusters_is_found_without_k(table, capsys):
    assert "80 rows, 2 clusters by MaxMarginClustering" in said_by(capsys, "cluster", table, "--drop", "class,note")
    said = said_by(capsys, "cluster", table, "--method", "cpm3c", code=2)
    assert "--method cpm3c needs a number of clusters: pass one such as -k 3" in said


def test_the_number_of_topics_is_found_without_k(tmp_path, capsys):
    sky, kitchen = ("stars", "galaxy", "orbit", "comet", "moon"), ("bread", "flour", "oven", "butter", "yeast")
    texts = [" ".join(words[j] for j in range(5) if j != i % 5) for i in range(10) for words in (sky, kitchen)]
    (tmp_path / "texts.txt").write_text("\n".join(texts), encoding="utf-8")
    assert json.loads(said_json(capsys, "documents", tmp_path / "texts.txt"))["n_clusters"] >= 2


def said_json(capsys, *arguments):
    assert main([*(str(argument) for argument in arguments), "--json"]) == 0
    return capsys.readouterr().out


def test_an_excel_table_holds_the_rows_and_reads_back(table, tmp_path, capsys):
    out = tmp_path / "out.xlsx"
    said_by(capsys, "cluster", table, "-k", "2", "--drop", "class,note", "-o", out)
    frame = read_table(out).frame
    assert list(frame.columns) == ["width", "height", "note", "class", "cluster", "sure", "margin"]
    before = groups()
    assert frame["width"].tolist() == before["width"].tolist()  # numbers, though the CSV held texts
    assert frame["note"].tolist() == before["note"].tolist()  # "=1+1" is a text
    said = said_by(capsys, "cluster", out, "-k", "2", "--drop", "class,note")
    assert said.count("result, not used") == 3 and "an earlier run wrote it" in said


def test_more_rows_than_a_sheet_holds_are_refused_before_the_work(tmp_path):
    with pytest.raises(InvalidDataError, match=r"a sheet of Excel holds 1,048,575 rows, .* name it out\.csv"):
        Targets(tmp_path / "out.xlsx").check_rows(1_048_576)
    Targets(tmp_path / "out.xlsx").check_rows(1_048_575)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_written_share_is_the_printed_one(ending, table, tmp_path, capsys):
    out = tmp_path / f"out{ending}"
    arguments = ("cluster", table, "-k", "3", "--drop", "class,note", "-o", out)
    found = json.loads(said_json(capsys, *arguments))
    said = said_by(capsys, *arguments)
    frame = pd.read_csv(out) if ending == ".csv" else pd.read_parquet(out)
    assert list(frame.columns)[-3:] == ["cluster", "sure", "margin"]
    assert frame["sure"].between(0, 1).all()
    assert f"{100 * frame['sure'].mean():.0f} % sure" in said
    by_cluster = frame.groupby("cluster")
    for cluster in found["clusters"]:
        assert by_cluster["sure"].mean()[cluster["label"]] == pytest.approx(cluster["agreement"], abs=1e-6)
        assert by_cluster["margin"].median()[cluster["label"]] == pytest.approx(cluster["margin"]["median"], rel=1e-5)
    assert [row["sure"] for row in found["assignments"]] == pytest.approx(frame["sure"].tolist())


def test_a_method_that_cannot_tell_writes_no_shares(table, tmp_path, capsys):
    out = tmp_path / "out.csv"
    said_by(capsys, "cluster", table, "-k", "2", "--method", "cpm3c", "--drop", "class,note", "-o", out)
    assert list(pd.read_csv(out).columns)[-2:] == ["cluster", "margin"]


def test_a_report_is_a_page_of_html(table, tmp_path, capsys):
    said = said_by(capsys, "cluster", table, "--report", tmp_path / "x.pdf", code=2)
    assert "the report is a page of HTML; name it x.html." in said
    assert not (tmp_path / "x.pdf").exists()
