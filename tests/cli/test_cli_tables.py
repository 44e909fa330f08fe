"""How the command line reads tables: decimal signs, categories alike in all files, scales decided once."""

import csv
import gzip
import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import adjusted_rand_score

from widegap import CPM3C, MaxMarginClustering
from widegap.cli._main import main
from widegap.rows import shards
from widegap.tables._number_formats import read_numbers
from widegap.tables._reading import read_table
from widegap.tables._values import Cells
from widegap.tables._writing import with_numbers


def clusters_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return [row["cluster"] for row in csv.DictReader(file)]


# Scales -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def uneven(tmp_path):
    """Two groups in two columns of small numbers, and a column of large numbers with groups of its own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) * [0.2, 0.2, 20.0]
    X[:, :2] += 3.0 * (np.arange(80) < 40)[:, None]
    X[:, 2] += 3000.0 * (np.arange(80) % 2)
    path = tmp_path / "uneven.csv"
    pd.DataFrame(X, columns=["a", "b", "euros"]).to_csv(path, index=False)
    return path, X


@pytest.mark.parametrize("scale", ["none", "auto"])
def test_the_scale_is_decided_once(scale, uneven, tmp_path):
    path, X = uneven
    out, model = tmp_path / "out.csv", tmp_path / "m.widegap"
    arguments = ["cluster", str(path), "-k", "2", "-q", "--scale", scale, "-o", str(out), "--model", str(model)]
    assert main(arguments) == 0
    expected = {"none": np.arange(80) % 2, "auto": np.arange(80) < 40}[scale]
    assert adjusted_rand_score(expected, clusters_of(out)) == 1
    library = MaxMarginClustering(2, standardize=scale != "none", random_state=0).fit(X)
    assert adjusted_rand_score(library.labels_, clusters_of(out)) == 1
    assert main(["predict", str(model), str(path), "-q", "-o", str(out)]) == 0
    assert adjusted_rand_score(expected, clusters_of(out)) == 1


@pytest.mark.parametrize("scale", ["auto", "standard", "minmax", "robust"])
def test_the_rounding_of_large_numbers_is_not_scaled_up(scale, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)) + 8 * (np.arange(60) % 2)[:, None], columns=["a", "b"])
    frame["stamp"] = 1_700_000_000
    frame["account"] = [str(12345678901234567890 + 7 * i) for i in rng.permutation(60).tolist()]  # two floats in all
    frame.to_csv(tmp_path / "rows.csv", index=False)
    out = tmp_path / "out.csv"
    arguments = ["cluster", str(tmp_path / "rows.csv"), "-k", "2", "-q", "--scale", scale, "-o", str(out)]
    assert main([*arguments, "--columns", "a,b,stamp,account"]) == 0
    assert adjusted_rand_score(np.arange(60) % 2, clusters_of(out)) == 1


# Decimal signs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "decimal", "number"),
    [
        ("€35,978.79", ".", 35978.79),
        ("51,000.0", ".", 51000.0),
        ("-$1,200", ".", -1200.0),
        ("$-1,200", ".", -1200.0),
        ("(1,200.50)", ".", -1200.5),
        ("1 234 567", ".", 1234567.0),
        ("1\u202f234,5 €", ",", 1234.5),
        ("1'234.50 CHF", ".", 1234.5),
        ("\u22125", ".", -5.0),
        ("12.5 %", ".", 12.5),
        ("EUR 12", ".", 12.0),
        ("1,2,3", ".", None),
        ("12:30", ".", None),
        ("0x10", ".", None),
        ("1_000", ".", None),
        ("inf", ".", None),
        ("1e999", ".", None),
        ("\u0661\u0662", ".", None),
        ("1.500", ".", 1.5),
        ("1.500", ",", 1500.0),
        ("-1.234.567,25", ",", -1234567.25),
        ("1,5e3", ",", 1500.0),
        ("12,5", ",", 12.5),
        ("1.5", ",", None),  # neither thousands nor the decimal sign of this file
        ("0.500", ",", None),
        ("1.50.000", ",", None),
        ("1,500.25", ",", None),
        ("1,5,0", ",", None),
    ],
)
def test_numbers_in_texts(cell, decimal, number):
    (found,) = read_numbers(pa.array([cell]), np.ones(1), decimal).values
    assert found == number or (np.isnan(found) and number is None)


@pytest.mark.parametrize(
    ("texts", "usual", "decimal"),
    [
        (["12,5", "1.234", "3"], ".", ","),  # one cell tells of all
        (["12.5", "1,234", "3"], ",", "."),
        (["1.234", "2.500"], ".", "."),  # both would do: as in the rest of the table
        (["1.234", "2.500"], ",", ","),
        (["0,500", "0,250"], ".", ","),  # no thousands begin with 0
    ],
)
def test_a_column_has_one_decimal_sign(texts, usual, decimal):
    found = read_numbers(pa.array(texts), np.ones(len(texts)), None, usual)
    assert found.decimal == decimal
    assert found.read.all()


def write_prices(path, cells):
    path.write_text("price;size\n" + "".join(f"{cell};{i % 2},5\n" for i, cell in enumerate(cells)), encoding="utf-8")


def test_thousands_beside_a_decimal_comma_are_read_and_said(tmp_path, capsys):
    path = tmp_path / "prices.csv"
    write_prices(path, ["1.500", "2,5", "1.510,5", "3"] * 5)
    assert main(["cluster", str(path), "-k", "2", "--decimal", ",", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (price,) = (item for item in found["clusters"][0]["separates"] if item["feature"] == "price")
    assert {round(price["mean"]), round(price["rest_mean"])} == {3, 1505}
    (column,) = (entry for entry in found["columns"] if entry["column"] == "price")
    assert column["why"] == "decimal comma, 1.500 is 1500"


def test_a_decimal_sign_that_is_not_the_tables_is_refused(tmp_path, capsys):
    path = tmp_path / "prices.csv"
    write_prices(path, ["1.5", "2.5", "3.25"] * 5)
    assert main(["cluster", str(path), "-k", "2", "--decimal", ","]) == 2
    said = capsys.readouterr().err
    assert "Column 'price': '1.5' is not a number with ',' as decimal sign; use '.'" in said


def test_cells_that_are_no_numbers_do_not_become_gaps():
    frame = pd.DataFrame({"x": ["1.5", "2,5"], "y": ["1.500", "n/a"]})
    found = with_numbers(frame, ",")
    assert found["x"].tolist() == ["1.5", "2,5"]
    assert found["y"].tolist() == [1500, pd.NA]


# Categories -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "name"),
    [
        ([1, 1.0, np.int8(1), np.float32(1), "1", "1.0", "1.00"], "1"),
        ([True, np.bool_(True), "true", "TRUE", "True"], "True"),
        ([2.5, "2.5", "2.50"], "2.5"),
        ([12345678901234567890, "12345678901234567890"], "12345678901234567890"),
        (["007"], "007"),
        (["red "], "red"),
    ],
)
def test_one_category_has_one_name(cells, name):
    assert Cells(pd.Series(cells, dtype=object)).levels[0] == [name]


def mixed_frame():
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 3
    return pd.DataFrame({"x": rng.normal(size=60) + 8 * (kind == 0), "kind": kind + 1, "member": kind == 0})


@pytest.mark.parametrize(("first", "second"), [(".csv", ".parquet"), (".parquet", ".csv")])
@pytest.mark.parametrize("gaps", [False, True])
def test_a_model_knows_its_categories_in_other_kinds_of_files(first, second, gaps, tmp_path, capsys):
    frame = mixed_frame()
    if gaps:  # integers with gaps are floats to pandas, truth values objects
        frame["kind"] = frame["kind"].where(frame.index != 3)
        frame["member"] = frame["member"].astype(object).where(frame.index != 3, None)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    model, fitted, applied = tmp_path / "m.widegap", tmp_path / "fitted.csv", tmp_path / "applied.csv"
    options = ["-k", "2", "--categorical", "kind", "--json", "-o", str(fitted), "--model", str(model)]
    assert main(["cluster", str(tmp_path / f"rows{first}"), *options]) == 0
    assert main(["predict", str(model), str(tmp_path / f"rows{second}"), "--json", "-o", str(applied)]) == 0
    summaries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert not any("has not seen" in note for note in summaries[1]["warnings"])
    assert clusters_of(applied) == clusters_of(fitted)
    names = {item["feature"] for cluster in summaries[0]["clusters"] for item in cluster["separates"]}
    assert {"kind = 1", "member = True"} <= names


def test_a_column_of_zeros_and_ones_may_come_as_truth_values(tmp_path):
    frame = mixed_frame()
    frame.assign(member=frame["member"].astype(int)).to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    model, fitted, applied = tmp_path / "m.widegap", tmp_path / "fitted.csv", tmp_path / "applied.csv"
    assert main(["cluster", str(tmp_path / "rows.csv"), "-k", "2", "-q", "-o", str(fitted), "--model", str(model)]) == 0
    assert main(["predict", str(model), str(tmp_path / "rows.parquet"), "-q", "-o", str(applied)]) == 0
    assert clusters_of(applied) == clusters_of(fitted)


def test_truth_values_are_no_quantities():
    cells = Cells(pd.Series([True, False, True]))
    assert cells.truth == ("True", "False")
    assert cells.levels[0] == ["False", "True"]
    assert cells.levels[1].tolist() == [1, 0, 1]


# Ranges of numbers of clusters --------------------------------------------------------------------------------------


@pytest.fixture
def twelve(tmp_path):
    path = tmp_path / "twelve.csv"
    X = np.random.default_rng(0).normal(size=(12, 2)) + 9 * (np.arange(12) % 2)[:, None]
    pd.DataFrame(X, columns=["a", "b"]).to_csv(path, index=False)
    return path


def test_numbers_beyond_the_subsamples_do_not_cost_the_others(twelve, capsys):
    assert main(["cluster", str(twelve), "-k", "7..11", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [entry["n_clusters"] for entry in found["recommendation"]["numbers"]] == [7, 8, 9]
    assert found["recommendation"]["missing"] == [10, 11]
    assert any("-k 10 to 11 cannot be compared" in note and "9 of the 12 rows" in note for note in found["warnings"])
    assert main(["cluster", str(twelve), "-k", "10..11"]) == 2
    assert "have 9 of the 12 rows; ask for 9 or fewer" in capsys.readouterr().err


def test_a_number_that_fails_does_not_cost_the_others(twelve, capsys, monkeypatch):
    fit = CPM3C.fit

    def fails_at_three(self, X, y=None):
        if self.n_clusters == 3:
            raise ValueError("three will not do; ask for two.")
        return fit(self, X, y)

    monkeypatch.setattr(CPM3C, "fit", fails_at_three)
    assert main(["cluster", str(twelve), "-k", "2..4", "--method", "cpm3c", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [entry["n_clusters"] for entry in found["recommendation"]["numbers"]] == [2, 4]
    assert found["recommendation"]["missing"] == [3]
    assert "-k 3 could not be compared: three will not do; ask for two." in found["warnings"]
    monkeypatch.setattr(CPM3C, "fit", lambda *_: (_ for _ in ()).throw(ValueError("no fit; stop.")))
    assert main(["cluster", str(twelve), "-k", "2..4", "--method", "cpm3c"]) == 2
    assert "error: None of the numbers could be compared. no fit; stop." in capsys.readouterr().err


# Endings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("DATA.PARQUET", pd.DataFrame.to_parquet),
        ("data.PQ", pd.DataFrame.to_parquet),
        ("my.parquet.feather", pd.DataFrame.to_feather),
        ("from.parquet.d/DATA.Feather", pd.DataFrame.to_feather),
    ],
)
def test_columnar_files_are_read_by_their_last_ending(name, write, tmp_path):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
    write(frame, path)
    pd.testing.assert_frame_equal(read_table(path).frame, frame)
    blocks = shards([path])
    np.testing.assert_array_equal(blocks.take(np.arange(3)), frame.to_numpy())


def test_endings_of_packed_files_may_be_in_capitals(tmp_path):
    path = tmp_path / "DATA.PARQUET.GZ"
    plain = io.BytesIO()
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    frame.to_parquet(plain)
    path.write_bytes(gzip.compress(plain.getvalue()))
    pd.testing.assert_frame_equal(read_table(path).frame, frame)
