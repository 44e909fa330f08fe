"""Results of older code: carried over if a sample measured again agrees, and only then."""

from dataclasses import replace

import numpy as np
import pytest

from experiments import catalogue, cells, confirm, page, runner
from experiments.cells import Cell
from experiments.store import Record, Store

assert catalogue

PAIRS = [f"digits/{a}-{b}" for a in range(10) for b in range(a + 1, 10)]


def record(cell, **changed):
    """A measurement with older code."""
    scores = {"accuracy": [90.0, 92.0], "majority": [90.0, 92.0]}
    fields = {"code": "older", "status": "ok", "scores": scores, "seconds": [1.0, 2.0], "kmeans_seconds": 0.5}
    return Record(cell, **(fields | changed))


@pytest.fixture
def stale(tmp_path):
    """Two methods on 45 pairs, measured with older code."""
    store = Store(tmp_path / "r.jsonl")
    for method in ("KMeans(1)", "KMeans(10)"):
        for name in PAIRS:
            store.add(record(Cell.of(name, method, 2), extra=[{"at": 0.1}, {"at": 0.2}]))
    return store


def confirmed(store, *, changed=None, **fields):
    """Confirm by an imitation of measuring: all as it was but for the times and, in one method, some fields."""
    measured = []

    def measure(cells_, store, heard):
        for cell in cells_:
            others = fields if cell.method == changed else {}
            found = replace(store.records[cell], code=cells.code_version(cell), seconds=[7.0, 8.0], **others)
            measured.append(found)
            store.add(found)
            heard(found)

    tables = {"t": list(store.records), "again": list(store.records)}
    confirm.confirm(confirm.groups(tables, store), store, measure)
    return measured


def test_a_group_whose_sample_agrees_is_carried_over(stale):
    measured = confirmed(stale)
    assert len(measured) == 2 * 3
    assert runner.pending(stale.records, stale) == []
    for method in ("KMeans(1)", "KMeans(10)"):
        again = [PAIRS.index(found.cell.data) for found in measured if found.cell.method == method]
        assert set(np.diff(again)) <= {14, 15, 16}, "spread over the data sets"
    for cell, found in Store(stale.path).records.items():
        assert (found.code, found.measured_with, found.sampled) == (cells.code_version(cell), "older", 3)
        assert found.seconds == [1.0, 2.0], "times stay those of the older code, in the sample, too"


@pytest.mark.parametrize(
    "fields",
    [
        {"scores": {"accuracy": [90.0, 92.0], "majority": [90.0, 92.001]}},
        {"extra": [{"at": 0.1}, {"at": 0.2001}]},
        {"status": "timeout", "scores": {}},
    ],
    ids=["a score", "a figure of its own", "no score"],
)
def test_a_changed_method_is_not_carried_over(stale, fields):
    measured = confirmed(stale, changed="KMeans(10)", **fields)
    waiting = runner.pending(stale.records, stale)
    assert {cell.method for cell in waiting} == {"KMeans(10)"}
    assert len(waiting) == 45 - 3
    assert all(stale.records[cell].code == "older" for cell in waiting)
    changed = [found for found in measured if found.cell.method == "KMeans(10)"]
    assert all(stale.records[found.cell] == found for found in changed), "what was measured counts"


def test_rounding_is_no_difference_and_a_record_carried_twice_remembers_the_first_version(stale):
    close = {"scores": {"accuracy": [90.0 + 1e-12, 92.0], "majority": [90.0, 92.0]}}
    confirmed(stale, changed="KMeans(10)", **close)
    old = next(r for r in stale.records.values() if r.sampled)
    again = confirm.carried(old, "newest", 4)
    assert (again.code, again.measured_with, again.sampled) == ("newest", "older", 4)


def test_groups_are_of_one_table_and_method_cheap_ones_first_and_failures_are_left_to_a_run(stale):
    for name in PAIRS:
        stale.add(record(Cell.of(name, "KMeans(1)", 2), seconds=[1.0, 3.0]))
    stale.add(record(Cell.of(PAIRS[20], "KMeans(1)", 2), status="timeout"))
    few = [Cell.of(name, "KMeans(10)", 2) for name in PAIRS[:2]]
    found = confirm.groups({"t": few, "u": list(stale.records)}, stale)
    assert [group.name for group in found] == ["t, KMeans(10)", "u, KMeans(10)", "u, KMeans(1)"]
    assert [len(group.cells) for group in found] == [2, 43, 44]
    assert found[0].sample == tuple(few)
    assert [group.seconds for group in found] == [2 * 3.0, 3 * 3.0, 3 * 4.0]


def test_every_family_of_data_is_in_the_sample(stale):
    others = [Cell.of(name, "KMeans(1)", 2) for name in ("ringnorm", "mnist/3-8", "adult/a1a", "sklearn/iris@100")]
    for cell in others:
        stale.add(record(cell))
    sample = confirm.groups({"t": [cell for cell in stale.records if cell.method == "KMeans(1)"]}, stale)[0].sample
    assert set(others) <= set(sample)
    assert len(sample) <= 3 + len(others)


def test_page_says_how_much_was_carried_over(stale):
    assert "earlier code" not in page._effort(stale)
    confirmed(stale)
    assert "90 of them were measured with earlier code and kept after a" in page._effort(stale)
