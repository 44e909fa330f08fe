"""One result gives the table, the summary and the model file, and scores its rows once."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from widegap import CPM3C, DocumentClustering, IterSVR, MaxMarginClustering, TableEncoder, describe
from widegap.exceptions import InvalidDataError
from widegap.results import Corrections, DocumentRows, EncodedRows, PlainRows, Result
from widegap.rows._blocks import RowBlocks
from widegap.tables import Table

FRAME = pd.DataFrame(
    {"size": [1.0, 2.0, np.nan, 90.0, 91.0, 92.0], "kind": ["a", "a", "a", "b", "b", "b"]}, index=range(6)
)
TEXTS = ["red apple pear", "pear apple green", "apple pear plum", "piston motor car", "car motor wheel", "wheel car"]


def table_result(missing="median", **options):
    rows = EncodedRows.fit(Table("shop.csv", FRAME), TableEncoder(), missing)
    return Result(CPM3C(2, random_state=0).fit(rows.X), rows, **options)


def test_scores_are_computed_once_for_the_table_and_the_summary(monkeypatch):
    found = table_result()
    calls = []
    scores = describe.scores
    monkeypatch.setattr(describe, "scores", lambda *arguments: calls.append(1) or scores(*arguments))
    frame = found.frame()
    summary = found.summary()
    assert len(found.assignments()) == len(frame) == summary["n_rows"] == 6
    assert len(calls) == 1


def test_the_frame_has_the_columns_of_the_user_first():
    frame = table_result(names={"0": "small"}).frame()
    assert list(frame.columns) == ["size", "kind", "cluster", "cluster_name", "margin"]
    pd.testing.assert_frame_equal(frame[["size", "kind"]], FRAME)
    assert set(frame["cluster_name"]) == {"small", ""}


def test_rows_that_were_left_out_keep_their_numbers():
    found = table_result("drop")
    assert [entry["row"] for entry in found.assignments()] == [0, 1, 3, 4, 5]
    assert {point["row"] for point in found.summary()["map"]["points"]} == {0, 1, 3, 4, 5}
    assert "1 row lacks a value and was left out." in found.summary()["warnings"]


@pytest.mark.parametrize("missing", ["median", "drop"])
def test_a_stored_result_opens_with_its_title_names_and_corrections(tmp_path, missing):
    path, kept = tmp_path / "m.widegap", {"weight_column": "w"}
    before = table_result(missing, title="Shop", names={"1": "big"}, corrections=Corrections(None, kept))
    before.save(path)
    seen = {}

    def read(model, extra):
        seen.update(extra)
        return EncodedRows.read(Table("shop.csv", FRAME), model[0], extra["missing"])

    after = Result.open(path, read)
    assert (after.title, after.names, seen["weight_column"]) == ("Shop", {"1": "big"}, "w")
    pd.testing.assert_frame_equal(after.frame(), before.frame())
    assert Result.open(path, read, title="New", names={"0": "s"}).names == {"1": "big", "0": "s"}


def test_what_was_fixed_by_hand_comes_first():
    shown = {"known": 1, "words": "Fixed by hand: 1 row."}
    found = table_result(corrections=Corrections(shown)).summary()
    assert found["by_hand"] is shown
    assert found["warnings"][0] == "Fixed by hand: 1 row."
    assert "by_hand" not in table_result().summary()


def test_documents_have_topics():
    rows = DocumentRows([f"line {i}" for i in range(1, 7)], TEXTS, counted="line")
    found = Result(DocumentClustering(2, random_state=0).fit(TEXTS), rows)
    frame = found.frame()
    assert list(frame.columns) == ["document", "topic", "topic_name", "margin"]
    assert found.summary()["unit"] == "document"
    fewer = rows.without({0})
    assert (fewer.junk, len(fewer.X), fewer.names[0]) == (("line 1",), 5, "line 2")


def test_plain_rows_are_written_by_number():
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    frame = Result(CPM3C(2, random_state=0).fit(X), PlainRows(X)).frame()
    assert frame["row"].tolist() == [1, 2, 3, 4]


def test_names_of_clusters_that_do_not_exist_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InvalidDataError, match="a name for cluster '7', which does not exist"):
        table_result(names={"7": "x"}).write(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "model",
    [
        MaxMarginClustering(3, random_state=0),
        MaxMarginClustering(2, random_state=0),
        CPM3C(3, random_state=0),
        IterSVR(2, random_state=0),
        IterSVR(3, random_state=0),
    ],
    ids=lambda model: f"{type(model).__name__} {model.n_clusters}",
)
def test_new_rows_are_read_once_for_cluster_margin_and_certainty(model):
    X, _ = make_blobs(240, 3, centers=3, cluster_std=2.0, random_state=0)
    model.fit(X[:180])
    new, passes = X[180:], []
    expected = {
        "cluster": model.predict(new),
        "margin": describe.leads(describe.scores(model, new), model.predict(new)),
    }
    if hasattr(model, "predict_proba"):
        expected["sure"] = model.predict_proba(new).max(axis=1)
    sweep = RowBlocks.sweep
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RowBlocks, "sweep", lambda *arguments: passes.append(1) or sweep(*arguments))
        frame = Result(model, PlainRows(new)).frame()
    assert len(passes) == 1
    for column, values in expected.items():
        np.testing.assert_allclose(frame[column], values, atol=1e-6)


def test_new_documents_are_read_once(monkeypatch):
    model = DocumentClustering(2, random_state=0).fit(TEXTS)
    reads, read = [], type(model._reader).read
    monkeypatch.setattr(type(model._reader), "read", lambda *arguments: reads.append(1) or read(*arguments))
    frame = Result(model, DocumentRows(["a", "b"], ["apple pear", "motor car"])).frame()
    assert len(reads) == 1
    assert frame["topic"].tolist() == model.predict(["apple pear", "motor car"]).tolist()
