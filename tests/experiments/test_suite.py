"""The public suite: its score against brute force, its rules, and published figures that our scores must reproduce."""

import gzip
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage

from _data import FOLDER, requires_data
from experiments import catalogue, cells, runner
from experiments.__main__ import main
from experiments.cells import Cell
from experiments.store import Record, Store
from experiments.suite_data import normalized_clustering_accuracy
from experiments.tables import suite
from experiments.tables.suite import SCORES, SUITE, Standing, published

assert catalogue


def by_all_assignments(y, labels):
    """The definition, one assignment of clusters to classes after the other."""
    classes, clusters = np.unique(y), list(np.unique(labels))
    clusters += [None] * (len(classes) - len(clusters))  # no rows
    shares = [[np.mean(labels[y == c] == p) if p is not None else 0.0 for p in clusters] for c in classes]
    sums = [
        sum(shares[i][j] for i, j in enumerate(s)) for s in itertools.permutations(range(len(clusters)), len(classes))
    ]
    return (max(sums) / len(classes) - 1 / len(classes)) / (1 - 1 / len(classes))


labelings = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=2, max_size=30).filter(
    lambda pairs: len({y for y, _ in pairs}) > 1
)


@given(labelings)
def test_nca_is_the_best_of_all_assignments(pairs):
    y, labels = np.array(pairs).T
    found = normalized_clustering_accuracy(y, labels)
    assert found == pytest.approx(by_all_assignments(y, labels), abs=1e-12)
    assert found <= 1 + 1e-12
    if len(set(labels)) <= len(set(y)):  # more clusters than classes can be worse than one cluster
        assert found >= -1e-12


@given(labelings, st.integers(2, 5))
def test_nca_does_not_depend_on_the_sizes_of_classes(pairs, times):
    y, labels = np.array(pairs).T
    more = np.repeat(np.arange(len(y)), np.where(y == y[0], times, 1))
    assert normalized_clustering_accuracy(y[more], labels[more]) == pytest.approx(
        normalized_clustering_accuracy(y, labels), abs=1e-12
    )


def test_nca_by_hand():
    y = np.array([1, 1, 1, 1, 2, 2])
    assert normalized_clustering_accuracy(y, np.array([7, 7, 7, 3, 3, 3])) == pytest.approx(2 * (0.75 + 1) / 2 - 1)
    assert normalized_clustering_accuracy(y, 5 - y) == 1
    assert normalized_clustering_accuracy(y, np.zeros(6)) == 0
    with pytest.raises(ValueError, match="needs two classes, but there is one"):
        normalized_clustering_accuracy(np.ones(4), np.arange(4))


def test_noise_is_clustered_but_not_scored(tmp_path, monkeypatch):
    monkeypatch.setenv("WIDEGAP_DATA", str(tmp_path))
    (tmp_path / "suite" / "wut").mkdir(parents=True)
    for ending, rows in (
        ("data", "0 1\n0 2\n5 1\n5 2\n9 9\n"),
        ("labels0", "1\n1\n2\n2\n0\n"),
        ("labels1", "1\n2\n3\n3\n3\n"),
    ):
        with gzip.open(tmp_path / "suite" / "wut" / f"made.{ending}.gz", "wt") as file:
            file.write(rows)
    found = runner.load("suite/wut/made.0")
    assert (found.X.shape, found.n_clusters, found.scored.tolist()) == ((5, 2), 2, [True] * 4 + [False])
    assert runner.load("suite/wut/made.1").n_clusters == 3
    monkeypatch.setattr(runner, "code_version", lambda cell: "c")
    monkeypatch.setitem(cells.METHODS, "echo", cells.Method(lambda task, seed: [4, 4, 6, 6, 4], True))
    scores = runner.measure(Cell.of("suite/wut/made.0", "echo", 1)).scores
    assert [scores[name] for name in SCORES] == [[100.0]] * 3
    scores = runner.measure(Cell.of("suite/wut/made.1", "echo", 1)).scores
    assert scores["nca"][0] == pytest.approx(100 * ((1 + 2 / 3) / 3 - 1 / 3) / (1 - 1 / 3), abs=1e-3)


@requires_data
@pytest.mark.parametrize("name", ["wut/x2", "graves/zigzag_noisy", "sipu/compound", "uci/ecoli", "other/iris"])
@pytest.mark.parametrize("rule", ["average", "complete", "ward"])
def test_scores_of_linkages_are_the_published_ones(name, rule):
    """The label vectors behind the published figures can be made again: rules and scores must be the same."""
    found = []
    for data in suite.data_sets(name):
        task = runner.load(data)
        labels = fcluster(linkage(task.X, rule), task.n_clusters, "maxclust")
        scores = runner._scores(task, labels)
        found.append([scores[score] / 100 for score in SCORES])
    methods, sets, figures = published()
    theirs = figures[methods.index(f"fastcluster_{rule}"), sets.index(name)]
    assert np.max(found, axis=0) == pytest.approx(theirs, abs=1e-4)


@requires_data
def test_labelings_are_those_of_the_folder():
    for name in suite.SETS:
        files = sorted(Path(FOLDER, "suite").glob(f"{name}.labels*.gz"))
        assert len(files) == len(suite.data_sets(name)), name


@requires_data
def test_published_figures_are_whole():
    methods, sets, figures = published()
    assert (len(methods), len(sets)) == (113, 73)
    assert np.nanmin(figures[..., 1:]) >= 0
    assert np.nanmax(figures) == 1
    assert set(suite.USUAL) <= set(methods[i] for i in np.flatnonzero(~np.isnan(figures).any(axis=(1, 2))))
    assert set(suite.LABELINGS) <= set(sets)
    assert sum(name.startswith("fcps/") or name in suite.OWN for name in sets) == 14


def with_scores(path, score):
    """A store in which ours has a score, in %, by data set."""
    store = Store(path)
    for cell in SUITE.cells():
        scores = {name: [score(cell.data)] for name in SCORES}
        store.records[cell] = Record(cell, "c", "ok", "", scores, [1.0], 1.0)
    return store


def test_the_best_labeling_counts(tmp_path):
    store = with_scores(tmp_path / "r.jsonl", lambda data: 90.0 if data == "suite/wut/x2.1" else 50.0)
    ours = SUITE.measured(store)
    sets = suite.SETS
    assert ours[sets.index("wut/x2")].tolist() == [0.9] * 3
    assert ours[sets.index("wut/x1")].tolist() == [0.5] * 3


@requires_data
def test_a_perfect_method_is_first_and_a_useless_one_last(tmp_path):
    words = SUITE.standing(SUITE.measured(with_scores(tmp_path / "r.jsonl", lambda data: 100.0)))
    assert "MaxMarginClustering is number 1 by ARI, 1 by NCA, 1 by accuracy and 1 by mean rank." in words
    assert "is better in mean ARI than 50 of them" in words
    assert words.endswith("Farthest behind Genie_G0.3 by ARI: nowhere.")
    assert words.index("| MaxMarginClustering | 1.000 | 1.000 | 1.000 | 1.000 |") < words.index("| Genie_G0.3 |")
    words = SUITE.standing(SUITE.measured(with_scores(tmp_path / "r.jsonl", lambda data: -50.0)))
    assert "MaxMarginClustering is number 64 by ARI, 64 by NCA, 64 by accuracy and 64 by mean rank." in words
    assert "than 0 of them" in words


def test_figures_wait_for_all_cells(tmp_path):
    store = with_scores(tmp_path / "r.jsonl", lambda data: 100.0)
    del store.records[SUITE.cells()[0]]
    assert SUITE.words(store) == f"Not complete: {len(SUITE.cells()) - 1} of {len(SUITE.cells())} cells."
    assert SUITE.section(store).startswith("### A public benchmark suite\n\n`suite`: adjusted Rand index")


def test_equal_scores_share_a_rank():
    scores = np.zeros((3, 2, 3))
    scores[:, :, 0] = [[1.0, 0.5], [1.0, 0.2], [0.0, 0.9]]
    found = Standing(["MaxMarginClustering", "a", "b"], ["p/one", "q/two"], scores)
    assert found.ranks.tolist() == [1.75, 2.25, 2.0]
    assert found.on(np.array([False, True])).means[:, 0].tolist() == [0.5, 0.2, 0.9]
    assert "| q | 1 | 0.500 | 0.200 | 0.900 (b) |" in found.batteries()


@requires_data
def test_the_command_measures_what_is_missing_and_shows_the_ranking(monkeypatch, tmp_path, capsys):
    store = with_scores(tmp_path / "r.jsonl", lambda data: 100.0)
    waiting, written = [], []
    monkeypatch.setattr("experiments.__main__.Store", lambda: store)
    monkeypatch.setattr("experiments.__main__._write_pages", lambda: written.append(True))
    monkeypatch.setattr("experiments.__main__.MACHINE", tmp_path / "machine.json")
    monkeypatch.setattr(suite, "STANDING", tmp_path / "standing.md")
    monkeypatch.setattr(runner, "run", lambda cells, store, **_: waiting.extend(cells))
    main(["suite", "--jobs", "1"])
    assert set(waiting) == set(SUITE.cells())  # their code is another
    assert written
    assert "| MaxMarginClustering | 1.000 |" in capsys.readouterr().out
    monkeypatch.delenv("WIDEGAP_DATA")
    with pytest.raises(SystemExit, match="WIDEGAP_DATA is not set"):
        main(["suite"])
