"""Clusterers of others: each runs on plain blobs or topics, and says so where its package is not installed."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from experiments import catalogue, cells, peer_baselines, runner
from experiments.cells import Cell, Task

assert catalogue
PACKAGES = {"Genie": "genieclust", "GIc": "genieclust", "Leiden": "leidenalg", "BERTopic on LSA": "umap"}
PACKAGES["BERTopic on LSA, k-means"] = "umap"


def blobs():
    return Task(*make_blobs(240, centers=4, cluster_std=0.5, random_state=0))


def topics():
    """Three topics of thirty words each, in documents of twenty words."""
    rng = np.random.default_rng(0)
    y = np.arange(180) % 3
    words = 30 * y[:, None] + rng.integers(0, 30, (180, 20))
    counts = np.array([np.bincount(row, minlength=90) for row in words])
    return Task(counts.astype(float), y, counts=counts.astype(float))


@pytest.mark.filterwarnings("ignore")  # those of others, as where cells are measured
@pytest.mark.parametrize("name", PACKAGES)
def test_plain_groups_are_found(name):
    pytest.importorskip(PACKAGES[name])
    task = topics() if name.startswith("BERTopic") else blobs()
    labels = cells.METHODS[name].run(task, 0)
    assert adjusted_rand_score(task.y, labels) > 0.95
    assert np.array_equal(labels, cells.METHODS[name].run(task, 0))


def test_birch_finds_plain_groups():
    task = blobs()
    assert adjusted_rand_score(task.y, cells.METHODS["BIRCH"].run(task, 0)) > 0.95


def test_latent_topics_are_found_without_any_package():
    task = topics()
    assert adjusted_rand_score(task.y, cells.METHODS["LSA + KMeans(10)"].run(task, 0)) == 1


def test_topics_are_as_many_as_asked_for_where_a_least_size_leaves_so_many():
    X = make_blobs([200, 150, 100, 30, 30], centers=[[0, 0], [20, 0], [0, 20], [20, 20], [21, 21]], random_state=0)[0]
    found = {number: peer_baselines._as_many_topics(X, number) for number in (3, 4)}
    assert {number: labels.max() + 1 for number, labels in found.items()} == {3: 3, 4: 4}


def test_leiden_does_not_count_a_few_rows_apart_as_a_community():
    pytest.importorskip("leidenalg")
    task = blobs()
    apart = Task(np.vstack([task.X, task.X[:12] + 1000]), np.r_[task.y, task.y[:12]])
    labels = cells.METHODS["Leiden"].run(replace(apart, n_clusters=4), 0)
    assert adjusted_rand_score(task.y, labels[:240]) > 0.95


def test_words_of_a_topic_weigh_more_there():
    task = topics()
    weights = peer_baselines._class_weights(task.counts, task.y).toarray()
    assert [set(row.nonzero()[0]) for row in weights] == [set(range(30 * c, 30 * c + 30)) for c in range(3)]
    shared = np.column_stack([task.counts, np.ones(len(task.y))])  # a word of every document
    assert (peer_baselines._class_weights(shared, task.y).toarray()[:, -1] < 1).all()


@pytest.mark.parametrize(("name", "package"), PACKAGES.items())
def test_a_package_that_is_not_here_is_told(monkeypatch, name, package):
    monkeypatch.setitem(sys.modules, package, None)
    data = "documents/made" if name.startswith("BERTopic") else "sklearn/iris"
    monkeypatch.setitem(cells.TASKS, "documents", lambda _: topics())
    monkeypatch.setattr(runner, "code_version", lambda cell: "c")
    found = runner.measure(Cell.of(data, name))
    assert found.status == "refused" and found.reason.endswith("is not installed")
