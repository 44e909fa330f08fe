"""Tables as text: cell by cell the same as Python's csv writes them, and no cell is a formula."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widegap.tables._delimited import Dialect
from widegap.tables._writing import delimited, neutral

DIALECTS = [
    Dialect(),
    Dialect(delimiter=";", decimal=","),
    Dialect(delimiter="\t", line_end="\r\n"),
]
texts = st.text(st.sampled_from("ab\"',;\t\n\r=+-@1.5é 0"), max_size=5)
# Of numbers next to 0 the shortest text has fewer digits than six, which is as right.
numbers = st.floats(allow_nan=False, allow_subnormal=False) | st.integers(-(10**6), 10**6).map(float)
beside_texts = numbers.filter(
    np.isfinite
)  # "-inf" beside texts is a text, which a spreadsheet must not take for a formula


def by_csv(columns, dialect):
    """A referee: one cell after the other."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=dialect.delimiter or ",", lineterminator=dialect.line_end)
    writer.writerow(map(neutral, columns))
    for row in zip(*columns.values(), strict=True):
        writer.writerow([written(cell, dialect) for cell in row])
    return buffer.getvalue()


def written(cell, dialect):
    if isinstance(cell, float):
        text = repr(cell).removesuffix(".0")
        return text.replace(".", ",") if dialect.decimal == "," else text
    return neutral(cell)


@pytest.mark.parametrize("dialect", DIALECTS, ids=["comma", "semicolon", "tab"])
@given(
    cells=st.lists(st.tuples(texts | st.none(), numbers, texts | st.integers() | beside_texts | st.none()), max_size=5)
)
def test_cells_are_those_of_csv(dialect, cells):
    text, number, mixed = map(list, zip(*cells, strict=True)) if cells else ([], [], [])
    frame = pd.DataFrame({"text": pd.Series(text, dtype="str"), "number": pd.Series(number, dtype="float64")})
    frame["mixed"] = pd.Series(mixed, dtype=object)
    assert delimited(frame, dialect) == by_csv({"text": text, "number": number, "mixed": mixed}, dialect)


@given(st.lists(texts | st.none(), max_size=5))
def test_a_column_alone_has_no_empty_lines(cells):
    assert delimited(pd.DataFrame({"=a": pd.Series(cells, dtype="str")})) == by_csv({"=a": cells}, Dialect())


@given(st.lists(numbers, max_size=5))
def test_margins_have_six_digits(values):
    found = delimited(pd.DataFrame({"cluster": np.arange(len(values)), "margin": np.array(values, float)}))
    rounded = [float(f"{value:.6g}") for value in values]
    assert found == by_csv({"cluster": list(range(len(values))), "margin": rounded}, Dialect())


def test_a_formula_beside_numbers_is_harmless():
    frame = pd.DataFrame({"a": pd.Series([1.5, "=cmd()", "-2", "b.c"], dtype=object), "b": 1})
    assert delimited(frame, Dialect(decimal=",", delimiter=";")) == "a;b\n1,5;1\n'=cmd();1\n-2;1\nb.c;1\n"


def test_gaps_are_empty():
    frame = pd.DataFrame({"a": [True, None], "b": pd.array([1, None], "Int64"), "margin": [0.5, np.nan]})
    assert delimited(frame) == "a,b,margin\nTrue,1,0.5\n,,\n"
