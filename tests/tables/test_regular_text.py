"""Tables read from the bytes of regular lines: the same decisions and numbers as those of texts in Arrow."""

import warnings

import numpy as np
import pytest

from widegap import TableEncoder
from widegap.exceptions import InvalidDataError
from widegap.tables import _delimited, _regular_text, read_table
from widegap.tables._regular_text import RegularText

FORMS = (
    lambda x: f"{x:.3f}",
    lambda x: repr(float(x)),
    lambda x: f"{x:.2e}",
    lambda x: str(int(x)),
    lambda x: str(int(abs(x)) % 4),
    lambda x: f"{int(abs(x)):06d}",
    lambda x: f"{x:+.1f}",
    lambda x: f" {x:.1f}",
    lambda x: "5.0",
    lambda x: f"{x:.1f} kg",
    lambda x: "abcd"[int(abs(x)) % 4],
    lambda x: f"{x:.1f}".replace(".", ";5"),
)
GAPS = ("", "NA", "nan", "-99", "inf", "007", "word", "1e999")


def written(seed, line_end="\n"):
    """A table of some columns in many forms, most of them numbers, with gaps in some."""
    rng = np.random.default_rng(seed)
    n, names = 60, ["x", "zip", "customer_id", "date", "y", "", "z", "age"]
    columns = []
    for _ in range(int(rng.integers(2, 9))):
        form = FORMS[int(rng.integers(0, 5 if rng.random() < 0.7 else len(FORMS)))]
        cells = [form(x) for x in rng.normal(0, 1000, n)]
        if rng.random() < 0.4:
            gap, share = str(rng.choice(GAPS)), rng.choice([0.02, 0.3, 0.95])
            cells = [gap if rng.random() < share else cell for cell in cells]
        columns.append(cells)
    if rng.random() < 0.3:
        columns.append(columns[0])
    lines = [names[: len(columns)] + [f"c{j}" for j in range(len(columns) - len(names))], *zip(*columns, strict=True)]
    return line_end.join(",".join(line) for line in lines) + (line_end if rng.random() < 0.5 else "")


def told(path, **options):
    """All that reading and encoding tells of a file, or why it is refused."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            table = read_table(path)
            encoder = TableEncoder(**options)
            values = encoder.fit_transform(table.rows)
            again = encoder.transform(table.rows)
        except InvalidDataError as error:
            return str(error)
    assert np.array_equal(values, again)
    notes = {str(warning.message) for warning in caught}
    return table.notes, table.frame.to_csv(), encoder.columns_, np.asarray(values).tolist(), notes


@pytest.fixture
def at_once(monkeypatch):
    """Files of any size are read from their bytes, a few lines at a time."""
    monkeypatch.setattr(_delimited, "SMALL_FILE", 0)
    monkeypatch.setattr(_regular_text, "BLOCK", 300)


@pytest.mark.parametrize("seed", range(60))
def test_regular_lines_give_the_same_decisions_and_numbers(tmp_path, monkeypatch, seed):
    path = tmp_path / "table.csv"
    path.write_bytes(written(seed, "\r\n" if seed % 4 == 3 else "\n").encode())
    options = {"na_values": ["-99"]} if seed % 3 == 1 else {"decimal": ","} if seed % 10 == 2 else {}
    expected = told(path, **options)
    monkeypatch.setattr(_delimited, "SMALL_FILE", 0)
    monkeypatch.setattr(_regular_text, "BLOCK", 300)
    assert told(path, **options) == expected


@pytest.mark.usefixtures("at_once")
def test_lines_of_numbers_are_kept_as_bytes_and_others_are_not(tmp_path):
    path = tmp_path / "table.csv"
    lines = ["a,b,c", *(f"{i / 7},{i % 3},word{i}" for i in range(100))]
    for text, is_regular in (
        ("\n".join(lines), True),
        ("\r\n".join(lines), True),
        ("\n".join([*lines[:50], "", *lines[50:]]), False),
        ("\n".join([*lines, '"1",2,3']), False),
        ("\n".join([*lines, "1,2"]), False),
        ("\r\n".join(lines) + "\n1,2,3", False),
        ("\n".join("x,y,1" for _ in lines), False),
    ):
        path.write_text(text, newline="")
        assert isinstance(read_table(path).columns, RegularText) == is_regular


@pytest.mark.usefixtures("at_once")
def test_numbers_of_many_digits_are_those_of_a_parser(tmp_path):
    rng = np.random.default_rng(0)
    cells = [repr(float(x)) for x in rng.normal(size=400) * 10.0 ** rng.integers(-300, 300, 400)]
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "\n".join(f"{cell},{place}" for place, cell in enumerate(cells)))
    found = TableEncoder(numeric=["a", "b"], scale="none").fit_transform(read_table(path).rows)
    assert found[:, 0].tolist() == [float(cell) for cell in cells]
