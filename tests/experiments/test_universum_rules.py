"""Rules for a universum: chosen on one half, reported on the other; and junk that is set aside."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from experiments import catalogue, cells, universum_methods
from experiments.cells import Task
from experiments.store import Record, Store
from experiments.tables.universum_rules import METHOD, RULED, A, B, interval, verdict
from experiments.universum_data import CHOSEN_ON, REPORTED_ON

assert catalogue


def blobs(n_rest=60):
    """Three groups, and rows of a fourth between them and above."""
    centres = [[0, 6, 0], [-6, -3, 0], [6, -3, 0], [0, 0, 6]]
    X, y = make_blobs([40, 40, 40, n_rest], centers=centres, random_state=0)
    return Task(X[y < 3], y[y < 3], rest=X[y == 3])


def stored(path, gains):
    """A store in which rules have so many points on the halves, with an own figure for every collection."""
    store = Store(path / "r.jsonl")
    for row in RULED.rows:
        for half, column in (("A", A), ("B", B)):
            for i, cell in enumerate(column.cells(row)):
                gain = gains.get((row.label, half), 0.0) + 0.1 * i
                extra = [{"gain_accuracy": gain, "gain_nmi": gain}] * cell.seeds
                store.records[cell] = Record(cell, "c", "ok", extra=extra)
    return store


def test_no_collection_chooses_and_reports():
    assert not set(CHOSEN_ON) & set(REPORTED_ON)
    assert len(CHOSEN_ON) == len(REPORTED_ON)


def test_interval_by_hand():
    low, high = interval(np.array([1.0, 2.0, 3.0]))
    assert (low, high) == pytest.approx((2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5), abs=1e-3)


@pytest.mark.parametrize(("on_b", "words"), [(2.0, "It earns its place"), (-2.0, "no rule earns a place")])
def test_half_a_chooses_and_half_b_decides(tmp_path, on_b, words):
    found = verdict(RULED, stored(tmp_path, {("rest: weight 1", "A"): 3.0, ("rest: weight 1", "B"): on_b}))
    assert found.startswith("Half A chooses *rest: weight 1*, +3.3 (") and words in found
    assert f"On half B it gains {on_b + 0.3:+.1f} (" in found


@pytest.mark.filterwarnings("ignore")  # a universum without effect
def test_a_rule_is_compared_with_the_same_run_without():
    task, run = blobs(), cells.METHODS[METHOD].run
    without = universum_methods._without(task, 3, 0, 1.0)
    found = run(task, 0, share=1e-9)
    assert np.array_equal(found.labels, without.labels_)
    assert found.extra == {"gain_accuracy": 0, "gain_nmi": 0, "active": found.extra["active"], "universum": 60}
    assert run(task, 0, rows="near", fraction=0.1).extra["universum"] == 6


def test_as_many_rows_for_each_pair():
    task = blobs()
    chosen = universum_methods._near_each_pair(task.rest, universum_methods._without(task, 3, 0, 1.0), 0.2)
    assert 4 <= len(chosen) <= 12
    assert {tuple(row) for row in chosen} <= {tuple(row) for row in task.rest}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("by", ["without", "universum", "logistic"])
def test_junk_between_groups_is_set_aside(by):
    found = cells.METHODS["M2DCU amid junk"].run(blobs(), 0, junk=0.2, by=by)
    assert len(found.labels) == 120
    assert found.extra["junk_left"] <= 40 and found.extra["kept_right"] >= 85


def test_too_little_junk_is_refused():
    with pytest.raises(cells.RefusedError, match="20 documents of other classes: 60 are needed"):
        cells.METHODS["M2DCU amid junk"].run(blobs(20), 0, junk=0.2, by="without")
