"""Columns that are left out or asked about: ids, repeats, columns of gaps, codes for missing; and units and weights."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import pdist
from sklearn.pipeline import make_pipeline

from _data import FOLDER as DATA
from _data import requires_data
from widegap import MaxMarginClustering, TableEncoder, persistence
from widegap.cli._main import main
from widegap.exceptions import ColumnWarning, InvalidDataError
from widegap.tables import _unrelated as unrelated
from widegap.tables._column_values import ColumnValues
from widegap.tables._columns import Column
from widegap.tables._frames import as_columns
from widegap.tables._ids import is_id_name
from widegap.tables._missing_codes import codes_for_missing
from widegap.tables._number_units import SPELLINGS
from widegap.tables._plain_numbers import PlainNumbers
from widegap.tables._repeats import scale_between
from widegap.tables._stored import from_json, to_json
from widegap.tables._values import MISSING, Cells

MIXED = Path(DATA, "mixed")


def kind_of(encoder, name):
    return next((c.read_as, c.used) for c in encoder.columns_ if c.name == name)


def line_of(encoder, name):
    return next(line for line in encoder.explain() if line["column"] == name)


def biopsies(n=500):
    """Two groups of patients, nine grades from 1 to 10 that go together, and a few gaps."""
    rng = np.random.default_rng(0)
    sick = rng.random(n) < 0.35
    grades = np.clip(np.round(rng.normal(np.where(sick, 6.5, 2)[:, None], 1.6, (n, 9))), 1, 10)
    frame = pd.DataFrame(grades, columns=[f"V{j}" for j in range(1, 10)])
    return frame.mask(rng.random(frame.shape) < 0.003)


def clumped_ids(n):
    """Numbers of patients as hospitals give them: most of one block, some of others, one of twelve back again."""
    rng = np.random.default_rng(1)
    ids = np.where(rng.random(n) < 0.8, rng.integers(10**6, 13 * 10**5, n), rng.integers(6 * 10**4, 13 * 10**6, n))
    again = rng.random(n) < 0.08
    ids[again] = ids[0]
    return ids


# Ids -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("name", ["ID", "PID", "customer_id", "OrderNo", "patientid", "Sample code number"])
def test_numbers_of_patients_are_not_measured(name, as_text):
    frame = biopsies()
    ids = clumped_ids(len(frame)).astype(str if as_text else int)
    encoder = TableEncoder().fit(frame.assign(**{name: ids}))
    assert kind_of(encoder, name) == ("id", False)
    assert "nearly every row has a different" in line_of(encoder, name)["why"]
    assert line_of(encoder, name)["how to change"] in (f"numeric=[{name!r}]", f"categorical=[{name!r}]")
    np.testing.assert_array_equal(encoder.transform(frame.assign(**{name: ids})), TableEncoder().fit_transform(frame))
    assert kind_of(TableEncoder(numeric=[name]).fit(frame.assign(**{name: ids})), name) == ("number", True)


@pytest.mark.parametrize(
    "name", ["paid", "acid", "grid", "bid", "number of rooms", "account balance", "income", "No. of items", "humidity"]
)
def test_names_that_only_look_like_ids(name):
    assert not is_id_name(name)


def test_names_of_patients_are_not_categories():
    frame = biopsies()
    frame["patient id"] = [f"P-{number}" for number in clumped_ids(len(frame))]
    encoder = TableEncoder().fit(frame)
    assert kind_of(encoder, "patient id") == ("id", False)
    assert line_of(encoder, "patient id")["why"] == "nearly every row has a different value"


def random_ids(kind, n, seed=0):
    rng = np.random.default_rng(seed)
    return {"six digits": rng.choice(10**6, n, replace=False), "shuffled": 1000 + rng.permutation(n)}[kind]


@requires_data
@pytest.mark.parametrize("name", ["id", "x"])
@pytest.mark.parametrize("kind", ["six digits", "shuffled"])
def test_random_ids_change_nothing(name, kind):
    frame = pd.read_csv(MIXED / "breast_w.csv").drop(columns="label")
    encoder = TableEncoder()
    found = encoder.fit_transform(frame.assign(**{name: random_ids(kind, len(frame))}))
    np.testing.assert_array_equal(found, TableEncoder().fit_transform(frame))
    assert line_of(encoder, name)["how to change"] == f"numeric=[{name!r}]"


@requires_data
def test_no_column_of_the_mixed_tables_is_left_out_for_going_with_no_other():
    """None of those that are whole and all different, nor one that is so once it is written with more digits."""
    rng, tested = np.random.default_rng(0), 0
    for path in sorted(MIXED.glob("*.csv")):
        frame = pd.read_csv(path).drop(columns="label")
        encoder = TableEncoder().fit(frame)
        assert not [c.name for c in encoder.columns_ if "goes with no other column" in c.why]
        if path.stem not in ("abalone", "churn_phone", "syn00", "syn14", "syn28"):
            continue
        for name in frame.select_dtypes("number"):
            values = frame[name].to_numpy(dtype=float)
            distinct = np.unique(values[~np.isnan(values)])
            if len(distinct) > 30:
                finer = values + rng.uniform(-0.5, 0.5, len(values)) * np.diff(distinct).min()
                changed = frame.drop(columns=name).assign(x=np.round(1e7 * finer / np.ptp(distinct)))
                assert "goes with no" not in line_of(TableEncoder().fit(changed), "x")["why"]
                tested += 1
    assert tested > 20


MEASUREMENTS = {
    "bell-shaped": lambda rng, n: np.round(rng.normal(30_000, 5000, n) * 100),
    "skewed": lambda rng, n: np.round(np.exp(rng.normal(10, 0.8, n)) * 100),
    "two groups": lambda rng, n: np.round(
        100 * np.where(rng.random(n) < 0.4, rng.normal(1e4, 900, n), rng.normal(4e4, 900, n))
    ),  # fmt: skip  # noqa: E501
}


@pytest.mark.parametrize("kind", MEASUREMENTS)
def test_a_measurement_stays_although_it_goes_with_no_other(kind):
    frame = biopsies()
    frame["x"] = MEASUREMENTS[kind](np.random.default_rng(3), len(frame))
    assert frame["x"].is_unique or frame["x"].nunique() > 0.99 * len(frame)
    assert kind_of(TableEncoder().fit(frame), "x") == ("number", True)


def test_evenly_spread_numbers_stay_where_they_go_with_another_column_or_nothing_does():
    rng, frame = np.random.default_rng(4), biopsies()
    even = rng.permutation(100_000)[: len(frame)]
    assert kind_of(TableEncoder().fit(frame.assign(x=even)), "x") == ("left out", False)
    assert kind_of(TableEncoder().fit(frame.assign(distance=even)), "distance") == ("number", True)
    assert kind_of(TableEncoder().fit(frame.assign(x=even).head(150)), "x") == ("number", True)
    curved = np.abs(even - 50_000) / 10_000 + rng.normal(0, 2, len(frame))
    assert kind_of(TableEncoder().fit(frame.assign(x=even, y=curved)), "x") == ("number", True)
    kinds = np.where(rng.random(len(frame)) < 0.4, even // 20_000, rng.integers(0, 5, len(frame))).astype(str)
    assert kind_of(TableEncoder().fit(frame.assign(x=even, kind=pd.Series(kinds) + "a")), "x") == ("number", True)
    alone = pd.DataFrame({name: rng.permutation(100_000)[:500] for name in "abc"})
    assert all(column.used for column in TableEncoder().fit(alone).columns_)


def test_relations_are_those_of_kruskal_and_pearson():
    rng = np.random.default_rng(5)
    n = 600
    x, y = rng.normal(size=n), np.round(rng.normal(size=n), 1)
    y = y + 0.1 * x
    kind = np.array(list("abc"))[np.digitize(x + rng.normal(0, 4, n), [-1, 1])]
    frame = pd.DataFrame({"x": x, "y": y, "kind": kind})
    table, rows = as_columns(frame), np.arange(n)
    columns = {"x": Column("x", "number"), "y": Column("y", "number"), "kind": Column("kind", "category")}
    none = PlainNumbers(table.number_source, {}, n, np.zeros(0))
    values = ColumnValues(none, lambda name: table.cells(name, MISSING), n)
    found = {name: unrelated._Sampled(column, values, rows) for name, column in columns.items()}
    bins = np.argsort(np.argsort(x)) * unrelated.BINS // n
    expected = stats.kruskal(*(y[bins == b] for b in range(unrelated.BINS))).pvalue
    assert unrelated._relation(found["x"], found["y"]) == pytest.approx(expected, rel=1e-6)
    expected = stats.chi2_contingency(pd.crosstab(bins, kind)).pvalue
    assert unrelated._relation(found["x"], found["kind"]) == pytest.approx(expected, rel=1e-6)


def test_a_link_by_an_id_that_two_rows_share_is_not_guessed(tmp_path, capsys):
    frame = biopsies(60).assign(ID=clumped_ids(60))
    path, links = tmp_path / "biopsies.csv", tmp_path / "links.csv"
    frame.to_csv(path, index=False)
    links.write_text(f"one,other\n{frame['ID'][0]},{frame['ID'][1]}\n", encoding="utf-8")
    assert main(["cluster", str(path), "-k", "2", "--must-link", str(links)]) == 2
    assert "is not a row number from 1 to 60" in capsys.readouterr().err


# Repeats -------------------------------------------------------------------------------------------------------------


def parcels(n=120):
    """Weights and sizes of parcels in two units each, and shops by number and by name."""
    rng = np.random.default_rng(0)
    shop = rng.choice(["N", "S", "W"], n)
    frame = pd.DataFrame({"weight_kg": np.round(rng.gamma(3, 4, n), 2), "height": np.round(rng.normal(60, 10, n), 1)})
    frame["weight_g"] = (1000 * frame["weight_kg"]).round()
    frame["height_in"] = (frame["height"] / 2.54).round(1)
    frame["shop"] = shop
    frame["shop name"] = pd.Series(shop).map({"N": "north", "S": "south", "W": "west"})
    frame["posted"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    frame["sent"] = frame["posted"].dt.strftime("%d.%m.%Y")
    frame["price"] = (3 + 0.5 * frame["weight_kg"] + rng.normal(0, 0.5, n)).round(2)
    return frame


def test_what_is_there_twice_counts_once():
    encoder = TableEncoder().fit(parcels())
    assert {line["column"]: line["why"] for line in encoder.explain() if line["read as"] == "repeat (not used)"} == {
        "weight_g": "repeats 'weight_kg' on another scale",
        "height_in": "repeats 'height' on another scale",
        "shop name": "repeats 'shop' in other words",
        "sent": "repeats 'posted'",
    }
    assert line_of(encoder, "weight_g")["how to change"] == "numeric=['weight_g']"
    named = TableEncoder(numeric=["weight_g"]).fit(parcels())
    assert kind_of(named, "weight_g") == ("number", True)
    assert line_of(named, "weight_kg")["why"] == "repeats 'weight_g' on another scale"
    both = TableEncoder(numeric=["weight_g", "weight_kg"]).fit(parcels())
    assert kind_of(both, "weight_g") == kind_of(both, "weight_kg") == ("number", True)


def test_columns_that_only_resemble_another_one_are_used():
    frame = parcels()
    rng = np.random.default_rng(1)
    frame["other gaps"] = frame["weight_kg"].where(rng.random(len(frame)) > 0.1)
    frame["one cell off"] = frame["weight_kg"].where(frame.index != 77, 0.5)
    frame["mark"] = rng.integers(1, 6, len(frame))
    frame["second mark"] = (frame["mark"] + rng.integers(-1, 2, len(frame))).clip(1, 5)
    frame["paid"], frame["signed"] = np.where(rng.random(len(frame)) < 0.5, ["yes"], ["no"]), ""
    frame["signed"] = frame["paid"].map({"yes": "Y", "no": "N"})
    frame["rare"], frame["rare too"] = (frame.index == 70).astype(int), (frame.index == 71).astype(int)
    encoder = TableEncoder().fit(frame)
    names = ["other gaps", "one cell off", "mark", "second mark", "paid", "signed", "rare", "rare too"]
    assert all(kind_of(encoder, name)[1] for name in names)


@settings(deadline=None, max_examples=60)
@given(
    values=st.lists(st.integers(-1000, 1000), min_size=5, max_size=40).filter(lambda found: len(set(found)) > 2),
    factor=st.sampled_from([-1.0, 0.001, 0.3, 2.54, 1000.0]),
    offset=st.sampled_from([0.0, -7.0, 273.15]),
    row=st.integers(0, 39),
)
def test_a_linear_scale_is_a_repeat_and_one_changed_cell_is_not(values, factor, offset, row):
    x = np.array(values, dtype=float) / np.pi  # not rounded to any digit
    y = factor * x + offset
    assert scale_between(x, x.copy()) == ""
    assert scale_between(x, y) is not None
    assert scale_between(y, x) is not None
    y[row % len(y)] += 0.01 * abs(factor)
    assert scale_between(x, y) is None


def test_one_large_number_does_not_make_small_counts_equal():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 3, (2, 200)).astype(float)
    x[0], y[0] = 5000, 9000
    assert scale_between(x, y) is None
    assert scale_between(x, 3 * x) is not None


def test_many_columns_that_hardly_vary_are_compared_by_their_places():
    flags = np.zeros((3000, 60), dtype=int)
    flags[np.arange(60) * 7 + 1, np.arange(60)] = 1  # between the rows that are looked at first
    frame = pd.DataFrame(flags, columns=[f"f{j}" for j in range(60)]).assign(again=flags[:, 5], x=np.arange(3000) % 7)
    encoder = TableEncoder().fit(frame)
    assert [c.name for c in encoder.columns_ if not c.used] == ["again"]
    assert line_of(encoder, "again")["why"] == "repeats 'f5'"


# Gaps ----------------------------------------------------------------------------------------------------------------


def test_columns_of_gaps_are_not_used_unless_they_are_named():
    frame = parcels().assign(
        refund=[2.5, 3.5, 1.0, 2.0] + [None] * 116, remark=["late", "broken", "late", "late"] + [None] * 116
    )
    encoder = TableEncoder().fit(frame)
    assert line_of(encoder, "refund") == {
        "column": "refund", "read as": "number (not used)", "why": "lacks 96 % of its values",
        "how to change": "numeric=['refund']",
    }  # fmt: skip
    assert line_of(encoder, "remark")["how to change"] == "categorical=['remark']"
    asked = TableEncoder(numeric=["refund"], categorical=["remark"]).fit(frame)
    assert kind_of(asked, "refund") == ("number", True)
    assert kind_of(asked, "remark") == ("category", True)
    almost = frame.assign(refund=[1.0, 2.0] * 7 + [None] * 106)  # 88 %
    assert kind_of(TableEncoder().fit(almost), "refund") == ("number", True)


def test_a_table_of_gaps_is_refused_and_one_of_many_is_warned_of():
    empty = pd.DataFrame({"a": [1.0, 2.0] + [None] * 38, "b": [None] * 37 + ["x", "y", "x"]})
    with pytest.raises(InvalidDataError, match=r"Every column lacks 90 % or more of its values \('a' 95 %, 'b' 92 %\)"):
        TableEncoder().fit(empty)
    with (
        pytest.warns(ColumnWarning, match="The columns that are used lack 95 % of their values"),
        pytest.warns(ColumnWarning, match="38 rows lack every value that is used; filled, they are all alike"),
    ):
        TableEncoder(numeric=["a"]).fit(empty)
    rng = np.random.default_rng(0)
    sparse = pd.DataFrame(rng.normal(size=(60, 5))).where(rng.random((60, 5)) < 0.3).rename(columns="c{}".format)
    sparse = sparse[sparse.notna().any(axis=1)]
    with pytest.warns(ColumnWarning, match=r"The columns that are used lack 6\d % of their values"):
        TableEncoder().fit(sparse)


def test_rows_without_any_value_are_named():
    frame = pd.DataFrame({"a": [*np.linspace(0, 1, 30), *[None] * 3], "b": [*"xyz" * 10, "x", None, None]})
    with pytest.warns(ColumnWarning, match="^2 rows lack every value that is used; filled, they are all alike"):
        TableEncoder().fit(frame)
    with pytest.warns(ColumnWarning, match="^1 row lacks every value that is used and holds filled cells alone"):
        TableEncoder().fit(frame[:-1])
    TableEncoder().fit(frame[:-2])  # no warning
    with pytest.warns(ColumnWarning, match="^3 rows lack every value that is used"):
        TableEncoder(columns=["a"]).fit(frame)


@requires_data
def test_a_real_table_of_many_gaps_is_read():
    frame = pd.read_csv(MIXED / "anneal.csv").drop(columns="label")
    encoder = TableEncoder()
    found = encoder.fit_transform(frame)
    assert np.isfinite(found).all()
    assert line_of(encoder, "packing")["why"] == "lacks 98 % of its values"
    assert sum(column.used for column in encoder.columns_) == 14


def test_gaps_are_filled_alike_in_fitted_and_in_new_rows():
    frame = pd.DataFrame({"x": [1.0, 2.0, None, 9.0], "k": ["a", "b", None, "a"], "ok": ["yes", None, "yes", "no"]})
    encoder = TableEncoder(scale="none").fit(frame)
    new = pd.DataFrame({"x": [None, 5.0], "k": [None, "b"], "ok": [None, "no"]})
    assert encoder.transform(frame)[2].tolist()[:3] == encoder.transform(new)[0].tolist()[:3] == [2.0, 0.0, 0.0]
    assert encoder.transform(frame)[1, 3] == encoder.transform(new)[0, 3] == 1.0


# Codes for missing ---------------------------------------------------------------------------------------------------


def patients(code=-99, times=12, n=150):
    rng = np.random.default_rng(0)
    age = rng.integers(0, 88, n)
    age[:2] = 0, 87
    age[3 : 3 + times] = code
    return pd.DataFrame({"age": age, "height": np.round(rng.normal(170, 10, n), 1)})


def test_a_code_for_missing_is_asked_about_and_can_be_one():
    with pytest.warns(ColumnWarning) as told:
        TableEncoder().fit(patients())
    assert [str(warning.message) for warning in told] == [
        "Column 'age': 12 cells are -99, far outside the rest (0 to 87). If that means missing, pass na_values=['-99']."
    ]
    for frame in (patients(), patients().astype(str), patients().astype(float)):
        encoder = TableEncoder(na_values=["-99"], scale="none").fit(frame)
        assert "12 of 150 cells are missing" in line_of(encoder, "age")["why"]
        assert encoder.transform(frame)[:, 0].min() == 0
        assert encoder.gaps(frame).sum() == 12
    assert TableEncoder(na_values=["-99.0"]).fit(patients()).gaps(patients()).sum() == 12


def test_the_command_line_names_its_option(tmp_path, capsys):
    path = tmp_path / "patients.csv"
    patients().to_csv(path, index=False)
    assert main(["cluster", str(path), "-k", "2", "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["warnings"]
    assert (
        "Column 'age': 12 cells are -99, far outside the rest (0 to 87). If that means missing, pass --na-values=-99."
        in notes
    )
    assert main(["cluster", str(path), "-k", "2", "--json", "--na-values=-99"]) == 0
    assert "-99" not in " ".join(json.loads(capsys.readouterr().out)["warnings"])


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([18, 87, 44, 31, 52, 9999, 9999], [9999]),
        ([*range(20), -1, -1, -1], [-1]),
        ([*range(20), -1, -1, 0, 0, 0], []),  # the tail of a scale
        ([*range(20), 999, 999, -99, -99], [-99, 999]),
        ([*range(100), 99, 99], []),  # inside the rest
        ([*range(20), -99], []),  # once
        ([*range(20), 500, 500], []),  # not a code
        ([*range(-20, 20), -99, -99], [-99]),
        ([*range(-200, 200), -999, -999], [-999]),
        ([*range(-800, 800), -999, -999], []),
        ([0, 1, 0, 1, 99, 99], []),  # too few others
        ([np.nan, 1, 2, 3, 4, 999, 999], [999]),
        ([np.nan, np.nan], []),
    ],
)
def test_codes_are_away_from_the_rest_and_repeated(values, codes):
    assert codes_for_missing(np.array(values, dtype=float))[0] == codes


# Units ---------------------------------------------------------------------------------------------------------------


def test_units_are_stripped_and_kept():
    rng = np.random.default_rng(0)
    numbers = rng.integers(900, 5000, 40)
    frame = pd.DataFrame(
        {
            "birth": [f"{value}.0 g" for value in numbers],
            "way": [f"{value:,} km" for value in rng.permutation(numbers)],
            "size": [f"{value / 100:.1f}cm".replace(".", ",") for value in rng.permutation(numbers)],
            "stay": ["1 day" if value % 5 == 1 else f"{value % 5} days" for value in numbers],
            "temp": [f"{value / 100 - 30:.1f} °C" for value in rng.permutation(numbers)],
            "mixed": [f"{value} {'kg' if i % 3 else 'lb'}" for i, value in enumerate(numbers)],
            "gate": [f"{value % 9}{'AB'[i % 2]}" for i, value in enumerate(numbers)],
        }
    )
    frame.loc[3, "birth"] = "2500"
    frame.loc[4, "birth"] = "3.2 kg"
    encoder = TableEncoder(scale="none").fit(frame)
    units = {column.name: column.unit for column in encoder.columns_ if column.read_as == "number"}
    assert units == {"birth": "g", "way": "km", "size": "cm", "stay": "days", "temp": "°C"}
    with pytest.warns(ColumnWarning, match="1 row cannot be read as a number"):
        found = encoder.transform(frame)
    assert found[0, 0] == numbers[0] and found[3, 0] == 2500
    assert found[4, 0] == encoder.columns_[0].fill  # another unit is a gap
    assert "1 of 40 cells is something else ('3.2 kg')" in line_of(encoder, "birth")["why"]
    assert "its numbers have different units (kg, lb), which are not converted" in line_of(encoder, "mixed")["why"]
    assert not kind_of(encoder, "mixed")[1]
    assert encoder.get_feature_names_out().tolist()[:2] == ["birth", "way"]
    new = frame.head(2).assign(birth=[3000, 3500])
    assert encoder.transform(new)[:, 0].tolist() == [3000, 3500]
    again = from_json(json.loads(json.dumps(to_json(encoder))))
    np.testing.assert_array_equal(again.transform(frame.drop(index=4)), np.delete(found, 4, axis=0))
    state = to_json(encoder)
    state["columns"][0]["unit"] = "furlong"
    with pytest.raises(InvalidDataError, match="'birth' cannot be read as 'number'"):
        from_json(state)


def test_a_wrong_decimal_sign_is_refused_behind_units_too():
    frame = pd.DataFrame({"size": [f"{value},5 cm" for value in range(20)]})
    assert TableEncoder(decimal=",", scale="none").fit_transform(frame)[3, 0] == 3.5
    with pytest.raises(InvalidDataError, match="'0,5 cm' is not a number with '.' as decimal sign; use ','"):
        TableEncoder(decimal=".").fit(frame)


@settings(deadline=None, max_examples=80)
@given(
    unit=st.sampled_from(sorted(spelling for line in SPELLINGS.values() for spelling in line)),
    space=st.sampled_from(["", " "]),
    values=st.lists(st.integers(-(10**6), 10**6), min_size=4, max_size=12, unique=True),
)
def test_every_unit_gives_its_number_back(unit, space, values):
    cells = Cells(pa.array([f"{value / 100:.2f}{space}{unit}" for value in values]))
    (found,) = cells.units
    assert unit in SPELLINGS[found]
    np.testing.assert_allclose(cells.numbers(".", unit=found).values, np.array(values) / 100)


# Weights -------------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(
    weights=st.dictionaries(st.sampled_from(["weight_kg", "shop", "posted"]), st.floats(0.01, 100), min_size=1),
    scale=st.sampled_from(["auto", "none", "minmax"]),
    dates=st.sampled_from(["elapsed", "parts"]),
)
def test_squared_distances_count_as_often_as_the_weight_says(weights, scale, dates):
    frame = parcels(30)[["weight_kg", "shop", "posted"]]
    plain = TableEncoder(scale=scale, dates=dates).fit(frame)
    encoder = TableEncoder(scale=scale, dates=dates, weights=weights).fit(frame)
    expected, place = 0.0, 0
    for column in plain.columns_:
        block = plain.transform(frame)[:, place : place + len(column.names)]
        expected = expected + weights.get(column.name, 1.0) * pdist(block, "sqeuclidean")
        place += len(column.names)
    np.testing.assert_allclose(pdist(encoder.transform(frame), "sqeuclidean"), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(encoder.readable(frame), plain.readable(frame))
    assert (encoder.explain(), encoder.scaling_) == (plain.explain(), plain.scaling_)
    again = from_json(json.loads(json.dumps(to_json(encoder))))
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(frame))


def test_a_weight_of_0_leaves_a_column_out():
    frame = parcels()
    encoder = TableEncoder(weights={"shop": 0, "price": np.int64(2)}).fit(frame.drop(columns="shop name"))
    assert line_of(encoder, "shop") == {
        "column": "shop", "read as": "left out (not used)", "why": "its weight is 0",
        "how to change": "weights={'shop': 1}",
    }  # fmt: skip
    assert json.dumps(to_json(encoder)["parameters"]["weights"]) == '{"shop": 0.0, "price": 2.0}'
    state = to_json(encoder)
    state["parameters"]["weights"] = {"shop": "heavy"}
    with pytest.raises(InvalidDataError, match="The weight of column 'shop' is 'heavy'"):
        from_json(state)
    with pytest.warns(ColumnWarning, match=r"The weight of column 'weight_g' has no effect, as .* \(repeats"):
        TableEncoder(weights={"weight_g": 3}).fit(frame)


@pytest.mark.parametrize("weight", [-1, np.inf, np.nan, "2", True, None])
def test_wrong_weights_are_refused(weight):
    with pytest.raises(InvalidDataError, match="The weight of column 'shop' is .*, but weights are finite numbers"):
        TableEncoder(weights={"shop": weight}).fit(parcels())


def test_a_model_file_keeps_weights_and_units(tmp_path):
    frame = parcels()[["weight_kg", "shop", "price"]].assign(size=lambda table: table["price"].astype(str) + " cm")
    frame["price"] = np.random.default_rng(0).permutation(frame["price"])
    model = make_pipeline(TableEncoder(weights={"shop": 0.5}), MaxMarginClustering(2, random_state=0)).fit(frame)
    persistence.save(model, tmp_path / "model.widegap")
    again, _ = persistence.load(tmp_path / "model.widegap")
    assert (again[0].weights, again[0].columns_[3].unit) == ({"shop": 0.5}, "cm")
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_weights_need_names():
    with pytest.raises(
        InvalidDataError, match=r"weights names 'wieght_kg', which is not a column; did you mean 'weight_kg'"
    ):
        TableEncoder(weights={"wieght_kg": 2}).fit(parcels())
    with pytest.raises(InvalidDataError, match="weights names columns, but this is a matrix without names"):
        TableEncoder(weights={"x0": 2}).fit(np.eye(4))
    with pytest.raises(ValueError, match="'weights' parameter of TableEncoder must be"):
        TableEncoder(weights=[1, 2]).fit(parcels())


@pytest.mark.filterwarnings("ignore::widegap.exceptions.NoStructureWarning")  # the two are independent, and so it says
def test_a_weight_moves_a_clustering():
    """Two groups by colour and two by size: the heavier column decides."""
    rng = np.random.default_rng(0)
    colour, size = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    frame = pd.DataFrame({"colour": np.array(["red", "blue"])[colour], "size": 10 * size + rng.normal(size=200)})
    for name, truth in (("colour", colour), ("size", size)):
        X = TableEncoder(weights={name: 25.0}).fit_transform(frame)
        labels = MaxMarginClustering(2, standardize=False, random_state=0).fit_predict(X)
        assert abs(np.corrcoef(labels, truth)[0, 1]) == pytest.approx(1)


# Too small -----------------------------------------------------------------------------------------------------------


def test_one_row_is_refused(tmp_path, capsys):
    path = tmp_path / "one.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    assert main(["cluster", str(path), "-k", "2"]) == 2
    assert "one.csv: The table has 1 row; at least 2 are needed." in capsys.readouterr().err
    with pytest.raises(InvalidDataError, match="The table has no rows; at least 2 are needed"):
        TableEncoder().fit(pd.DataFrame({"a": []}))
