"""Known labels and links: how they are read, contracted to units, and refused with the chain that shows why."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from widegap.constraints._units import read_constraints
from widegap.exceptions import InvalidDataError

NO_PAIRS = np.empty((0, 2), int)


def units(n_rows=6, n_clusters=3, **given):
    return read_constraints(n_rows, n_clusters, **given).units


def test_nothing_known_is_one_unit_a_row():
    found = read_constraints(3, 2)
    assert found.units.of_row.tolist() == [0, 1, 2] and found.units.sizes.tolist() == [1, 1, 1]
    assert found.units.anchors.tolist() == [-1, -1, -1] and found.units.apart.shape == (0, 2)
    assert found.classes == []
    assert not found.units.constrained.any()


@pytest.mark.parametrize(
    ("known", "anchors", "classes"),
    [
        ([-1, 5, 2, -1], [-1, 1, 0, -1], [2, 5]),
        (np.array([-1, 5, 2, -1]), [-1, 1, 0, -1], [2, 5]),
        (np.array([np.nan, 5, 2, -1]), [-1, 1, 0, -1], [2, 5]),
        ([None, "b", "a", float("nan")], [-1, 1, 0, -1], ["a", "b"]),
        (["b", -1, "a", None], [1, -1, 0, -1], ["a", "b"]),
        (np.array(["b", "-1", "a", "-1"]), [1, -1, 0, -1], ["a", "b"]),
        (pd.Series(["b", pd.NA, "a", None]), [1, -1, 0, -1], ["a", "b"]),
        (pd.Series([5, pd.NA, 2, pd.NA], dtype="Int64"), [1, -1, 0, -1], [2, 5]),
        (pd.Series(["b", None, "a", None], dtype="category"), [1, -1, 0, -1], ["a", "b"]),
        ([7, None, "a", None], [0, -1, 1, -1], [7, "a"]),
        (np.ma.masked_array([9, 5, 2, 9], [True, False, False, True]), [-1, 1, 0, -1], [2, 5]),
        (np.array([True, False, True, False]), [1, 0, 1, 0], [False, True]),
    ],
)
def test_labels_in_every_form(known, anchors, classes):
    found = read_constraints(4, 3, known=known)
    assert found.units.anchors[found.units.of_row].tolist() == anchors
    assert found.classes == classes and [type(label) for label in found.classes] == [type(label) for label in classes]


def test_links_are_contracted():
    found = units(must_link=[[4, 2], [2, 0]], cannot_link=[[0, 5], [5, 4], [1, 3]])
    assert found.of_row.tolist() == [0, 1, 0, 2, 0, 3]
    assert found.sizes.tolist() == [3, 1, 1, 1]
    assert found.apart.tolist() == [[0, 3], [1, 2]]
    assert found.constrained.all()


def test_groups_say_the_same_as_pairs():
    pairs = units(must_link=[[0, 2], [2, 4]], cannot_link=[[1, 3], [3, 5], [1, 5]])
    groups = units(must_link=[7, -1, 7, -1, 7, -1], cannot_link=[None, "x", None, "x", None, "x"])
    for name in ("of_row", "sizes", "anchors", "apart"):
        np.testing.assert_array_equal(getattr(pairs, name), getattr(groups, name))


def test_rows_of_one_label_are_one_unit_and_two_labels_are_apart_anyway():
    found = units(known=["a", "b", "a", None, None, None], must_link=[[2, 3]], cannot_link=[[0, 1], [3, 4]])
    assert found.of_row.tolist() == [0, 1, 0, 0, 2, 3]
    assert found.anchors.tolist() == [0, 1, -1, -1] and found.apart.tolist() == [[0, 2]]


def test_some_rows_keep_what_was_said_through_others():
    found = units(must_link=[[0, 2], [2, 4]], cannot_link=[[1, 2], [3, 5]], known=[-1, -1, 8, -1, -1, -1])
    some = found.of_rows(np.array([1, 3, 4]))
    assert some.of_row.tolist() == [0, 1, 2] and some.anchors.tolist() == [-1, -1, 0]
    assert some.apart.tolist() == [[0, 2]] and some.sizes.tolist() == [1, 1, 1]


@pytest.mark.parametrize("empty", [None, [], NO_PAIRS])
def test_no_links(empty):
    assert len(units(must_link=empty, cannot_link=empty).sizes) == 6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"known": [1, 2]},
            r"known has shape \(2,\), X has 6 rows; labels need one entry a row, -1 where there is none",
        ),
        (
            {"known": [1, 2, 3, 4, -1, -1]},
            r"known holds 4 labels \(1, 2, 3, 4\), but n_clusters=3; every label needs .*",
        ),
        ({"known": 5}, "known is of type int; labels are a list or an array: give every row a number or a text"),
        ({"known": dict.fromkeys(range(6), 1)}, "known is of type dict"),
        ({"known": {1, 2, 3, 4, 5, 6}}, "known is of type set"),
        ({"must_link": np.array(5)}, "must_link is of type ndarray; pass pairs of row numbers"),
        ({"known": sp.csr_array(np.ones((6, 1)))}, "known holds a value that cannot be compared"),
        (
            {"known": [{}] * 6},
            r"known holds a value that cannot be compared \(unhashable type: 'dict'\); give every row",
        ),
        (
            {"must_link": 5},
            "must_link is of type int; pass pairs of row numbers, or one group per row with -1 for none",
        ),
        ({"must_link": [[0, 6]]}, r"must_link\[0\] = \[0, 6\], but rows are numbered from 0 to 5; remove the link"),
        ({"cannot_link": [[0, 1], [-1, 2]]}, r"cannot_link\[1\] = \[-1, 2\], but rows are numbered from 0 to 5"),
        (
            {"must_link": [[0, 1, 2]]},
            r"must_link has shape \(1, 3\) and dtype int64; pass pairs .* or one group per row",
        ),
        (
            {"must_link": [[0.0, 1.0]]},
            r"must_link has shape \(1, 2\) and dtype float64; pass pairs of row numbers as int",
        ),
        ({"must_link": [1, 1]}, r"must_link has shape \(2,\), X has 6 rows; groups need one entry a row"),
        ({"cannot_link": [[3, 3]]}, r"cannot_link\[0\] sets row 3 apart from itself; remove the link"),
        (
            {"cannot_link": [1, 1, 1, 1, 2, 2]},
            r"Group 1 of cannot_link holds 4 rows, such as 0, 1, 2, 3, .* n_clusters=3;",
        ),
    ],
)
def test_refuses_what_it_cannot_read(given, message):
    with pytest.raises(InvalidDataError, match=message):
        units(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"must_link": [[0, 1], [1, 2], [2, 3], [0, 4], [4, 3]], "cannot_link": [[3, 0]]},
            r"Rows 0 and 3 cannot be together by cannot_link, but 0 - 4 \(must-link\), 4 - 3 \(must-link\); remove one",
        ),
        (
            {"must_link": [[1, 2]], "known": ["a", "a", -1, -1, -1, -1], "cannot_link": [[0, 2]]},
            r"but 0 - 1 \(same known label 'a'\), 1 - 2 \(must-link\); remove one of these statements",
        ),
        (
            {"must_link": [3, -1, 3, -1, -1, -1], "known": ["a", -1, "b", -1, -1, -1]},
            r"Rows 0 and 2 are known as 'a' and 'b', but links put them together: 0 - 2 \(same group 3 of must_link\);",
        ),
        (
            {"known": ["a", "b", "c", -1, -1, -1], "cannot_link": [[3, 0], [1, 3], [2, 3]]},
            r"The 4 rows 0, 1, 2, 3 are all to be in different clusters .* n_clusters=3; raise n_clusters or rem",
        ),
        (
            {"cannot_link": [[0, 1], [0, 2], [0, 5], [1, 2], [1, 5], [2, 5], [3, 4]]},
            r"The 4 rows 0, 1, 2, 5 are all to be",
        ),
    ],
)
def test_contradictions_show_the_shortest_chain(given, message):
    with pytest.raises(InvalidDataError, match=message):
        units(**given)


def test_a_long_chain_of_links_is_one_unit():
    order = np.random.default_rng(0).permutation(3000)
    found = units(3000, 2, must_link=np.stack([order[:-1], order[1:]], axis=1))
    assert found.sizes.tolist() == [3000]


@st.composite
def labelings_and_links(draw):
    """A labeling and links that hold in it."""
    labels = np.array(draw(st.lists(st.integers(0, 2), min_size=2, max_size=12)))
    numbers = st.integers(0, len(labels) - 1)
    pairs = draw(st.lists(st.tuples(numbers, numbers), max_size=20))
    must = [pair for pair in pairs if labels[pair[0]] == labels[pair[1]]]
    cannot = [pair for pair in pairs if labels[pair[0]] != labels[pair[1]]]
    known = np.where(draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels))), labels, -1)
    return labels, known, must, cannot


@settings(max_examples=100, deadline=None)
@given(labelings_and_links(), st.randoms())
def test_order_of_links_does_not_matter_and_units_say_what_links_said(problem, random):
    labels, known, must, cannot = problem
    found = units(len(labels), 3, known=known, must_link=must, cannot_link=cannot)
    for a, b in must:
        assert found.of_row[a] == found.of_row[b]
    of_units = np.full(len(found.sizes), -1)
    of_units[found.of_row] = labels
    assert (of_units[found.of_row] == labels).all()  # no unit holds rows that nothing put together
    assert (of_units[found.apart[:, 0]] != of_units[found.apart[:, 1]]).all()
    classes = sorted(set(known.tolist()) - {-1})
    anchored = found.anchors[found.of_row]
    assert all(anchored[i] == classes.index(known[i]) for i in np.flatnonzero(known >= 0))
    turned = [pair[:: random.choice([1, -1])] for pair in must], [pair[:: random.choice([1, -1])] for pair in cannot]
    for links in turned:
        random.shuffle(links)
    again = units(len(labels), 3, known=known, must_link=turned[0], cannot_link=turned[1])
    for name in ("of_row", "sizes", "anchors", "apart"):
        np.testing.assert_array_equal(getattr(found, name), getattr(again, name))
