"""What is told of every cluster: against scipy's tests, and its wording."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import fisher_exact, ttest_ind

from widegap.updating._changes import Change, ColumnChange, Compared, Lineage, find_changes


def compared(old, new, rows=None, weights=None, columns=None):
    """Joint rows with the labels of new and of remembered rows; rows are noise unless given."""
    labels = np.concatenate([new, old]).astype(np.int32)
    if rows is None:
        rows = np.random.default_rng(0).normal(size=(len(labels), 3))
    weights = np.ones(len(labels)) if weights is None else weights
    names = columns or [f"column {j}" for j in range(rows.shape[1])]
    is_new = np.arange(len(labels)) < len(new)
    coordinates = np.asarray(rows.todense() if sp.issparse(rows) else rows)[:, :2]
    return Compared(rows, coordinates, labels, is_new, weights, names)


def changes(found, before=None, **lineage):
    numbers = sorted(set(found.labels.tolist()) - {-1})
    return {c.cluster: c for c in find_changes(found, Lineage(before or numbers, numbers, **lineage))}


def test_the_p_value_of_a_share_is_fishers_corrected():
    old, new = np.repeat([0, 1], [800, 200]), np.repeat([0, 1], [450, 50])
    record = changes(compared(old, new, rows=np.zeros((1500, 1))))[1]
    assert record.kind == "shrunk"
    assert (record.share_before, record.share_after) == (0.2, 0.1)
    assert record.p_value == pytest.approx(2 / 0.25 * fisher_exact([[200, 50], [800, 450]])[1])


def test_the_p_value_of_a_column_is_students_corrected_and_its_averages_are_in_the_units_of_the_rows():
    old, new = np.zeros(300), np.zeros(200)
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(500, 4)) * [1, 10, 1, 1] + [0, 410, 0, 0]
    rows[:200, 1] -= 45
    record = changes(compared(old, new, rows, columns=["a", "spend", "c", "d"]))[0]
    column = record.columns[0]
    assert record.kind == "moved"
    assert column.column == "spend"
    assert column.p_value == pytest.approx(4 * ttest_ind(rows[:200, 1], rows[200:, 1]).pvalue)
    assert column.before == pytest.approx(rows[200:, 1].mean())
    assert "average spend 41" in record.text
    assert "→ 36" in record.text


def test_sparse_rows_give_the_same_records():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(400, 5)) * (rng.random((400, 5)) < 0.4)
    old, new = np.repeat([0, 1], 100), np.repeat([0, 1], [60, 140])
    dense, sparse = (changes(compared(old, new, X)) for X in (rows, sp.csr_array(rows)))
    for p in (0, 1):
        assert dense[p].kind == sparse[p].kind
        assert dense[p].p_value == pytest.approx(sparse[p].p_value)


def test_weights_count_as_rows():
    old, new = np.repeat([0, 1], [50, 50]), np.repeat([0, 1], [100, 100])
    weights = np.concatenate([np.ones(200), np.repeat([1.6, 0.4], 50)])
    record = changes(compared(old, new, weights=weights))[0]
    assert record.share_before == pytest.approx(0.8)
    assert record.kind == "shrunk"


def test_rows_that_are_nearly_forgotten_count_little_for_the_centre():
    """Half of the remembered rows lie elsewhere: with a tenth of the weight they do not move the centre."""
    rng = np.random.default_rng(0)
    new, elsewhere, same = (rng.normal(centre, 1, (900, 1)) for centre in (3 / 11, 3.0, 0.0))
    rows = np.vstack([new, elsewhere, same])
    light, equal = (
        changes(compared(np.zeros(1800), np.zeros(900), rows, np.repeat([1.0, weight, 1.0], 900)))[0]
        for weight in (0.1, 1.0)
    )
    assert light.kind == "kept"
    assert equal.kind == "moved" and equal.columns[0].before == pytest.approx(1.5, abs=0.1)


def test_units_do_not_matter_and_columns_that_do_not_vary_say_nothing():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 3))
    rows[:200] += [0.3, -0.3, 0.3]
    constant = np.full((400, 1), 0.1)
    plain, other = (
        changes(compared(np.zeros(200), np.zeros(200), np.hstack([X, constant])))[0]
        for X in (rows, rows * [1e-6, 1.0, 1e6] + [0, 50, 0])
    )
    assert plain.kind == other.kind == "moved"
    assert plain.p_value == pytest.approx(other.p_value, rel=1e-3)


def test_outliers_are_in_no_share():
    record = changes(compared(np.array([0] * 50 + [-1] * 50), np.zeros(100)))[0]
    assert (record.share_before, record.share_after) == (1, 1)


def test_large_tables_do_not_tell_of_tiny_changes():
    old, new = np.repeat([0, 1], [50_000, 50_000]), np.repeat([0, 1], [51_500, 48_500])
    record = changes(compared(old, new, rows=np.zeros((200_000, 1))))[0]
    assert record.p_value < 1e-6
    assert record.kind == "kept"


def test_kinds_follow_from_where_clusters_come_from():
    old, new = np.repeat([0, 1, 2], 100), np.repeat([0, 3, 4], 100)
    found = changes(compared(old, new), before=[0, 1, 2, 5], parents={4: 0}, heirs={5: 0})
    found |= {c.cluster: c for c in find_changes(compared(old, new), Lineage([0, 1, 2, 5], [0, 3, 4], {4: 0}, {5: 0}))}
    assert {p: record.kind for p, record in found.items()} == {
        0: "kept", 1: "vanished", 2: "vanished", 3: "new", 4: "split", 5: "merged"}  # fmt: skip
    assert found[4].related == (0,)
    assert found[5].related == (0,)


def test_a_few_stray_rows_do_not_hide_that_a_cluster_vanished():
    old, new = np.repeat([0, 1], [800, 200]), np.repeat([0, 1], [495, 5])
    assert changes(compared(old, new))[1].kind == "vanished"


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (Change("kept", 2, 0.12, 0.12, 1.0), "Cluster 2, loyal: kept, 12 % → 12 % of rows."),
        (Change("shrunk", 2, 0.12, 0.07, 0.01), "Cluster 2, loyal: 12 % → 7 % of rows."),
        (
            Change("shrunk", 2, 0.12, 0.07, 0.01, columns=(ColumnChange("spend", 410, 365, 0.001),)),
            "Cluster 2, loyal: 12 % → 7 % of rows, average spend 410 → 365.",
        ),
        (Change("new", 2, 0.0, 0.07, 0.01), "Cluster 2, loyal: new, 7 % of the new rows."),
        (
            Change("split", 2, 0.03, 0.07, 0.01, related=(1,)),
            "Cluster 2, loyal: split from cluster 1, 3 % → 7 % of rows.",
        ),
        (Change("merged", 2, 0.0, 0.0, 1.0, related=(1,)), "Cluster 2, loyal: merged into cluster 1."),
        (
            Change("vanished", 2, 0.1, 0.0, 0.0),
            "Cluster 2, loyal: vanished, 10 % of rows before and none of the new ones.",
        ),
    ],
)
def test_sentences(record, text):
    assert record.worded("loyal") == text
