"""Tables of numbers and categories: how they are read, baselines against brute force, rules for gaps, and the page."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import euclidean_distances

from _data import FOLDER, requires_data
from experiments import catalogue, missing_rules, mixed_baselines, mixed_methods, runner
from experiments.cells import METHODS, Task
from experiments.missing_rules import RULES, axes_of, shared_distances
from experiments.mixed_data import MixedColumn, columns_of, with_missing_level
from experiments.store import Record, Store
from experiments.tables import mixed
from experiments.tables.mixed import GAPS, MIXED, NAMES, NUMBERS
from widegap import TableEncoder
from widegap.features._column_groups import ColumnGroup
from widegap.features._famd import mixed_axes

assert catalogue

# Drawn tables and real ones lack many values, which the encoder warns of.
pytestmark = pytest.mark.filterwarnings("ignore::widegap.exceptions.ColumnWarning")


def drawn_frame(seed=0, n=40, share_missing=0.0):
    """Three classes in two numbers of different units, a category and a yes/no, and random gaps."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    frame = pd.DataFrame(
        {
            "income": 1000.0 * (5 * y + rng.standard_normal(n)),
            "age": 3.0 * y + rng.standard_normal(n),
            "colour": np.array(["red", "green", "blue"])[np.where(rng.random(n) < 0.9, y, rng.integers(0, 3, n))],
            "member": np.where((y > 0) ^ (rng.random(n) < 0.1), "yes", "no"),
        }
    )
    return frame.mask(rng.random(frame.shape) < share_missing), y


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with one table."""
    frame, y = drawn_frame(share_missing=0.1)
    (tmp_path / "mixed").mkdir()
    frame.assign(label=y).to_csv(tmp_path / "mixed" / "made.csv", index=False)
    monkeypatch.setenv("WIDEGAP_DATA", str(tmp_path))
    return frame


def test_classes_are_no_column_and_x_is_the_encoded_frame(folder):
    found = runner.load("mixed/made")
    assert found.frame.columns.tolist() == ["income", "age", "colour", "member"]
    assert found.n_clusters == 3
    assert np.array_equal(found.X, TableEncoder().fit_transform(found.frame))
    part = runner.load("mixed/made@20")
    assert len(part.frame) == len(part.X) == 20


def test_a_shuffled_table_keeps_the_cells_of_each_column_and_has_one_cluster(folder):
    found, again = runner.load("mixed-shuffled/made"), runner.load("mixed-shuffled/made")
    assert found.n_clusters == 1
    assert found.frame.equals(again.frame)
    for name in folder:
        before, after = (sorted(map(str, frame[name])) for frame in (runner.load("mixed/made").frame, found.frame))
        assert before == after
    assert not found.frame["age"].equals(folder["age"])
    lacking = found.frame.isna()
    assert (lacking["age"] != lacking["income"]).any()


@pytest.mark.parametrize("share_missing", [0.0, 0.2])
def test_columns_have_the_distances_of_the_encoded_table_and_their_gaps(share_missing):
    frame, _ = drawn_frame(share_missing=share_missing)
    columns = columns_of(frame)
    assert [column.is_category for column in columns] == [False, False, True, True]
    assert [column.values.shape[1] for column in columns] == [1, 1, 3, 2]
    assert np.array_equal(np.column_stack([column.missing for column in columns]), frame.isna())
    scaled = np.concatenate([column.values * column.factor for column in columns], axis=1)
    expected = euclidean_distances(TableEncoder().fit_transform(frame))
    assert euclidean_distances(scaled) == pytest.approx(expected, abs=1e-6)


def cost_of(labels, X, categories):
    """Of the best prototypes for these labels, by definition."""
    cost = 0.0
    for p in set(labels):
        rows = np.asarray(labels) == p
        cost += ((X[rows] - X[rows].mean(axis=0)) ** 2).sum()
        cost += mixed_baselines.GAMMA * sum(rows.sum() - flags[rows].sum(axis=0).max() for flags in categories)
    return cost


@given(st.integers(0, 10_000))
def test_prototypes_are_a_fixed_point_and_not_below_the_exact_minimum(seed):
    rng = np.random.default_rng(seed)
    X, categories = rng.standard_normal((7, 2)), [np.eye(3)[rng.integers(0, 3, 7)], np.eye(2)[rng.integers(0, 2, 7)]]
    cost, labels = mixed_baselines._prototypes(X, categories, 2, rng)
    assert cost == pytest.approx(cost_of(labels, X, categories))
    least = min(cost_of(other, X, categories) for other in itertools.product((0, 1), repeat=7) if len(set(other)) > 1)
    assert cost >= least - 1e-9


def test_many_starts_of_prototypes_find_the_exact_minimum():
    frame, y = drawn_frame(n=9)
    task = Task(TableEncoder().fit_transform(frame), y, frame=frame)
    columns = columns_of(frame)
    X = np.column_stack([column.values for column in columns[:2]])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    categories = [column.values for column in columns[2:]]
    found = cost_of(mixed_baselines.k_prototypes(task, 0), X, categories)
    every = (other for other in itertools.product(range(3), repeat=9) if len(set(other)) == 3)
    assert found == pytest.approx(min(cost_of(other, X, categories) for other in every))


def test_gower_by_hand():
    frame = pd.DataFrame(
        {"size": [0.0, 5.0, 10.0, None], "kind": ["a", "b", "a", "b"], "open": ["yes", "no", None, "no"]}
    )
    expected = [
        [0, (0.5 + 1 + 1) / 3, (1 + 0) / 2, (1 + 1) / 2],
        [(0.5 + 1 + 1) / 3, 0, (0.5 + 1) / 2, 0],
        [0.5, 0.75, 0, 1],
        [1, 0, 1, 0],
    ]
    assert mixed_baselines.gower_distances(columns_of(frame)) == pytest.approx(np.array(expected))


def test_rows_that_share_no_column_are_farthest():
    values = np.array([[0.0], [0.0], [1.0]])
    lacks = np.array([[False, True, False], [True, False, False]])
    columns = [MixedColumn(values, False, row) for row in lacks]
    assert mixed_baselines.gower_distances(columns).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def test_all_rules_are_one_where_nothing_is_missing():
    columns = columns_of(drawn_frame()[0])
    for famd in (False, True):
        found = [euclidean_distances(axes_of(columns, rule, famd=famd)) for rule in RULES]
        for other in found[1:]:
            assert other == pytest.approx(found[0], abs=1e-6)
    encoded = euclidean_distances(TableEncoder().fit_transform(drawn_frame()[0]))
    assert euclidean_distances(axes_of(columns, missing_rules.PRESENT, famd=False)) == pytest.approx(encoded, abs=1e-6)


def test_filled_is_what_the_encoder_does_and_other_rules_are_not():
    frame, _ = drawn_frame(share_missing=0.2)
    expected = euclidean_distances(TableEncoder().fit_transform(frame))
    found = {rule: euclidean_distances(axes_of(columns_of(frame), rule, famd=False)) for rule in RULES}
    assert found.pop(missing_rules.FILLED) == pytest.approx(expected, abs=1e-6)
    assert all(np.abs(other - expected).max() > 0.1 for other in found.values())


@pytest.mark.parametrize("share_missing", [0.0, 0.2])
def test_filled_axes_of_famd_are_those_of_the_package(share_missing):
    frame, _ = drawn_frame(share_missing=share_missing)
    encoder = TableEncoder().fit(frame)
    groups = [ColumnGroup(0, 1, False), ColumnGroup(1, 2, False), ColumnGroup(2, 5, True), ColumnGroup(5, 6, True)]
    expected = mixed_axes(encoder.readable(frame), groups)
    columns = columns_of(frame)
    for axes, coordinates in ((None, expected.leading), (5, expected.coordinates[:, :5])):
        found = axes_of(columns, missing_rules.FILLED, famd=True, axes=axes)
        assert np.abs(found) == pytest.approx(np.abs(coordinates), abs=1e-6)


def test_distances_over_shared_columns_by_brute_force():
    frame, _ = drawn_frame(n=15, share_missing=0.4)
    columns = columns_of(frame)
    parts, missing = [column.values for column in columns], [column.missing for column in columns]
    found = shared_distances(parts, missing)
    pairs = list(itertools.combinations(range(15), 2))
    for i, j in pairs:
        shared = [part for part, lacks in zip(parts, missing, strict=True) if not (lacks[i] or lacks[j])]
        if shared:
            expected = 4 / len(shared) * sum(((part[i] - part[j]) ** 2).sum() for part in shared)
            assert found[i, j] == pytest.approx(expected, rel=1e-6, abs=1e-3)


def test_a_missing_cell_at_the_mean_adds_nothing():
    frame, _ = drawn_frame(share_missing=0.2)
    column = columns_of(frame)[2]
    part = missing_rules._coordinates(column, missing_rules.MEAN, famd=True)
    assert not part[column.missing].any()
    assert part[~column.missing].any(axis=1).all()


def test_missing_is_a_level_of_a_category_and_a_flag_beside_a_number():
    columns = columns_of(drawn_frame(share_missing=0.2)[0])
    assert with_missing_level(columns[2]).sum(axis=1).tolist() == [1.0] * 40
    number, flag = missing_rules._with_level(columns[0])
    assert number is columns[0]
    assert flag.values[:, 0].tolist() == columns[0].missing.tolist()


def test_a_frame_with_levels_has_no_gaps_but_those_of_numbers():
    frame, _ = drawn_frame(share_missing=0.2)
    found = missing_rules.frame_with_levels(frame)
    assert found.columns.tolist() == [*frame, "income is not given", "age is not given"]
    encoder = TableEncoder().fit(found)
    assert {c.name: c.read_as for c in encoder.columns_}["member"] == "category"
    assert {"colour = not given", "member = not given"} <= set(encoder.get_feature_names_out())
    assert not TableEncoder(drop=["income", "age"]).fit(found).gaps(found).any()
    assert missing_rules.frame_with_levels(drawn_frame()[0]).equals(drawn_frame()[0])


def test_kernels_of_numbers_and_categories():
    encoder = TableEncoder().fit(drawn_frame()[0])
    together, apart = (mixed_methods._kernels(encoder, apart) for apart in (False, True))
    assert together == [("numbers", "rbf", [0, 1]), ("categories", "linear", [2, 3, 4, 5])]
    assert apart[1:] == [("category colour", "linear", [2, 3, 4]), ("category member", "linear", [5])]


def test_every_method_finds_classes_that_lie_apart():
    """Measured: 90 to 100 % for all; a third of the rows by chance."""
    frame, y = drawn_frame(n=90)
    task = Task(TableEncoder().fit_transform(frame), y, frame=frame)
    for column in (*MIXED.columns, *GAPS.columns):
        labels = METHODS[column.method].run(task, 0, **column.settings)
        assert runner._scores(task, labels)["accuracy"] > 80, column.title


def test_halves_are_every_other_name():
    first, second = (mixed.groups_of(NAMES)[half] for half in mixed.HALVES)
    assert (first[:2], second[:2]) == (("abalone", "autompg"), ("anneal", "beps"))
    assert sorted([*first, *second]) == NAMES
    assert len(NAMES) == len(set(NAMES)) == 54


@requires_data
def test_tables_are_those_of_the_folder():
    assert [path.stem for path in sorted(Path(FOLDER, "mixed").glob("*.csv"))] == NAMES
    with_gaps = {
        name for name in NAMES if TableEncoder().fit(frame := runner.load(f"mixed/{name}").frame).gaps(frame).any()
    }
    assert with_gaps == set(mixed.WITH_GAPS)


def with_scores(path, table, score, number=3):
    """A store in which a table's cells have a score, in %, by title of the column and data set."""
    store = Store(path)
    for column in table.columns:
        for row in table.rows:
            for cell in column.cells(row):
                scores = {"ari": [score(column.title, cell.data)]}
                extra = [{"number": number, "classes": 1 if "shuffled" in cell.data else 3}]
                store.records[cell] = Record(cell, "c", "ok", "", scores, [1.0], 1.0, extra)
    return store


def test_wins_and_losses_are_told_from_the_margin_on(tmp_path):
    leads = {"mixed/zoo": 60.0, "mixed/flags": 55.0, "mixed/syn00": 54.9, "mixed/crabs": 40.0}
    store = with_scores(
        tmp_path / "r.jsonl", MIXED, lambda title, data: leads.get(data, 50.0) if title == mixed.TABLES else 50.0
    )
    words = MIXED.after(MIXED, store)
    assert "less k-prototypes: +0.002 (p = " in words
    assert "above on 2 (zoo +0.10, flags +0.05); below on 1 (crabs -0.10)." in words
    del store.records[MIXED.cells()[0]]
    assert MIXED.after(MIXED, store) == "Not complete."
    assert "not run" in MIXED.section(store)


def test_signed_ranks_by_hand():
    """Ranks 4, 3, 1 and -2 of four tables: 3 of 16 signs give a sum of 2 or less; of the real ones 2 of 8 give 1."""
    found = mixed._tested(("zoo", "flags", "syn00", "crabs"), np.array([0.13, 0.05, 0.02, -0.04]))
    assert found == "+0.040 (p = 0.38), on real tables +0.047 (p = 0.5)"
    assert mixed._tested(("zoo", "flags"), np.zeros(2)) == "+0.000 (p = 1), on real tables +0.000 (p = 1)"


def test_the_first_half_chooses_and_the_second_reports(tmp_path):
    first = {f"mixed/{name}" for name in NAMES[::2]}
    store = with_scores(
        tmp_path / "r.jsonl",
        GAPS,
        lambda title, data: (
            70.0 if title.startswith("FAMD") and title.endswith("own level") and data in first else 60.0
        ),
    )
    words = GAPS.after(GAPS, store)
    filled = "FAMD + KMeans(10), filled"
    assert f"choose FAMD + KMeans(10), own level (0.700; {filled} 0.600)" in words
    assert f"On the second half that is number 1 of 4 (0.600; {filled} 0.600)." in words


def test_numbers_are_told_in_doublings_and_alarms(tmp_path):
    store = with_scores(tmp_path / "r.jsonl", NUMBERS, lambda title, data: 0.0, number=6)
    lines = NUMBERS.section(store).splitlines()
    assert (
        "| always 3 (*baseline*) | **1.00** | **1.00** | **1.00** | **1.00** | **1.00** | 0 of 32 | 0 of 54 |" in lines
    )
    right = NUMBERS.section(with_scores(tmp_path / "s.jsonl", NUMBERS, lambda title, data: 0.0, number=3))
    assert "**0.00** | 32 of 32 | 0 of 54 |" in right
    alone = NUMBERS.section(with_scores(tmp_path / "t.jsonl", NUMBERS, lambda title, data: 0.0, number=1))
    assert "**1.58** | 0 of 32 | 54 of 54 |" in alone
