"""TableEncoder: what columns are read as, the same from every kind of frame, and kept as plain values."""

import csv
import io
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from _expected_failures import expected_failures
from widegap import MaxMarginClustering, TableEncoder
from widegap.cli._main import main
from widegap.exceptions import ColumnWarning, InvalidDataError
from widegap.tables._delimited import _parse, _parse_uneven
from widegap.tables._stored import from_json, to_json
from widegap.tables._text_topics import Topics
from widegap.tables._values import Cells

N = 40


@parametrize_with_checks([TableEncoder()], expected_failed_checks=expected_failures)
def test_it_keeps_the_rules_of_scikit_learn(estimator, check):
    check(estimator)


def customers(n=N):
    """A table with one column of every kind, in texts as a file has them, and numbers that it stands for."""
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-03-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    group = np.arange(n) % 2
    remarks = ["likes the new shop", "late parcel, wrong address"]
    return pd.DataFrame(
        {
            "customer id": rng.permutation(np.arange(500, 500 + 3 * n, 3)).astype(str),
            "income": [f"€{value:,.2f}" for value in 30_000 + 40_000 * group + rng.normal(0, 2000, n)],
            "rate": [f"{value} %" for value in rng.integers(0, 60, n)],
            "height": [f"{value:.2f}".replace(".", ",") for value in rng.normal(1.7, 0.1, n)],
            "visits": [str(3 + 9 * value) for value in group],
            "signup": [str(day)[:10] for day in days],
            "opened": [f"{hour:02d}:30" for hour in rng.integers(6, 22, n)],
            "member": np.where(group, "yes", "no"),
            "zip": [f"{code:05d}" for code in rng.choice([1067, 10115, 80331], n)],
            "country": "DE",
            "fax": "n/a",
            "remark": [f"{remarks[i % 2]} no {i}" for i in range(n)],
        }
    )


def kinds(encoder):
    return {column.name: (column.read_as, column.used) for column in encoder.columns_}


def test_every_kind_of_column_is_recognised_and_explained():
    encoder = TableEncoder(scale="none").fit(customers())
    assert kinds(encoder) == {
        "customer id": ("id", False),
        "income": ("number", True),
        "rate": ("number", True),
        "height": ("number", True),
        "visits": ("number", True),
        "signup": ("date", True),
        "opened": ("time", True),
        "member": ("yes/no", True),
        "zip": ("category", True),
        "country": ("constant", False),
        "fax": ("empty", False),
        "remark": ("text", False),
    }
    told = {line["column"]: line for line in encoder.explain()}
    assert told["zip"]["why"] == "3 different values, codes with leading zeros"
    assert told["customer id"]["how to change"] == "numeric=['customer id']"
    assert told["remark"]["how to change"] == "text_columns=['remark']"
    assert told["income"]["why"].startswith("€")
    names = encoder.get_feature_names_out().tolist()
    assert names[5:8] == ["opened (hours)", "member = yes", "zip = 01067"]
    values = dict(zip(names, encoder.transform(customers())[1], strict=True))
    assert values["opened (hours)"] % 1 == 0.5
    assert values["member = yes"] == 1
    assert values["visits"] == 12
    assert 60_000 < values["income"] < 80_000
    assert 1 < values["height"] < 2.5


def test_frames_of_every_kind_give_the_same_numbers():
    frame = customers()
    expected = TableEncoder().fit_transform(frame)
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame), frame.astype(object), frame.to_dict("list")):
        np.testing.assert_array_equal(TableEncoder().fit_transform(other), expected)
    typed = frame.assign(
        visits=frame["visits"].astype(int), signup=pd.to_datetime(frame["signup"]), member=frame["member"] == "yes"
    )
    for other in (typed, pl.from_pandas(typed), pa.Table.from_pandas(typed)):
        np.testing.assert_allclose(TableEncoder().fit_transform(other), expected)
    batch = pa.RecordBatch.from_pandas(frame)
    np.testing.assert_array_equal(TableEncoder().fit(frame).transform(batch), expected)
    with pytest.raises(InvalidDataError, match=r"call .collect\(\) first"):
        TableEncoder().fit(pl.from_pandas(frame).lazy())


def test_the_order_of_rows_and_columns_does_not_matter():
    frame = customers()
    encoder = TableEncoder().fit(frame)
    order = np.random.default_rng(1).permutation(N)
    mixed = frame.iloc[order, ::-1]
    np.testing.assert_array_equal(encoder.transform(mixed), encoder.transform(frame)[order])
    other = TableEncoder().fit(frame.iloc[order])
    np.testing.assert_allclose(other.transform(frame), encoder.transform(frame))


def test_copies_pickles_and_plain_values_are_the_same_encoder():
    frame = customers()
    encoder = TableEncoder(text_columns=["remark"], dates="parts", na_values=["30 %"]).fit(frame)
    expected = encoder.transform(frame)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(encoder)).transform(frame), expected)
    np.testing.assert_array_equal(clone(encoder).fit_transform(frame), expected)
    state = json.loads(json.dumps(to_json(encoder), allow_nan=False))
    again = from_json(state)
    np.testing.assert_array_equal(again.transform(frame), expected)
    assert again.explain() == encoder.explain()
    for wrong in (
        None,
        {},
        {**state, "columns": [{"name": 1}]},
        {**state, "n_features_out": 3},
        {**state, "parameters": {"scale": "cubic"}},
        {**state, "columns": [{**column, "levels": [1, 2]} for column in state["columns"]]},
    ):
        with pytest.raises(InvalidDataError, match="fit"):
            from_json(wrong)


def test_frames_out():
    frame = customers()
    found = TableEncoder().set_output(transform="pandas").fit_transform(frame)
    assert list(found.columns) == TableEncoder().fit(frame).get_feature_names_out().tolist()
    assert list(found.index) == list(frame.index)


@pytest.mark.parametrize("columns", [["a", "b"], ["a", "b", "kind"], ["a", "still"]])
def test_a_table_without_rows_has_no_rows(columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=12), "b": rng.normal(size=12), "kind": [*"xyz"] * 4, "still": 1.0})
    encoder = TableEncoder().fit(frame[columns])
    assert encoder.transform(frame[columns][:0]).shape == (0, encoder.n_features_out_)
    assert encoder.gaps(frame[columns][:0]).shape == (0,)


@pytest.mark.parametrize("scale", ["auto", "standard", "none", "minmax", "robust"])
def test_matrices_are_scaled_and_nothing_else(scale):
    X = np.random.default_rng(0).normal(size=(30, 3)) * [1, 100, 10]
    encoder = TableEncoder(scale=scale).fit(X)
    factors = np.ones(3) if encoder.factors_ is None else encoder.factors_
    assert (scale == "none") == (encoder.factors_ is None)
    np.testing.assert_allclose(encoder.transform(X), X * factors)
    if scale in ("none", "standard"):
        rows = sparse.csr_array(X)
        np.testing.assert_allclose(TableEncoder(scale=scale).fit_transform(rows).toarray(), X * factors)


def test_the_pipeline_and_the_command_line_give_the_same_labels(tmp_path):
    frame = customers(120)
    path, out = tmp_path / "customers.csv", tmp_path / "out.csv"
    frame.to_csv(path, index=False)
    model = make_pipeline(TableEncoder(), MaxMarginClustering(4, random_state=0)).fit(frame)
    assert main(["cluster", str(path), "-k", "4", "-q", "-o", str(out)]) == 0
    assert pd.read_csv(out)["cluster"].tolist() == model[-1].labels_.tolist()
    assert (model.predict(frame) == model[-1].labels_).mean() > 0.95  # rows at a boundary may differ


# Decisions ----------------------------------------------------------------------------------------------------------

DECISIONS = {
    "shuffled ids": ("order_id", [str(7 * (i * 13 % N) + 1000) for i in range(N)], "id"),
    "ids in texts": ("ref", [f"A-{i * 13 % N:04d}" for i in range(N)], "id"),
    "different amounts": ("amount", [str(7 * (i * 13 % N) + 1000) for i in range(N)], "number"),
    "shuffled row numbers": ("n", [str(i * 13 % N + 1) for i in range(N)], "id"),
    "numbers of something": ("number of rooms", [str(i * 13 % N) for i in range(N)], "number"),
    "years": ("year", [str(1980 + i) for i in range(N)], "number"),
    "zip codes": ("Zip Code", [str(10115 + i % 3) for i in range(N)], "category"),
    "leading zeros": ("kind", [f"0{i % 3}" for i in range(N)], "category"),
    "phone numbers": ("phone", [f"0{i * 7919 % 10**7}" for i in range(N)], "id"),
    "words of truth": ("paid", ["ja" if i % 2 else "nein" for i in range(N)], "yes/no"),
    "one letter": ("paid", ["Y" if i % 2 else "N" for i in range(N)], "yes/no"),
    "no words of truth": ("answer", ["no" if i % 2 else "maybe" for i in range(N)], "category"),
    "a few words among numbers": ("size", ["low" if i == 5 else str(i % 7) for i in range(N)], "number"),
    "many words among numbers": ("size", ["low" if i % 2 else str(i % 7) for i in range(N)], "category"),
    "German dates": ("d", [f"{i % 28 + 1:02d}.03.2021" for i in range(N)], "date"),
    "American dates": ("d", [f"3/{i % 28 + 1}/2021" for i in range(N)], "date"),
    "dates in words": ("d", [f"{i % 28 + 1} Mar 2021" for i in range(N)], "date"),
    "date and time": ("d", [f"2021-03-{i % 28 + 1:02d}T10:{i:02d}:00Z" for i in range(N)], "date"),
    "dates in digits": ("date", [f"202103{i % 28 + 1:02d}" for i in range(N)], "date"),
    "digits that are no dates": ("n", [f"202103{i % 28 + 1:02d}" for i in range(N)], "number"),
    "versions": ("version", [f"1.{i % 3}.{i % 2}" for i in range(N)], "category"),
    "addresses": ("ip", [f"10.0.{i}.{i * 7 % 50}" for i in range(N)], "id"),
    "constant": ("c", ["1"] * N, "constant"),
    "empty": ("c", ["unknown"] * N, "empty"),
    "names": ("who", [f"Name{i % 35}" for i in range(N)], "left out"),
    "sentences": ("note", [f"this is remark number {i}" for i in range(N)], "text"),
}


@pytest.mark.parametrize("case", DECISIONS)
def test_what_a_column_is(case):
    name, cells, kind = DECISIONS[case]
    frame = pd.DataFrame({name: cells, "x": np.arange(N) % 5 / 2})
    column = TableEncoder().fit(frame).columns_[0]
    assert column.read_as == kind
    assert column.used == (kind in ("number", "category", "date", "yes/no"))
    assert column.why or kind == "number"


def test_days_and_months_are_told_apart_where_they_can():
    def read(cells):
        encoder = TableEncoder(scale="none").fit(pd.DataFrame({"d": cells}))
        return encoder.columns_[0], encoder.transform(pd.DataFrame({"d": cells})).ravel().tolist()

    column, days = read(["03/04/2021", "25/04/2021", "26/04/2021"])
    assert (column.form, days) == ("%d/%m/%Y", [0, 22, 23])
    column, days = read(["03/04/2021", "04/25/2021", "04/26/2021"])
    assert (column.form, days) == ("%m/%d/%Y", [0, 52, 53])
    column, days = read(["03/04/2021", "05/06/2021", "07/08/2021"])
    assert "day and month could be the other way round; read as month/day" in column.why


def test_what_the_user_says_goes_before_every_rule():
    frame = customers()
    encoder = TableEncoder(columns=["customer id", "visits", "zip"], numeric=["zip"], categorical=["visits"]).fit(frame)
    assert {name for name, (_, used) in kinds(encoder).items() if used} == {"customer id", "visits", "zip"}
    assert kinds(encoder)["customer id"] == ("number", True)
    assert encoder.get_feature_names_out().tolist() == ["customer id", "visits = 12", "visits = 3", "zip"]
    encoder = TableEncoder(drop=["income", "zip"]).fit(frame)
    assert not kinds(encoder)["income"][1]
    assert kinds(TableEncoder(na_values=["DE"]).fit(frame))["country"] == ("empty", False)
    with pytest.raises(InvalidDataError, match=r"drop names 'incmoe', which is not a column; did you mean 'income'\?"):
        TableEncoder(drop=["incmoe"]).fit(frame)
    with pytest.raises(InvalidDataError, match="'member' should be read as numbers, but none of its cells is a number"):
        TableEncoder(numeric=["member"]).fit(frame)


def test_topics_of_texts_are_a_view_of_their_own():
    frame = customers()
    encoder = TableEncoder(text_columns=["remark"]).fit(frame)
    names = encoder.get_feature_names_out()
    topics = np.array([name.startswith("remark: ") for name in names])
    assert topics.sum() == 2
    found = encoder.transform(frame)
    assert np.isclose(found[:, topics].var(axis=0).sum(), found[:, ~topics].var(axis=0).sum())
    group = np.arange(N) % 2
    strongest = np.abs([np.corrcoef(column, group)[0, 1] for column in found[:, topics].T if column.std() > 0]).max()
    assert strongest > 0.95
    with pytest.raises(InvalidDataError, match="no topics, as no two rows share a word"):
        TableEncoder(text_columns=["t"]).fit(pd.DataFrame({"t": [f"word{i}" for i in range(9)], "x": range(9)}))


# New rows ------------------------------------------------------------------------------------------------------------


def test_rows_that_do_not_fit_are_told():
    encoder = TableEncoder(scale="none").fit(customers())
    new = customers().iloc[:3].assign(zip=["01067", "99999", "10115"], visits=["4", "many", "5"])
    with pytest.warns(ColumnWarning) as told:
        found = encoder.transform(new)
    names = encoder.get_feature_names_out().tolist()
    assert found[1, [name.startswith("zip = ") for name in names]].sum() == 0
    assert found[:, names.index("visits")].tolist() == [4, 7.5, 5]
    said = [str(warning.message) for warning in told]
    assert "Column 'visits': 1 row cannot be read as a number ('many') and is treated as missing." in said
    assert "Column 'zip': 1 row has a category that the model has not seen ('99999') and counts as none." in said
    assert encoder.gaps(new).tolist() == [False, True, False]
    with pytest.raises(
        InvalidDataError, match="'visits' was a number when the model was fitted, but no cell is one now"
    ):
        encoder.transform(new.assign(visits="many"))
    with pytest.raises(InvalidDataError, match="lacks the column 'visits' that the model was fitted with"):
        encoder.transform(new.drop(columns="visits"))
    with pytest.raises(InvalidDataError, match="but this is a matrix without names; pass a table"):
        encoder.transform(np.ones((3, 3)))
    with pytest.raises(InvalidDataError, match="Column 'visits' lacks 1 of 3 values"):
        TableEncoder(missing="refuse").fit(customers()).transform(new)


WRITTEN = {
    "plain": lambda value: repr(value),
    "euro": lambda value: f"€{value:,.3f}",
    "continental": lambda value: f"{value:,.3f} €".translate(str.maketrans(",.", ".,")),
    "brackets": lambda value: f"({-value:,.3f})" if value < 0 else f"{value:,.3f}",
    "Swiss": lambda value: f"CHF {value:,.3f}".replace(",", "'"),
    "percent": lambda value: f"{value:.3f}%",
}


@pytest.mark.parametrize("style", WRITTEN)
@settings(deadline=None)
@given(values=st.lists(st.integers(-(10**9), 10**9), min_size=3, max_size=20, unique=True))
def test_numbers_are_what_was_written(style, values):
    numbers = (
        [value / 1000 + 0.5 / 1000 for value in values] if style == "plain" else [value / 1000 for value in values]
    )
    cells = [WRITTEN[style](number) for number in [*numbers, 1234567.891]]  # one cell that tells the decimal sign
    frame = pd.DataFrame({"x": cells})
    encoder = TableEncoder(numeric=["x"], scale="none").fit(frame)
    np.testing.assert_allclose(encoder.transform(frame).ravel(), [*numbers, 1234567.891], rtol=1e-12)


PLAIN = st.one_of(st.integers(-(10**9), 10**9).map(str), st.floats(-1e9, 1e9).map(repr), st.just(""))


@settings(deadline=None)
@given(texts=st.lists(PLAIN, min_size=1, max_size=30).filter(any))
def test_plain_numbers_are_read_at_once_as_they_are_one_by_one(texts):
    at_once, one_by_one = Cells(pa.array(texts)), Cells(pa.array(texts))
    one_by_one.plain = None  # as if a cell were written in another way
    assert at_once.plain is not None
    np.testing.assert_array_equal(at_once.numbers(None).values, one_by_one.numbers(None).values)
    np.testing.assert_array_equal(at_once.missing, one_by_one.missing)
    assert at_once.levels[0] == one_by_one.levels[0]


@settings(deadline=None)
@given(data=st.data(), width=st.integers(1, 5), delimiter=st.sampled_from(",;\t|"), end=st.sampled_from(["\n", "\r\n"]))
def test_even_tables_are_parsed_in_bulk_as_they_are_row_by_row(data, width, delimiter, end):
    cells = st.one_of(PLAIN, st.text(st.sampled_from("aé€0. ,;|\t\"'\n"), max_size=6))
    rows = data.draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=12))
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    names = [f"c{j}" for j in range(width)]
    table = _parse(file.getvalue().encode(), "file", delimiter, names, 0, "")
    assert [list(row.values()) for row in table.to_pylist()] == rows
    assert table.equals(_parse_uneven(file.getvalue(), "file", delimiter, names, 0))


def test_a_column_of_arrow_dates_in_pandas_is_one_of_dates():
    days = pd.Series(pd.date_range("2024-01-01", periods=6), dtype=pd.ArrowDtype(pa.date32()))
    encoder = TableEncoder(scale="none").fit(pd.DataFrame({"day": days}))
    assert encoder.columns_[0].read_as == "date"
    assert encoder.transform(pd.DataFrame({"day": days}))[:, 0].tolist() == [0, 1, 2, 3, 4, 5]


def test_any_table_that_streams_arrow_is_read():
    class Streamed:
        """A table of which only its Arrow stream is known."""

        def __init__(self, table):
            self._table = table

        def __arrow_c_stream__(self, requested_schema=None):
            return self._table.__arrow_c_stream__(requested_schema)

    kinds = pl.Series(["a", "b", "a", "c"] * 5, dtype=pl.Categorical)
    frame = pl.DataFrame({"kind": kinds, "size": np.arange(20) % 7, "name": ["x", "y"] * 10})
    expected = TableEncoder().fit_transform(frame.to_pandas())
    for table in (frame, Streamed(frame), Streamed(frame.to_arrow())):
        np.testing.assert_array_equal(TableEncoder().fit_transform(table), expected)


def test_topics_of_a_forged_file_are_refused():
    fitting = {"terms": ["a", "b"], "idf": [1.0, 2.0], "names": ["a", "b"]}
    Topics(**fitting, weights=[[1.0, 0.0], [0.0, 1.0]]).check()
    for weights in ([[-1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]], [[np.inf, 0.0], [0.0, 1.0]]):
        with pytest.raises(ValueError, match="weights of topics are not finite, negative, or all zero"):
            Topics(**fitting, weights=weights).check()
