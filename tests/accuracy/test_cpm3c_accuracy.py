"""CPM3C with its label-free defaults: the accuracies that must hold, mean over seeds 0 to 4, majority mapping."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer

from _data import requires_data
from experiments.loaders import load_20news, load_letter, load_satimage
from widegap import CPM3C
from widegap.datasets import load_digits
from widegap.metrics import clustering_accuracy

SEEDS = range(5)


def of_classes(data, classes):
    X, y = data
    chosen = np.isin(y, classes)
    return X[chosen], y[chosen]


def percentages(make, X, y):
    """Accuracy in percent of the clusterer for each seed."""
    return np.array([100 * clustering_accuracy(y, make(seed).fit_predict(X), mapping="majority") for seed in SEEDS])


def cpm3c(n_clusters):
    return lambda seed: CPM3C(n_clusters, random_state=seed)


def kmeans(n_clusters):
    return lambda seed: KMeans(n_clusters, n_init=10, random_state=seed)


@pytest.mark.parametrize(
    ("classes", "least"),
    [
        ((3, 8), 96.0),
        ((1, 7), 99.5),
        ((2, 7), 99.5),
        ((8, 9), 95.0),
        ((0, 6, 8, 9), 94.5),
        ((1, 2, 7, 9), 90.0),
    ],
)
def test_digits(classes, least):
    X, y = of_classes(load_digits(return_X_y=True), classes)
    scores = percentages(cpm3c(len(classes)), X, y)
    assert scores.mean() >= least, scores


def test_ten_digits_are_a_point_above_kmeans():
    X, y = load_digits(return_X_y=True)
    ours, theirs = percentages(cpm3c(10), X, y), percentages(kmeans(10), X, y)
    assert ours.mean() >= theirs.mean() + 1, (ours, theirs)


@pytest.mark.slow
def test_all_pairs_of_digits():
    data = load_digits(return_X_y=True)
    means = {pair: percentages(cpm3c(2), *of_classes(data, pair)).mean() for pair in combinations(range(10), 2)}
    assert np.mean(list(means.values())) >= 97.7, means


@requires_data
@pytest.mark.parametrize(
    ("load", "classes", "least"),
    [(load_letter, ["A", "B"], 94.0), (load_satimage, [1, 2], 96.5)],
    ids=["letter", "satellite"],
)
def test_pairs_of_other_classes(load, classes, least):
    scores = percentages(cpm3c(2), *of_classes(load(return_X_y=True), classes))
    assert scores.mean() >= least, scores


@requires_data
@pytest.mark.slow
def test_newsgroups_about_recreation_are_never_below_kmeans():
    documents, y = load_20news(categories=["rec."], headers=False, return_X_y=True)
    X = TfidfVectorizer(stop_words="english", min_df=5, max_df=0.5).fit_transform(documents)
    ours, theirs = percentages(cpm3c(4), X, y), percentages(kmeans(4), X, y)
    assert ours.mean() >= 93, (ours, theirs)
    assert (ours >= theirs).all(), (ours, theirs)
