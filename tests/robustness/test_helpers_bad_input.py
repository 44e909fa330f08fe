"""Helpers with arguments that do not fit: an error that names the value and the rule, not one of indices or memory."""

import os

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from widegap import CPM3C, TableEncoder, describe, image, persistence, report, universum
from widegap.exceptions import InvalidDataError

X, y = make_blobs(60, centers=3, n_features=3, random_state=0)
PICTURE = np.zeros((4, 4, 3), np.uint8)
TABLE = np.zeros((60, 3))
CALLS = {
    "universum": lambda X: universum.means(X, 2),
    "encoder": lambda X: TableEncoder().fit(X),
    "report": lambda X: report.summarize(CPM3C(2, random_state=0).fit(y[:, None] + np.eye(60)), X),
}


@pytest.fixture(scope="module")
def model():
    return CPM3C(3, random_state=0).fit(X)


LABELS = {
    "too large": np.full(60, 10**12),
    "too small": np.full(60, -5),
    "too few": np.zeros(5, int),
    "no integers": np.full(60, 0.5),
    "texts": np.array(["a"] * 60),
    "a table": np.zeros((60, 2), int),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_that_do_not_fit(labels, model):
    with pytest.raises(InvalidDataError, match="labels h"):
        describe.leads(TABLE, labels)
    with pytest.raises(InvalidDataError, match="labels h"):
        describe.contrasts(X, labels, 3)
    with pytest.raises(InvalidDataError, match="labels h"):
        report.summarize(model, X, labels=labels)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: describe.contrasts(X, y, 10**12), "n_clusters=1000000000000 must be an integer from 0 to 100,000"),
        (lambda: describe.contrasts(X, y, "3"), "n_clusters='3' must be an integer"),
        (lambda: describe.spread_sample(y, -3), "size=-3 is not a number of rows"),
        (lambda: describe.spread_sample(y, 2.5), "size=2.5 is not a number of rows"),
        (lambda: describe.layout(X, TABLE, [10**9]), "rows are numbered from 0 to 59"),
        (lambda: describe.layout(X, TABLE, [-99]), "rows are numbered from 0 to 59"),
        (lambda: describe.layout(X, TABLE, [0.5]), "pass a list of row numbers"),
        (lambda: describe.layout(X, TABLE[:4], [1, 2]), "table has 4 rows, X has 60"),
        (lambda: universum.boundary(X, "x"), "has no decision_function"),
        (lambda: universum.boundary(X, CPM3C(1).fit(X)), "has one cluster, and so no boundary"),
        (lambda: universum.boundary(X, CPM3C(2), fraction="all"), "fraction='all' of the universum"),
        (lambda: universum.random(X, 10**13), "n=10000000000000 is out of range"),
        (lambda: image.overlay(PICTURE, np.eye(4, dtype=int), colour=(300, 1, 1)), "three integers from 0 to 255"),
        (lambda: image.overlay(PICTURE, np.eye(4, dtype=int), colour=(-1, 1, 1)), "three integers from 0 to 255"),
        (lambda: image.overlay(PICTURE, np.eye(4, dtype=int), colour=(1, 1)), "three integers from 0 to 255"),
        (lambda: image.overlay(PICTURE, np.eye(4, dtype=int), colour="red"), "three integers from 0 to 255"),
        (
            lambda: image.paint(PICTURE, np.full((4, 4), 10**12)),
            "labels holds int64; they must be integers",
        ),
        (lambda: image.paint(PICTURE, np.full((4, 4), -5)), "must be integers from 0 to 15"),
        (
            lambda: image.pixel_features(np.full((4, 4), 1e308)),
            r"from 1e\+308 to 1e\+308; integers must be 0 to 255",
        ),
        (lambda: image.paint(PICTURE, np.full((4, 4), 0.5)), "labels holds float64"),
    ],
)
def test_other_arguments_that_do_not_fit(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("edges", [None, 3.0, [[0.0, 1.0]], [0j, 1j]])
def test_edges_of_a_histogram_are_a_list(edges):
    with pytest.raises(ValueError, match="edges=.* must be a list of numbers in rising order; margin_bins makes one"):
        describe.margin_profile([1.0, 2.0], edges)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_infinities_of_both_signs_are_refused_without_a_warning(call):
    with pytest.raises(ValueError, match="infinity"):
        call(np.array([[np.inf, -np.inf]] * 4, dtype=np.float16))


def test_rows_to_place_are_numbers():
    with pytest.raises(ValueError, match="X holds values of type object; pass an array of numbers"):
        describe.layout(np.zeros((2, 0), dtype=object), None, [0, 1])


def test_margins_are_real():
    with pytest.raises(ValueError, match="margins are complex numbers; pass real ones"):
        describe.margin_bins([1j, 2.0])


@pytest.mark.parametrize("path", [0, True, b"model", None])
def test_a_number_is_no_model_file(path):
    with pytest.raises(TypeError, match="path=.* is not a file name; pass a str or a Path"):
        persistence.load(path)
    os.fstat(0)  # the standard input is still open


def test_margins_may_be_lists():
    assert describe.margin_bins([]) == []
    assert describe.margin_bins([np.nan]) == []
    assert describe.margin_profile([1.0, 2.0], [0.0, 1.5, 3.0])["counts"] == [1, 1]
