"""What is told of every cluster: against scipy's tests, and its wording."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import f, fisher_exact, ttest_ind

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


def hotelling(A, B):
    """The p-value of Hotelling's two-sample test, from its textbook definition."""
    n, m, d = len(A), len(B), A.shape[1]
    pooled = ((n - 1) * np.atleast_2d(np.cov(A.T)) + (m - 1) * np.atleast_2d(np.cov(B.T))) / (n + m - 2)
    difference = A.mean(axis=0) - B.mean(axis=0)
    T2 = n * m / (n + m) * difference @ np.linalg.solve(pooled, difference)
    return f.sf(T2 * (n + m - d - 1) / (d * (n + m - 2)), d, n + m - d - 1)


@pytest.mark.parametrize(
    ("n_old", "n_new", "columns", "width"),
    [(60, 40, 3, 3), (60, 40, 10, 10), (60, 40, 11, 2), (13, 40, 8, 3), (40, 11, 8, 3), (14, 40, 8, 4), (60, 40, 1, 1)],
)
def test_the_centre_is_compared_by_hotellings_test(n_old, n_new, columns, width):
    """Of wider rows than ten columns by the coordinates of the search, here two; of few rows by fewer columns."""
    rng = np.random.default_rng(n_old + columns)
    rows = rng.normal(size=(n_old + n_new, columns)) @ rng.normal(size=(columns, columns))
    rows[:n_new] += 0.7 * rng.normal(size=columns)
    found, own = compared(np.zeros(n_old), np.zeros(n_new), rows), changes
    whole = rows if columns <= 10 else rows[:, :2]
    by_centre = hotelling(whole[n_new:, :width], whole[:n_new, :width]) / 0.6
    by_column = columns * ttest_ind(rows[:n_new], rows[n_new:]).pvalue.min() / 0.15
    assert own(found)[0].p_value == pytest.approx(min(1.0, by_centre, by_column), rel=1e-5)


@pytest.mark.parametrize(("n_old", "n_new", "kind"), [(10, 10, "moved"), (9, 30, "kept"), (30, 9, "kept")])
def test_centres_of_fewer_than_ten_rows_are_not_compared(n_old, n_new, kind):
    rows = np.random.default_rng(0).normal(size=(n_old + n_new, 2))
    rows[:n_new, 1] += 9
    record = changes(compared(np.zeros(n_old), np.zeros(n_new), rows))[0]
    assert record.kind == kind and bool(record.columns) == (kind == "moved")
    assert (record.p_value < 1e-6) == (kind == "moved")


def test_three_columns_are_shown_and_none_that_hardly_moved():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(8000, 6))
    rows -= np.where(np.arange(8000)[:, None] < 4000, rows[:4000].mean(axis=0), rows[4000:].mean(axis=0))
    rows[:4000] += [0.5, 0.09, 0.12, 0.3, 0.0, 0.4]  # deviations are 1 up to a few hundredths
    found = compared(np.zeros(4000), np.zeros(4000), rows)
    assert [column.column for column in changes(found)[0].columns] == ["column 0", "column 5", "column 3"]
    rows[:4000] -= [0.5, 0.0, 0.0, 0.3, 0.0, 0.0]
    shown = changes(compared(np.zeros(4000), np.zeros(4000), rows))[0].columns
    assert [column.column for column in shown] == ["column 5", "column 2"]
    assert shown[1].after - shown[1].before == pytest.approx(0.12)


def test_columns_of_clusters_that_did_not_move_are_not_called_clear():
    rows = np.random.default_rng(3).normal(size=(80, 2))
    rows[:40, 0] += 0.3
    record = changes(compared(np.zeros(40), np.zeros(40), rows))[0]
    assert record.kind == "kept" and [column.p_value for column in record.columns] == [1.0] * len(record.columns)
    assert record.columns and record.text == "Cluster 0: kept, 100 % → 100 % of rows."


@pytest.mark.parametrize(("new", "kind"), [(901, "kept"), (899, "shrunk"), (1099, "kept"), (1101, "grown")])
def test_a_tenth_of_a_share_is_told(new, kind):
    """Of 200,000 rows 10 % were in the cluster; with 1 of 10 more or less the change is certain, and told."""
    old = np.repeat([0, 1], [9000, 1000])
    labels = np.repeat([0, 1], [10_000 - new, new])
    found = compared(np.tile(old, 10), np.tile(labels, 10), rows=np.zeros((200_000, 1)))
    assert changes(found)[1].kind == kind


@pytest.mark.parametrize(("left", "kind"), [(20, "vanished"), (21, "shrunk")])
def test_a_tenth_that_is_left_of_a_cluster_is_what_classifiers_err(left, kind):
    old, new = np.repeat([0, 1], [800, 200]), np.repeat([0, 1], [1000 - left, left])
    assert changes(compared(old, new, rows=np.zeros((2000, 1))))[1].kind == kind


def test_a_change_is_told_below_a_chance_of_one_in_twenty_over_all_clusters():
    """By shares alone: columns are constant. The first of the counts is beyond the border, the last below."""
    kinds, chances = [], []
    for left in range(20, 41):
        old, new = np.repeat([0, 1], [60, 40]), np.repeat([0, 1], [100 - left, left])
        record = changes(compared(old, new, rows=np.zeros((200, 1))))[1]
        chances.append(2 / 0.25 * fisher_exact([[40, left], [60, 100 - left]])[1])
        assert record.p_value == pytest.approx(min(1.0, chances[-1]))
        kinds.append(record.kind)
    assert kinds == ["shrunk" if chance < 0.05 else "kept" for chance in chances] and len(set(kinds)) == 2


def test_sentences_name_columns_that_changed_clearly_and_those_given():
    columns = (ColumnChange("spend", 410, 365, 0.049), ColumnChange("age", 40, 41, 0.05))
    record = Change("moved", 3, 0.5, 0.5, 0.01, columns=columns)
    assert record.worded() == "Cluster 3: 50 % → 50 % of rows, average spend 410 → 365."
    assert record.worded("", ["age up", "visits down"]) == "Cluster 3: 50 % → 50 % of rows, age up, visits down."
    assert Change("kept", 0, 0.5, 0.4, 1.0).worded() == "Cluster 0: kept, 50 % → 40 % of rows."
    assert Change("vanished", 1, 0.5, 0.01, 0.0).worded() == (
        "Cluster 1: vanished, 50 % of rows before and only 1 % of the new ones."
    )


def test_names_are_in_the_sentences_of_their_clusters():
    found = compared(np.repeat([0, 1], 50), np.repeat([0, 1], 50))
    texts = [record.text for record in find_changes(found, Lineage([0, 1], [0, 1]), {1: "loyal"})]
    assert texts[0].startswith("Cluster 0: kept") and texts[1].startswith("Cluster 1, loyal: kept")
