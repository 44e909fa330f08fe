"""The history of the benchmarks: one line a row and commit, what got slower, and a picture of it."""

from xml.etree import ElementTree

import pytest

from benchmarks import history
from benchmarks._measure import Row


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "history.jsonl"
    history.record("aaa1", "table", [Row("fast", 1.0, 2.0), Row("slow", 2.0, None), Row("in seconds", 3.0, 1.0)], path)
    history.record("bbb2", "table", [Row("fast", 1.05, 2.0), Row("slow", 2.5, None), Row("new", 1.0, None)], path)
    return path


def test_one_line_is_kept_for_a_row_and_commit(file):
    assert [(e.commit, e.name) for e in history.read(file)] == [
        ("aaa1", "fast"), ("aaa1", "slow"), ("bbb2", "fast"), ("bbb2", "slow"), ("bbb2", "new"),
    ]  # fmt: skip
    history.record("bbb2", "table", [Row("slow", 2.1, None)], file)
    assert [e.value for e in history.read(file) if e.name == "slow"] == [2.0, 2.1]


def test_rows_that_got_slower_by_more_than_a_tenth_are_listed(file):
    assert list(history.compare(history.read(file), "aaa", "bbb")) == ["table: slow: 2.00 -> 2.50"]
    assert list(history.compare(history.read(file), "bbb", "aaa")) == []


def test_a_commit_without_figures_is_refused(file):
    with pytest.raises(ValueError, match="Nothing was measured at 'ccc'; these commits have figures: aaa1, bbb2"):
        list(history.compare(history.read(file), "aaa", "ccc"))


def test_commits_without_a_row_in_common_are_not_called_equal(file):
    history.record("ddd", "other", [Row("fast", 1.0, 2.0)], file)
    with pytest.raises(ValueError, match="No row was measured at both aaa and ddd"):
        list(history.compare(history.read(file), "aaa", "ddd"))


def test_rows_with_two_figures_have_a_curve(file):
    drawn = ElementTree.fromstring(history.picture(history.read(file)))
    curves = drawn.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(curves) == 2
    ends = [float(curve.get("points").split(",")[-1]) for curve in curves]
    starts = [float(curve.get("points").split(",")[1].split()[0]) for curve in curves]
    assert ends[1] < starts[1]  # slower is higher


def test_the_picture_is_that_of_the_stored_figures():
    assert history.CURVES.read_text(encoding="utf-8") == history.picture(history.read())
