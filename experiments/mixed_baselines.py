r"""What people use for tables of numbers and categories: one-hot columns, k-prototypes, Gower's distance.

k-prototypes (Huang 1998) minimises, over labels c, means m and modes q,

.. math::  \sum_i \|x_i - m_{c_i}\|^2 + \gamma \sum_i \#\{j : a_{ij} \ne q_{c_i j}\} ,

x the standardised numbers of a row and a its categories, by turns of labels and prototypes. A missing number is the
median, a missing category is a level of its own.

Gower's distance (1971) of two rows is the mean, over the columns that both have, of \|x - x'\| over the column's range,
and of 0 or 1 for equal or different categories.
"""

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from experiments.cells import Task, method
from experiments.mixed_data import MixedColumn, columns_of, with_missing_level
from widegap._types import Doubles, Ints

STARTS = 10  # as k-means has here
MOST_TURNS = 100
GAMMA = 0.5  # Huang's: half the mean standard deviation of the numbers, which is 1 here


@method("KMeans(10) of one-hot columns")
def kmeans_of_one_hot(task: Task, seed: int) -> Any:
    """Every column standardised, those of 0 and 1 too."""
    X = StandardScaler().fit_transform(np.concatenate([column.values for column in columns_of(task.frame)], axis=1))
    return KMeans(task.n_clusters, n_init=10, random_state=seed).fit_predict(X)


@method("k-prototypes")
def k_prototypes(task: Task, seed: int) -> Any:
    """The least cost of several starts from random rows."""
    columns, rng = columns_of(task.frame), np.random.default_rng(seed)
    numbers = [column.values for column in columns if not column.is_category]
    X = StandardScaler().fit_transform(np.concatenate(numbers, axis=1)) if numbers else np.zeros((len(task.y), 0))
    categories = [with_missing_level(column) for column in columns if column.is_category]
    found = [_prototypes(X, categories, task.n_clusters, rng) for _ in range(STARTS)]
    return min(found, key=lambda run: run[0])[1]


def _prototypes(X: Doubles, categories: list[Doubles], k: int, rng: np.random.Generator) -> tuple[float, Ints]:
    """Cost and labels where turns of labels and prototypes lead from random rows."""
    n, begin = len(X), rng.choice(len(X), k, replace=False)
    means, modes = X[begin], [flags[begin] for flags in categories]
    labels = np.full(n, -1)
    for _ in range(MOST_TURNS):
        costs = _costs(X, categories, means, modes)
        nearest = costs.argmin(axis=1)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        for p in np.setdiff1d(np.arange(k), labels):  # a prototype that lost its rows takes the row of highest cost
            labels[costs[np.arange(n), labels].argmax()] = p
        members = (labels[:, None] == np.arange(k)).astype(float)
        means = members.T @ X / np.maximum(members.sum(axis=0), 1)[:, None]
        modes = [np.eye(flags.shape[1])[(members.T @ flags).argmax(axis=1)] for flags in categories]
    return float(costs[np.arange(n), labels].sum()), labels


def _costs(X: Doubles, categories: list[Doubles], means: Doubles, modes: list[Doubles]) -> Doubles:
    """Of every row with every prototype."""
    squared = ((X[:, None] - means[None]) ** 2).sum(axis=2)
    differing = sum((1 - flags @ mode.T for flags, mode in zip(categories, modes, strict=True)), np.zeros_like(squared))
    return squared + GAMMA * differing


@method("Gower + average linkage", seeded=False)
def gower_average_linkage(task: Task, seed: int) -> Any:
    tree = linkage(squareform(gower_distances(columns_of(task.frame)), checks=False), "average")
    return fcluster(tree, task.n_clusters, "maxclust")


def gower_distances(columns: list[MixedColumn]) -> Doubles:
    """Of all pairs of rows; 1, the largest, for two that share no column."""
    n = len(columns[0].missing)
    total, shared = np.zeros((n, n)), np.zeros((n, n))
    for column in columns:
        present = ~column.missing
        both = np.outer(present, present)
        total += np.where(both, _column_distances(column), 0.0)
        shared += both
    return np.where(shared > 0, total / np.maximum(shared, 1), 1.0) * (1 - np.eye(n))


def _column_distances(column: MixedColumn) -> Doubles:
    if column.is_category:
        return 1 - column.values @ column.values.T
    values = column.values[:, 0]
    return np.abs(values[:, None] - values) / np.ptp(values[~column.missing])
