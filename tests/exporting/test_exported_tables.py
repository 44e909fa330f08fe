"""Exported pipelines read a table as their encoder does: gaps, categories, yes/no; no text becomes code."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from _exported import differing_without_ties, expected, run_duckdb, run_here, run_onnx, run_python, run_sqlite, worst
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

import widegap
from widegap import CPM3C, MaxMarginClustering, TableEncoder

HOSTILE = [
    "'; DROP TABLE rows; --",
    '" + __import__("os").system("false") + "',
    "'''\"\"\"\\",
    "{0}%s\n\t\u2028 --",
    "]) or exit(3) #",
    "naïve ⟂ 日本",
]


def customers(n, seed=0):
    """A table of numbers with gaps, a category with unknown levels, a yes/no, and another number."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    income = np.where(rng.random(n) < 0.05, np.nan, np.round(rng.normal(group * 30, 5), 3))
    kind = np.array(["new", "used", 'it\'s "odd"'], dtype=object)[group]
    kind[rng.random(n) < 0.1] = "other" if seed else "new"
    kind[rng.random(n) < 0.05] = None
    member = np.where(rng.random(n) < 0.2 + 0.3 * group, "yes", "no").astype(object)
    member[rng.random(n) < 0.05] = None
    visits = rng.integers(0, 9, n) + group * 4
    visits[rng.random(n) < 0.03] = -99
    return pd.DataFrame({"income": income, "kind": kind, "member": member, "visits": visits})


ENCODED = {
    "forest": lambda: MaxMarginClustering(3, random_state=0),
    "forest numbers": lambda: MaxMarginClustering(3, columns=None, random_state=0),
    "CPM3C": lambda: CPM3C(3, outliers=0.05, random_state=0),
}


@cache
def pipeline(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(TableEncoder(na_values=["-99"]), ENCODED[name]()).fit(customers(300))


def check(found, model, frame):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = model[0].transform(frame)
    wanted = expected(model[1], rows)
    assert set(found) - {"id", "class"} == set(wanted)
    assert worst(found["scores"], wanted["scores"]) < 1e-9
    assert not differing_without_ties(found["cluster"], wanted["cluster"], found["scores"])
    for name in wanted.keys() - {"scores", "cluster"}:
        assert np.mean(np.abs(found[name] - wanted[name]) > 1e-9) <= 1e-4


def cells_of(frame):
    """Cells as a database has them: None for gaps."""
    return {name: frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in frame}


def feeds_of(model, frame):
    """Cells as an ONNX file takes them."""
    feeds = {}
    for column in model[0].columns_:
        if column.used and column.read_as == "number":
            feeds[column.name] = frame[column.name].to_numpy(np.float64)[:, None]
        elif column.used:
            feeds[column.name] = frame[column.name].fillna("").to_numpy(object)[:, None]
    return feeds


KINDS = {"kind": "TEXT", "member": "TEXT"}


@pytest.mark.parametrize("name", ENCODED)
def test_every_format_reads_the_table_as_the_encoder_does(name, tmp_path):
    model, frame = pipeline(name), customers(10_000, seed=1)
    assert {c.read_as for c in model[0].columns_ if c.used} == {"number", "category", "yes/no"}
    for ending in ("py", "onnx"):
        widegap.export(model, tmp_path / f"m.{ending}")
    widegap.export(model, tmp_path / "m.sql", keep=["id"])
    check(run_here(tmp_path / "m.py", cells_of(frame)), model, frame)
    check(run_here(tmp_path / "m.py", frame), model, frame)
    check(run_onnx(tmp_path / "m.onnx", feeds_of(model, frame)), model, frame)
    check(run_duckdb(tmp_path / "m.sql", "rows", {"id": range(len(frame)), **cells_of(frame)}), model, frame)
    few = frame[:1000]
    check(run_sqlite(tmp_path / "m.sql", "rows", {"id": range(1000), **cells_of(few)}, KINDS), model, few)


def test_python_file_of_a_table_needs_numpy_alone(tmp_path):
    model, frame = pipeline("forest"), customers(500, seed=2)
    widegap.export(model, tmp_path / "m.py")
    check(run_python(tmp_path / "m.py", cells_of(frame), tmp_path), model, frame)


LEVELS = st.sampled_from(["new", " new ", "used", 'it\'s "odd"', "NEW", "3", "3.0", "n/a", "none", "", None, "unknown"])
WORDS = st.sampled_from(["yes", "no", "Yes", " NO", "true", "1", "0", "maybe", "n/a", "", None, "oui"])
NUMBERS = st.one_of(
    st.floats(-1e6, 1e6), st.integers(-100, 100), st.sampled_from(["-99", " 12.5 ", "n/a", "1e3", None])
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NUMBERS, LEVELS, WORDS, st.sampled_from([1, -99, 4.5])), min_size=1, max_size=8))
def test_python_file_reads_any_cells_as_the_encoder_does(cells):
    model = pipeline("forest numbers")
    columns = dict(zip(("income", "kind", "member", "visits"), map(list, zip(*cells, strict=True)), strict=True))
    # A row that every column can be read in: a column in which nothing can is refused by the encoder.
    for name, cell in (("income", 1), ("kind", "new"), ("member", "yes"), ("visits", 1)):
        columns[name].append(cell)
    frame = pd.DataFrame({name: pd.Series(entries, dtype=object) for name, entries in columns.items()})
    found = reader()(columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = model[1].decision_function(model[0].transform(frame))
    assert np.abs(found - wanted).max() <= 1e-9 * max(1.0, np.abs(wanted).max())


@cache
def reader():
    """``scores`` of the exported file."""
    import runpy
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        widegap.export(pipeline("forest numbers"), f"{folder}/m.py")
        return runpy.run_path(f"{folder}/m.py")["scores"]


@pytest.mark.parametrize("dates", ["elapsed", "parts"])
def test_python_file_reads_dates(dates, tmp_path):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, 120) + rng.integers(0, 24, 120) / 24, "D")
    frame = pd.DataFrame({"size": rng.normal(size=120) + 9 * (np.arange(120) % 2), "day": days})
    model = make_pipeline(TableEncoder(dates=dates), CPM3C(2, random_state=0)).fit(frame)
    widegap.export(model, tmp_path / "m.py")
    wanted = model.decision_function(frame)
    texts = [day.isoformat() for day in days]
    for cells in (days.to_numpy(), texts, days.to_pydatetime().tolist()):
        found = run_here(tmp_path / "m.py", {"size": frame["size"].to_numpy(), "day": cells})["scores"]
        assert np.allclose(found[:, 1] - found[:, 0], wanted, atol=1e-8)
    with pytest.raises(widegap.exceptions.NotSupportedError, match="'day' is read as a date.*drop=.*\\.py"):
        widegap.export(model, tmp_path / "m.onnx")


# Texts of a table never become code


@cache
def hostile():
    """A model whose columns, levels and classes are texts that would run, if anything did."""
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=120)
    levels = np.array(HOSTILE[:2], dtype=object)
    frame = pd.DataFrame(
        {
            HOSTILE[0]: rng.normal(size=120) + 9 * group,
            HOSTILE[1]: levels[group],
            HOSTILE[2]: rng.normal(size=120),
            HOSTILE[3]: np.array(HOSTILE[4:], dtype=object)[rng.integers(2, size=120)],
        }
    )
    known = np.full(120, None, dtype=object)
    known[:20] = np.array(HOSTILE[4:], dtype=object)[group[:20]]
    encoder = TableEncoder(categorical=[HOSTILE[1], HOSTILE[3]]).fit(frame)
    from sklearn.pipeline import Pipeline

    return Pipeline([("t", encoder), ("c", CPM3C(2, random_state=0).fit(encoder.transform(frame), known=known))]), frame


def test_hostile_names_stay_names_in_every_format(tmp_path):
    import json

    import onnx

    model, frame = hostile()
    for ending in ("py", "onnx"):
        widegap.export(model, tmp_path / f"m.{ending}")
    widegap.export(model, tmp_path / "m.sql", table=HOSTILE[0], keep=[HOSTILE[1]])
    check(run_python(tmp_path / "m.py", cells_of(frame), tmp_path), model, frame)
    check(run_onnx(tmp_path / "m.onnx", feeds_of(model, frame)), model, frame)
    props = {entry.key: entry.value for entry in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert json.loads(props["classes"]) == model[1].classes_
    wanted = [model[1].classes_[p] for p in model.predict(frame)]
    for run in (run_sqlite, run_duckdb):
        widegap.export(model, tmp_path / "m.sql", table=HOSTILE[0], keep=["id"])
        columns = {"id": range(len(frame)), **cells_of(frame)}
        found = run(tmp_path / "m.sql", HOSTILE[0], columns, {HOSTILE[1]: "TEXT", HOSTILE[3]: "TEXT"})
        check(found, model, frame)
        assert found["class"].tolist() == wanted


def test_hostile_names_of_an_array_stay_names(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)) + 5 * (np.arange(60) % 2)[:, None], columns=HOSTILE[:3])
    model = CPM3C(2, random_state=0).fit(frame)
    widegap.export(model, tmp_path / "m.sql", table="widegap_0", keep=["id"])
    columns = {"id": range(60), **cells_of(frame)}
    for run in (run_sqlite, run_duckdb):
        assert (run(tmp_path / "m.sql", "widegap_0", columns)["cluster"] == model.predict(frame)).all()


def test_python_file_is_ascii_and_names_what_it_cannot_read(tmp_path):
    model, frame = pipeline("forest"), customers(3)
    widegap.export(model, tmp_path / "m.py")
    assert (tmp_path / "m.py").read_bytes().isascii()
    cells = cells_of(frame)
    with pytest.raises(ValueError, match="lacks the column 'kind'"):
        run_here(tmp_path / "m.py", {name: cells[name] for name in cells if name != "kind"})
    with pytest.raises(ValueError, match="'income': '12 apples' is not a plain number"):
        run_here(tmp_path / "m.py", {**cells, "income": ["12 apples", 1, 2]})
    with pytest.raises(ValueError, match="different lengths"):
        run_here(tmp_path / "m.py", {**cells, "income": [1, 2]})


def test_python_file_refuses_gaps_as_its_encoder_does(tmp_path):
    frame = customers(200).fillna({"income": 30, "kind": "new", "member": "no"})
    model = make_pipeline(TableEncoder(missing="refuse", na_values=()), CPM3C(2, random_state=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(frame)
    widegap.export(model, tmp_path / "m.py")
    cells = cells_of(frame)
    assert (run_here(tmp_path / "m.py", cells)["cluster"] == model.predict(frame)).all()
    for name in ("income", "kind", "member"):
        with pytest.raises(ValueError, match=f"Column '{name}' lacks 1 values"):
            run_here(tmp_path / "m.py", {**cells, name: [None, *cells[name][1:]]})
    for ending in ("onnx", "sql"):
        with pytest.raises(widegap.exceptions.NotSupportedError, match="missing='refuse'.*missing='fill'"):
            widegap.export(model, tmp_path / f"m.{ending}")


PLAIN_NUMBERS = st.one_of(st.none(), st.floats(-1e6, 1e6), st.sampled_from([-99.0, 0.0, 30.0]))
PLAIN_LEVELS = st.sampled_from(["new", "used", 'it\'s "odd"', "NEW", "n/a", "", None])
PLAIN_WORDS = st.sampled_from(["yes", "no", "Yes", "NO", "true", "maybe", "n/a", "", None, "oui"])
PLAIN_ROWS = st.tuples(PLAIN_NUMBERS, PLAIN_LEVELS, PLAIN_WORDS, st.sampled_from([1.0, -99.0, 4.5]))


@cache
def written(ending):
    """The path of the exported file."""
    import tempfile
    from pathlib import Path

    path = Path(tempfile.mkdtemp()) / f"m.{ending}"
    widegap.export(pipeline("forest"), path, **({"keep": ["id"]} if ending == "sql" else {}))
    return path


@settings(max_examples=25, deadline=None)
@given(st.lists(PLAIN_ROWS, min_size=1, max_size=8))
def test_databases_and_onnx_read_any_cells_as_the_encoder_does(cells):
    model = pipeline("forest")
    readable = [(1.0, "new", "yes", 1.0)]  # a column in which nothing can be read is refused by the encoder
    names = ("income", "kind", "member", "visits")
    frame = pd.DataFrame([*cells, *readable], columns=names).astype({"income": float})
    columns = {"id": range(len(frame)), **cells_of(frame)}
    check(run_sqlite(written("sql"), "rows", columns, KINDS), model, frame)
    check(run_duckdb(written("sql"), "rows", columns), model, frame)
    check(run_onnx(written("onnx"), feeds_of(model, frame)), model, frame)


def test_a_word_for_no_that_means_a_gap_is_a_gap_in_every_format(tmp_path):
    frame = customers(200).fillna({"kind": "new", "member": "no"})
    frame["member"] = frame["member"].map({"yes": "true", "no": "false"})
    model = make_pipeline(TableEncoder(na_values=["off", "-99"]), CPM3C(2, random_state=0)).fit(frame)
    frame.loc[:50, "member"] = "off"
    for ending in ("py", "onnx"):
        widegap.export(model, tmp_path / f"m.{ending}")
    widegap.export(model, tmp_path / "m.sql", keep=["id"])
    check(run_here(tmp_path / "m.py", frame), model, frame)
    check(run_onnx(tmp_path / "m.onnx", feeds_of(model, frame)), model, frame)
    check(run_sqlite(tmp_path / "m.sql", "rows", {"id": range(200), **cells_of(frame)}, KINDS), model, frame)
