"""Latent classes of a table: which tables and columns, how often EM starts, and which numbers are compared."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from widegap.constraints._units import read_constraints
from widegap.features._column_groups import ColumnGroup
from widegap.forest import _column_search
from widegap.forest._column_search import ColumnSearch, has_few_levels, unmeasured_columns
from widegap.forest._latent_classes import LatentClasses


def numbers(count):
    return [ColumnGroup(j, j + 1) for j in range(count)]


def levels(*counts, n=60):
    """Columns with so many different values."""
    return np.column_stack([np.arange(n) % count for count in counts]).astype(float)


@pytest.mark.parametrize(
    ("counts", "expected"), [((12, 60), True), ((13, 60), False), ((12, 12, 60), True), ((12, 60, 60), False)]
)
def test_a_table_of_which_half_of_the_columns_have_few_values(counts, expected):
    assert has_few_levels(levels(*counts), numbers(len(counts))) == expected


def test_gaps_between_few_values_and_flags_mean_nothing():
    X = levels(60, 12, 60, 2, 2, 13)
    groups = [*numbers(3), ColumnGroup(3, 5, True), ColumnGroup(5, 6)]
    assert unmeasured_columns(X, groups) == [1, 3, 4]
    assert unmeasured_columns(X[:, :5], groups[:4]) == [1, 3, 4]
    assert unmeasured_columns(X[:, [0, 1, 1, 3, 4]], groups[:4]) is None  # one column of many values is left
    assert unmeasured_columns(levels(60, 60), numbers(2)) == []


def drawn(n=90, seed=0):
    """Two numbers and a category of three levels that go with two classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    flags = np.eye(3)[np.where(rng.random(n) < 0.85, y, 2)]
    table = np.column_stack([rng.normal(size=n) + 3 * y, rng.normal(size=n) - 3 * y, flags])
    return table, [*numbers(2), ColumnGroup(2, 5, True)], y


@pytest.fixture
def search():
    table, groups, _ = drawn()
    return ColumnSearch(table, groups, 0)


def test_classes_are_the_most_likely_of_six_starts(search, monkeypatch):
    found, asked = [], []
    fit, kmeans = _column_search.fit_latent_classes, _column_search.kmeans
    monkeypatch.setattr(_column_search, "fit_latent_classes", lambda *rest: found.append(fit(*rest)) or found[-1])
    monkeypatch.setattr(
        _column_search, "kmeans", lambda P, k, turns, rng: asked.append(turns) or kmeans(P, k, turns, rng)
    )
    classes = search.classes(3)
    assert len(found) == 6 and asked == [30] * 6 and search.classes(3) is classes
    full = [one for one in found if len(np.unique(one.labels(search.codes))) == 3]
    assert classes.log_likelihood == max(one.log_likelihood for one in full)
    found.clear(), asked.clear()
    members = search.members(2)
    assert len(members) == 10 and len(found) == 20 and asked == [30] * 20
    best = [max(found[i : i + 2], key=lambda one: one.log_likelihood) for i in range(0, 20, 2)]
    for labels, one in zip(members, best, strict=True):
        assert_array_equal(labels, one.labels(search.codes))


def test_classes_without_rows_are_none(search, monkeypatch):
    empty = LatentClasses(np.array([0.0, -9e9]), np.zeros((2, search.coding.n_codes)), 5.0, 1)
    monkeypatch.setattr(_column_search, "fit_latent_classes", lambda *rest: empty)
    assert search.classes(2) is None
    assert search.number().n_clusters == 1  # and nothing beyond is compared


@pytest.mark.parametrize(("rows", "n"), [(50, 50), (90, 90), (200, 90)])
def test_em_sees_some_of_many_rows(search, monkeypatch, rows, n):
    monkeypatch.setattr(_column_search, "FIT_ROWS", rows)
    monkeypatch.setattr(_column_search, "MEMBER_ROWS", 40)
    codes, axes = search._fitted
    assert len(codes) == len(axes) == n and axes.flags.c_contiguous
    seen = []
    monkeypatch.setattr(ColumnSearch, "_fits", lambda self, codes, *rest: seen.append(len(codes)) or [empty(search)])
    assert len(search.members(2)[0]) == 90 and seen == [40] * 10


def empty(search):
    return LatentClasses(np.zeros(2), np.zeros((2, search.coding.n_codes)), 0.0, 1)


def with_aic3(search, monkeypatch, values, n_axes, missing=()):
    """A search whose k classes have the criterion ``values[k - 1]``; which numbers were looked at."""
    asked = []

    def classes(self, k):
        asked.append(k)
        return None if k in missing else LatentClasses(None, None, -values[k - 1] / 2, 0)

    monkeypatch.setattr(_column_search, "classes_of_labels", lambda *rest: LatentClasses(None, None, -values[0] / 2, 0))
    monkeypatch.setattr(ColumnSearch, "classes", classes)
    monkeypatch.setitem(vars(search), "n_axes", n_axes)
    return search.number(), asked


@pytest.mark.parametrize(
    ("values", "n_axes", "missing", "k", "asked"),
    [
        ([9, 5, 6, 7, 8, 1], 9, (), 2, [2, 3, 4]),  # two beyond the best are looked at
        ([9, 5, 6, 3, 8, 9, 1], 9, (), 4, [2, 3, 4, 5, 6]),
        ([9, 5, 6, 3], 2, (), 2, [2, 3]),  # no more than the axes and one
        ([1, 5, 6, 0], 9, (), 1, [2, 3]),
        ([9, 5], 0, (), 1, []),
        ([9, 8, 7, 1], 9, (3,), 2, [2, 3]),
    ],
)
def test_which_numbers_are_compared(search, monkeypatch, values, n_axes, missing, k, asked):
    number, seen = with_aic3(search, monkeypatch, values, n_axes, missing)
    assert number.n_clusters == k and seen == asked
    assert sorted(number.fits) == [1, *(j for j in asked if j not in missing)]


def test_no_more_than_thirty_classes_are_compared(search, monkeypatch):
    number, _ = with_aic3(search, monkeypatch, [100 - k for k in range(60)], 50)
    assert number.n_clusters == 30 and max(number.fits) == 30


def test_criterion_of_classes_by_hand():
    assert LatentClasses(None, None, -10.0, 4).aic3 == 32


def test_constraints_name_the_classes():
    table, groups, y = drawn()
    search = ColumnSearch(table, groups, 0)
    classes = search.classes(2)
    labels = classes.labels(search.codes)
    known = np.full(90, None, object)
    known[:6] = ["b" if kind == 0 else "a" for kind in y[:6]]
    other = int(np.flatnonzero(y == 1)[-1])
    units = read_constraints(90, 2, known=known, must_link=[(0, other)]).units
    found, fitted = search.constrained(labels, units, 2)
    assert found.dtype == np.int32 and found[other] == found[0] == 1
    rest = np.arange(90) != other
    assert np.mean(found[rest] == 1 - y[rest]) > 0.95
    assert fitted.labels(search.codes).shape == (90,)


def test_what_clusters_explain_of_columns(search):
    _, _, y = drawn()
    shares = search.shares(y.astype(np.int32), 2)
    assert len(shares) == 3
    for column in (0, 1):
        values = search.table[:, column]
        between = np.var([values[y == 0].mean(), values[y == 1].mean()])
        assert shares[column] == pytest.approx(1 - (1 - between / values.var()) * 89 / 88)
