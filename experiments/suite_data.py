"""The benchmark suite of Gagolewski (SoftwareX 20, 2022, 101270; version 1.1.0, DOI 10.5281/zenodo.7088171).

Its rules: a method gets the number of clusters of the reference labeling and all rows; rows that the reference calls
noise (label 0) are not scored; where a set has several reference labelings, the best score counts. So every labeling is
a data set of its own here, "suite/wut/x2.1" for the second one of wut/x2, and ``experiments/tables/suite.py`` takes the
best. The files are in the folder ``suite`` of the folder that ``WIDEGAP_DATA`` names.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from experiments.cells import Task, task


@task("suite")
def suite(name: str) -> Task:
    """A set with one of its reference labelings, which are counted from 0."""
    path, _, labeling = name.rpartition(".")
    base = Path(os.environ["WIDEGAP_DATA"], "suite", path)
    X = np.loadtxt(f"{base}.data.gz", ndmin=2)
    y = np.loadtxt(f"{base}.labels{labeling}.gz", dtype=int)
    return Task(X, y, n_clusters=len(np.unique(y[y > 0])), scored=y > 0, further=_further)


def normalized_clustering_accuracy(y: Any, labels: Any) -> float:
    r"""Mean share of each class that its own cluster holds, 0 where that is what chance gives and 1 at best.

    With :math:`c_{ij}` rows of class i in cluster j and k classes, over all ways to give every class a cluster of its
    own (Gagolewski 2024, Normalised clustering accuracy):

    .. math::  \max_\sigma \frac{\frac{1}{k} \sum_i c_{i \sigma(i)} / c_{i \cdot} - 1/k}{1 - 1/k} .
    """
    counts = contingency_matrix(y, labels)
    n_classes = len(counts)
    if n_classes < 2:
        raise ValueError("The normalised clustering accuracy needs two classes, but there is one.")
    shares = counts / counts.sum(axis=1, keepdims=True)
    found = shares[linear_sum_assignment(-shares)].sum()
    return float((found - 1) / (n_classes - 1))


def _further(y: Any, labels: Any) -> dict[str, float]:
    return {"nca": round(100 * normalized_clustering_accuracy(y, labels), 3)}
