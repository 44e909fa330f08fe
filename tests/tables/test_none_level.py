"""The word "none" is a level among words, and a gap among numbers, dates and yes/no."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widegap import TableEncoder
from widegap.cli._column_options import option_for
from widegap.tables._stored import from_json, to_json

BESIDE = {"other": [1.0, 2.0, 4.0]}  # a column that is always used


def fitted(cells, **options):
    cells = list(cells)
    frame = pd.DataFrame({"other": np.resize(BESIDE["other"], len(cells)), "x": cells})
    encoder = TableEncoder(scale="none", **options).fit(frame)
    return encoder, encoder.columns_[1], encoder.gaps(frame)


@pytest.mark.parametrize("word", ["none", "None", "NONE", " none "])
def test_none_is_a_level_among_words(word):
    encoder, column, gaps = fitted(["guarantor", "co-applicant", word, word, ""] * 4)
    assert column.used and column.levels == ["co-applicant", "guarantor", "none"]
    assert gaps.tolist() == [False, False, False, False, True] * 4
    told = encoder.explain()[1]
    assert told["why"].endswith("8 of 20 cells are 'none', a category among words")
    assert "4 of 20 cells are missing" in told["why"]
    assert told["how to change"] == "na_values=['none']"
    assert option_for(column) == "--na-values none"


def test_a_column_that_is_mostly_none_is_used():
    _, column, gaps = fitted(["guarantor"] * 3 + ["co-applicant"] * 2 + ["none"] * 95)
    assert column.used and len(column.levels) == 3 and not gaps.any()


def test_none_and_one_word_are_two_levels():
    _, column, _ = fitted(["yes", "none"] * 6)
    assert column.used and column.levels == ["none", "yes"]
    assert fitted(["none"] * 6)[1].read_as == "empty"


@pytest.mark.parametrize(
    ("cells", "read_as"),
    [
        (["1", "2.5", "7", "none"], "number"),
        (["12 kg", "7 kg", "9 kg", "None"], "number"),
        (["2024-01-05", "2024-02-05", "2023-03-05", "none"], "date"),
        (["14:30", "9:15", "7:00", "none"], "time"),
        (["yes", "no", "no", "none"], "yes/no"),
        (["00123", "00456", "00789", "none"], "category"),  # codes
        (["12 kg", "7 lb", "9 kg", "none"], "category"),
        (["5", "5", "5", "none"], "constant"),
        (["5 Jan 2024", "5 Jan 2024", "5 Jan 2024", "none"], "constant"),
    ],
)
def test_none_stays_a_gap_elsewhere(cells, read_as):
    _, column, gaps = fitted(cells * 5)
    assert column.read_as == read_as and "none" not in column.levels
    assert gaps.tolist() == [False, False, False, column.used] * 5


@pytest.mark.parametrize("cells", [["1", "2", "none"], ["yes", "no", "none"], ["Jan 5, 2024", "May 6, 2024", "none"]])
def test_categories_that_were_asked_for_have_no_level_none_unless_they_are_words(cells):
    assert fitted(cells * 5, categorical=["x"])[1].levels == sorted(cells[:2])
    assert fitted(["b", "a", "none"] * 5, categorical=["x"])[1].levels == ["a", "b", "none"]


def test_the_user_can_call_it_a_gap():
    encoder, column, gaps = fitted(["a", "b", "None"] * 5, na_values=["None "])
    assert column.levels == ["a", "b"] and gaps.sum() == 5
    assert encoder.explain()[1]["how to change"] == "drop=['x']"


def test_ids_and_full_lists_of_levels_stay_as_they_are():
    words = [
        f"word{chr(97 + i)}{chr(97 + j)}" for i in range(5) for j in range(6)
    ]  # 30, as many as a category may have
    _, column, gaps = fitted([*words, *words, *words, "none"])
    assert column.levels == sorted(words) and gaps.sum() == 1
    assert fitted([*words, "none", "none"])[1].read_as == "id"


def test_new_rows_follow_the_fit():
    encoder, *_ = fitted(["a", "b", "none"] * 5)
    new = pd.DataFrame({"other": [1.0, 2.0], "x": ["NONE", None]})
    assert encoder.transform(new)[:, 1:].tolist() == [[0, 0, 1], [0, 0, 0]]
    assert encoder.gaps(new).tolist() == [False, True]
    again = from_json(json.loads(json.dumps(to_json(encoder))))
    assert again.transform(new).tolist() == encoder.transform(new).tolist()
    without, *_ = fitted(["a", "b", "c"] * 5)  # a model that has not seen it
    assert without.gaps(new).tolist() == [True, True]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(["red", "green", "blue", "none", "", "n/a"]), min_size=8, max_size=40))
def test_it_is_read_like_any_other_word(cells):
    """A referee: the same table with another word in place of "none"; eight rows may have four levels."""
    if len(set(cells) & {"red", "green", "blue"}) == 0:
        return  # "none" alone is no level
    _, column, gaps = fitted(cells)
    _, other, other_gaps = fitted(["nothing" if cell == "none" else cell for cell in cells])
    assert [level.replace("none", "nothing") for level in column.levels] == other.levels
    assert (column.read_as, column.used, gaps.tolist()) == (other.read_as, other.used, other_gaps.tolist())
