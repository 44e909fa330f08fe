"""Runs with row orders of their own, the tables that show them, and predictions of rows that were not fitted."""

import numpy as np
import pytest

from experiments import catalogue, cells, new_row_methods, runner
from experiments.cells import ORDERS, Cell, Outcome, Task, family
from experiments.data import drawn_letter_pairs
from experiments.store import Record, Store
from experiments.tables import new_rows, pairs
from experiments.tables._table import ACCURACY, BASELINE, Row, Table, notes

assert catalogue
N_ROWS = 20


@pytest.fixture
def numbered(monkeypatch):
    """A data set whose rows, counts and marks name their place in the file, and methods that report what they see."""
    place, y = np.arange(N_ROWS), np.arange(N_ROWS) % 2
    whole = Task(np.c_[place, 100.0 * y], y, counts=place[:, None], scored=place >= 4)
    monkeypatch.setitem(cells.TASKS, "numbered", lambda _: whole)
    monkeypatch.setattr(runner, "code_version", lambda cell: "c")

    def see(task, seed):
        assert task.counts[:, 0].tolist() == task.X[:, 0].tolist()
        assert task.scored.tolist() == (task.X[:, 0] >= 4).tolist()
        labels = np.where(task.X[:, 0] < 4, 1 - task.y, task.X[:, 1] > 0)  # wrong only where nothing is scored
        return Outcome(labels, {"order": task.X[:, 0].astype(int).tolist()})

    monkeypatch.setitem(cells.METHODS, "seeded", cells.Method(see, True))
    monkeypatch.setitem(cells.METHODS, "unseeded", cells.Method(see, False))


def orders(method, data, seeds=4):
    found = runner.measure(Cell.of(data, method, seeds))
    assert found.status == "ok", found.reason
    assert found.scores["accuracy"] == [100.0] * len(found.extra)
    return [extra["order"] for extra in found.extra]


def test_every_run_has_an_order_of_its_own_and_the_first_that_of_the_file(numbered):
    found = orders("seeded", f"numbered{ORDERS}")
    assert found[0] == list(range(N_ROWS))
    assert len({tuple(order) for order in found}) == 4
    assert all(sorted(order) == found[0] for order in found)


def test_all_methods_see_the_same_orders_also_those_without_a_seed(numbered):
    data = f"numbered{ORDERS}"
    assert orders("unseeded", data) == orders("seeded", data) == orders("seeded", data)


def test_without_the_mark_rows_stay_as_they_are(numbered):
    assert orders("seeded", "numbered") == [list(range(N_ROWS))] * 4
    assert len(orders("unseeded", "numbered")) == 1


def test_subsets_are_reordered_too(numbered):
    found = orders("seeded", f"numbered@10{ORDERS}", 2)
    assert found[0] == orders("seeded", "numbered@10", 1)[0]
    assert sorted(found[1]) == found[0] != found[1]


def test_an_order_belongs_to_the_same_family():
    plain, moved = Cell.of("ionosphere", "KMeans(10)"), Cell.of(f"ionosphere{ORDERS}", "KMeans(10)")
    assert family(moved) == family(plain) == "ionosphere"


def record(cell, accuracy, **changed):
    fields = {"code": "c", "status": "ok", "scores": {"accuracy": list(accuracy)}, "seconds": [1.0]}
    return Record(cell, **(fields | changed))


OURS, THEIRS = pairs.Reordered("M", "m", seeds=2), pairs.Reordered("K", "k", kind=BASELINE, seeds=2)


@pytest.fixture
def two_pairs(tmp_path, monkeypatch):
    """Two methods on two data sets, which are one row of a table."""
    monkeypatch.setitem(notes(), "t", ("Title", ""))
    store = Store(tmp_path / "r.jsonl")
    for data, method, accuracy in (
        ("a", "m", (90.0, 80.0)),
        ("b", "m", (50.0, 70.0)),
        ("a", "k", (85.0, 85.0)),
        ("b", "k", (95.0, 95.0)),
    ):
        store.add(record(Cell.of(data + ORDERS, method, 2), accuracy))
    return Table("t", (Row("both", ("a", "b")), Row("second", ("b",))), (OURS, THEIRS), ACCURACY), store


def test_brackets_hold_the_worst_run_of_each_data_set(two_pairs):
    table, store = two_pairs
    text = table.section(store)
    assert "| both | 72.5 ± 2.5 (65.0) | **90.0 ± 0.0 (90.0)** |" in text
    assert "| second | 60.0 ± 10.0 (50.0) | **95.0 ± 0.0 (95.0)** |" in text


def test_a_pair_counts_once_in_the_words(two_pairs):
    table, store = two_pairs
    words = pairs._pair_words(table, store)
    assert "MaxMarginClustering less K: -17.5 points in the mean of the 2 data sets" in words
    assert "more than 5 above on 0, more than 5 below on 1." in words
    assert words.endswith("Farthest below the best of the four: b (60.0, best 95.0).")


def test_words_wait_for_all_pairs(two_pairs):
    table, store = two_pairs
    del store.records[Cell.of(f"a{ORDERS}", "k", 2)]
    assert pairs._pair_words(table, store) == "Not complete: 1 of 2 data sets."
    assert "| both | 72.5 ± 2.5 (65.0) | not run |" in table.section(store)


def test_a_bad_run_is_told_beside_what_seeds_alone_do(tmp_path):
    store = Store(tmp_path / "r.jsonl")
    assert pairs._order_words(pairs.ROW_ORDERS, store) == "Not measured yet."
    for data, accuracy in (("sklearn/iris", [90.0] * 5 + [60.0]), ("sklearn/wine", [90.0] * 6)):
        store.add(record(Cell.of(data + ORDERS, "MaxMarginClustering", pairs.RUNS), accuracy))
        store.add(record(Cell.of(data, "MaxMarginClustering"), [90.0] * 4 + [88.0]))
    words = pairs._order_words(pairs.ROW_ORDERS, store)
    assert words.endswith("of 2 sets: sklearn iris (mean 85.0, worst 60.0; worst in the file's order 88.0).")


def test_halves_with_a_corner_are_what_the_table_says():
    found = runner.load("corner/3")
    assert np.bincount(found.y).tolist() == [600, 600]
    apart = found.X[:, 1] > 6
    assert apart.sum() == 30
    assert set(found.y[apart]) == {1}
    right = np.mean((found.X[:, 0] > 0) == found.y)  # the cut in the middle, whose expected share is 98.8
    assert 0.975 < right < 0.998
    assert not np.array_equal(found.X, runner.load("corner/4").X)


def test_letter_pairs_are_drawn_once():
    found = drawn_letter_pairs(pairs.LETTER_PAIRS)
    assert len(set(found)) == pairs.LETTER_PAIRS
    assert list(found) == sorted(found)
    assert found[:2] == ("letter/A-B", "letter/A-G")


class Threshold:
    """Clusters rows by their first column, and has another threshold for new rows."""

    def fit(self, X):
        self.labels_ = (X[:, 0] > 0).astype(int)
        return self

    def predict(self, X):
        return (X[:, 0] > 1).astype(int)


def test_either_half_is_scored_alone():
    X = np.array([[-2.0], [0.5], [2.0]] * 200)
    y = (X[:, 0] > 0).astype(int)
    outcome = new_row_methods._on_half(Threshold(), Task(X, y), 0)
    fitted, new = new_row_methods.halves(len(X), 0)
    assert sorted([*fitted, *new]) == list(range(600))
    assert outcome.extra["fitted"] == 100
    assert outcome.extra["new"] == pytest.approx(100 * np.mean(X[new, 0] != 0.5), abs=1e-3)
    assert outcome.extra["same"] == pytest.approx(100 * np.mean(X[fitted, 0] != 0.5), abs=1e-3)
    assert np.array_equal(outcome.labels[fitted], y[fitted])


def test_sets_on_which_predict_differs_are_counted(tmp_path):
    store = Store(tmp_path / "r.jsonl")
    assert new_rows._unequal(new_rows.PREDICTED, store) == "Not measured yet."
    for data, same in (("sklearn/iris", 100.0), ("digits/all", 98.0)):
        extra = [{"fitted": 90.0, "predicted": 91.0, "same": same}]
        store.add(record(Cell.of(data, new_rows.AGAIN), [90.0], extra=extra))
    words = new_rows._unequal(new_rows.PREDICTED, store)
    assert words == (
        "`predict` repeats every label on 1 of 2 sets; in the mean 99.00 % of the labels, least on digits (98.00 %)."
    )
