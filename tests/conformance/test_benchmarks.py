"""The benchmarks' page and what the README shows of it. How fast anything is, no test asserts."""

import pytest

from benchmarks.__main__ import PAGE
from benchmarks._measure import Row, exponent
from benchmarks.readme import SHOWING, SHOWN, with_speed


@pytest.mark.parametrize("path", SHOWING, ids=lambda path: path.name)
def test_readme_and_guide_show_the_figures_of_the_page(path):
    text = path.read_text(encoding="utf-8")
    assert with_speed(text, PAGE.read_text(encoding="utf-8")) == text, "run python -m benchmarks"


def test_a_row_that_the_page_lacks_is_named():
    with pytest.raises(KeyError, match="MNIST"):
        with_speed("", "\n".join(f"| {name} | 1.00 | | | |" for name in SHOWN if "MNIST" not in name))


def test_a_missed_target_is_called_missed():
    assert [Row("", value, 1.0).verdict for value in (0.9, 1.0, 1.1)] == ["met", "met", "missed"]
    assert Row("", 1.1, None).verdict == ""


def test_exponent_of_a_power():
    assert exponent([10, 100, 1000], [3.0, 30.0, 300.0]) == pytest.approx(1)
