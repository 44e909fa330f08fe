"""The benchmarks' page and what the README shows of it. How fast anything is, no test asserts."""

import pytest

from benchmarks.__main__ import PAGE
from benchmarks._measure import Row, exponent
from benchmarks.readme import SHOWING, SHOWN, with_speed
from benchmarks.sentences import FIGURES, PAGES, Speed, dask_ratios, with_figures
from experiments.sentences import MARK


@pytest.mark.parametrize("path", SHOWING, ids=lambda path: path.name)
def test_readme_and_guide_show_the_figures_of_the_page(path):
    text = path.read_text(encoding="utf-8")
    assert with_speed(text, PAGE.read_text(encoding="utf-8")) == text, "run python -m benchmarks"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_sentences_have_the_stored_times(path):
    text = path.read_text(encoding="utf-8")
    assert with_figures(text, Speed.stored()) == text, "run python -m benchmarks pages"


def test_every_time_has_its_place():
    found = [mark for path in PAGES for mark in MARK.findall(path.read_text(encoding="utf-8"))]
    assert {name for _, kind, name, *_ in found if kind == "timed"} == set(FIGURES)


def test_what_is_said_of_workers_on_one_machine():
    one, five = dask_ratios(Speed.stored())
    assert one > 1.2 > five


def test_a_figure_that_the_page_lacks_is_named():
    speed = Speed({"fit": (1.0, "2 s")}, {})
    with pytest.raises(KeyError, match="refit"):
        speed.ratios("refit")
    with pytest.raises(KeyError, match="passes"):
        speed.figure("fit", r"(\d+) passes")


def test_a_row_that_the_page_lacks_is_named():
    with pytest.raises(KeyError, match="MNIST"):
        with_speed("", "\n".join(f"| {name} | 1.00 | | | |" for name in SHOWN if "MNIST" not in name))


def test_a_missed_target_is_called_missed():
    assert [Row("", value, 1.0).verdict for value in (0.9, 1.0, 1.1)] == ["met", "met", "missed"]
    assert Row("", 1.1, None).verdict == ""


def test_exponent_of_a_power():
    assert exponent([10, 100, 1000], [3.0, 30.0, 300.0]) == pytest.approx(1)
