"""Clusters without a number, Excel files, and how sure every row is."""

import json

import numpy as np
import pandas as pd
import pytest

from widegap import persistence
from widegap.cli._column_options import TableOptions, stated_weights
from widegap.cli._delivery import Targets
from widegap.cli._main import main
from widegap.exceptions import InvalidDataError
from widegap.results._row_views import RowView
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


def test_predicted_rows_have_their_largest_probability(table, tmp_path, capsys):
    model, new, out = tmp_path / "m.widegap", tmp_path / "new.csv", tmp_path / "out.csv"
    said_by(capsys, "cluster", table, "-k", "3", "--drop", "class,note", "--model", model, "-o", tmp_path / "first.csv")
    said_by(capsys, "predict", model, table, "-o", out)
    assert out.read_bytes() == (tmp_path / "first.csv").read_bytes()  # the rows of the fit keep their agreement
    frame = groups().assign(width=groups()["width"] + 0.5)
    frame.to_csv(new, index=False)
    found = json.loads(said_json(capsys, "predict", model, new, "-o", out))
    written = pd.read_csv(out)
    pipeline = persistence.load(model)[0]
    largest = pipeline.predict_proba(read_table(new).rows).max(axis=1)
    assert written["sure"].tolist() == pytest.approx(largest.tolist(), abs=1e-6)
    assert [row["sure"] for row in found["assignments"]] == pytest.approx(largest.tolist(), abs=1e-6)


def test_a_method_that_cannot_tell_writes_no_shares(table, tmp_path, capsys):
    out = tmp_path / "out.csv"
    said_by(capsys, "cluster", table, "-k", "2", "--method", "cpm3c", "--drop", "class,note", "-o", out)
    assert list(pd.read_csv(out).columns)[-2:] == ["cluster", "margin"]


def test_a_report_is_a_page_of_html(table, tmp_path, capsys):
    said = said_by(capsys, "cluster", table, "--report", tmp_path / "x.pdf", code=2)
    assert "the report is a page of HTML; name it x.html." in said
    assert not (tmp_path / "x.pdf").exists()


def test_clusters_are_counted_against_classes(table, tmp_path, capsys):
    page = tmp_path / "page.html"
    found = json.loads(said_json(capsys, "cluster", table, "-k", "2", "--drop", "note", "--label-column", "class"))
    counts = [line["counts"] for line in found["classes"]["lines"]]
    assert counts == [[40, 0], [0, 40]]
    said = said_by(capsys, "cluster", table, "-k", "2", "--drop", "note", "--label-column", "class", "--report", page)
    assert "Rows of each class of 'class', which was not used: cluster" in said
    assert "100.0 % of the rows are in a cluster whose majority has their class" in said
    text = page.read_text(encoding="utf-8")
    assert "<h2>Clusters and <bdi>class</bdi></h2>" in text and '<td class="num most">40</td>' in text
    assert "Clusters and" not in rendered_without_classes(table, page)


def rendered_without_classes(table, page):
    assert main(["cluster", str(table), "-k", "2", "-q", "--report", str(page)]) == 0
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("texts", "weights"),
    [
        ((), ()),
        (["width=0.5"], (("width", 0.5),)),
        (["a=b=2", " height = 1e-3 "], (("a=b", 2.0), ("height", 0.001))),
        (["width=0"], (("width", 0.0),)),
    ],
)
def test_weights_of_columns_are_parsed(texts, weights):
    assert stated_weights(texts) == weights


@pytest.mark.parametrize("text", ["width", "=2", "width=", "width=much", "width=-1", "width=nan", "width=inf"])
def test_weights_that_are_none_are_refused(text, table, capsys):
    said = said_by(capsys, "cluster", table, "--column-weight", text, code=2)
    assert "must be a column and a number from 0, such as income=0.5" in said


def test_weights_name_columns_of_the_table_once(table, capsys):
    said = said_by(capsys, "cluster", table, "--column-weight", "widht=2", code=2)
    assert "has no column 'widht' (--column-weight); did you mean 'width'" in said
    arguments = ("--column-weight", "width=2", "--column-weight", "width=3")
    assert "--column-weight names 'width' twice" in said_by(capsys, "cluster", table, *arguments, code=2)


def test_weights_reach_the_encoder(monkeypatch):
    seen = {}
    monkeypatch.setattr("widegap.TableEncoder", lambda **options: seen.update(options))
    TableOptions(weights=(("width", 0.5),)).encoder()
    assert seen["weights"] == {"width": 0.5}


@pytest.mark.parametrize("categories", [False, True])
def test_a_weight_changes_which_column_the_clusters_follow(categories, tmp_path, capsys):
    rng = np.random.default_rng(0)
    left, right = rng.permutation(np.repeat([0, 1], 60)), rng.permutation(np.repeat([0, 1], 60))
    noise = rng.normal(size=(2, 120))
    if categories:
        frame = pd.DataFrame({"a": np.where(left, "x", "y"), "b": np.where(right, "u", "v"), "n": noise[0].round(2)})
    else:
        frame = pd.DataFrame({"a": (9 * left + noise[0]).round(2), "b": (9 * right + noise[1]).round(2)})
    path = tmp_path / "two.csv"
    frame.to_csv(path, index=False)
    for column in ("a", "b"):
        weights = [f"--column-weight={name}={4 if name == column else 0.05}" for name in "ab"]
        found = json.loads(said_json(capsys, "cluster", path, "-k", "2", *weights))
        assert found["decided"][0]["column"] == column and found["decided"][0]["share"] > 0.9


def test_nothing_is_made_that_is_not_written(table, tmp_path, monkeypatch, capsys):
    made = []
    for name in ("place", "profile", "representatives", "borderline"):
        own = getattr(RowView, name)
        monkeypatch.setattr(RowView, name, lambda *arguments, name=name, own=own: made.append(name) or own(*arguments))
    said_by(capsys, "cluster", table, "-k", 2, "-q", "-o", tmp_path / "rows.csv", "--model", tmp_path / "m.widegap")
    said_by(capsys, "predict", tmp_path / "m.widegap", table, "-q", "-o", tmp_path / "again.csv")
    assert made == []
    said_by(capsys, "cluster", table, "-k", 2)
    assert "profile" in made and "place" not in made  # only a page has a map
    said_by(capsys, "cluster", table, "-k", 2, "-q", "--report", tmp_path / "page.html")
    assert "place" in made
