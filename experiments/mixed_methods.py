"""Ours on tables of numbers and categories: with the number of clusters, and without it.

MKC gets the encoded columns with a Gaussian kernel of all numbers and linear kernels of the flags, which are 1 for two
rows of the same level and 0 for others: one for each category, or one for all of them.
"""

from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from experiments.cells import Outcome, Task, method
from widegap import MKC, MaxMarginClustering, TableEncoder

CONSTANT = 3  # what one may answer without a look at the table


@method("TableEncoder + MaxMarginClustering")
def table_max_margin(task: Task, seed: int, **settings: Any) -> Any:
    model = MaxMarginClustering(task.n_clusters, random_state=seed, **settings)
    return make_pipeline(TableEncoder(), model).fit_predict(task.frame)


@method("TableEncoder + MKC")
def table_mkc(task: Task, seed: int, apart: bool) -> Any:
    """``apart`` gives each category a kernel of its own."""
    encoder = TableEncoder().fit(task.frame)
    kernels = _kernels(encoder, apart)
    return MKC(task.n_clusters, kernels=kernels, random_state=seed).fit_predict(task.X)


def _kernels(encoder: TableEncoder, apart: bool) -> list[tuple[str, str, list[int]]]:
    names = encoder.get_feature_names_out().tolist()
    numbers: list[int] = []
    categories: dict[str, list[int]] = {}
    for column in encoder.columns_ or ():
        at = [names.index(name) for name in column.names]
        if column.is_flag and at:
            categories.setdefault(f"category {column.name}" if apart else "categories", []).extend(at)
        else:
            numbers += at
    of_numbers = [("numbers", "rbf", numbers)] if numbers else []
    return of_numbers + [(name, "linear", at) for name, at in categories.items()]


@method("table number by auto")
def table_number_by_auto(task: Task, seed: int) -> Outcome:
    labels = make_pipeline(TableEncoder(), MaxMarginClustering("auto", random_state=seed)).fit_predict(task.frame)
    return _with_number(task, labels, len(np.unique(labels)))


@method("always 3", seeded=False)
def always_three(task: Task, seed: int) -> Outcome:
    """The same number for every table."""
    return _with_number(task, np.zeros(len(task.y), dtype=int), CONSTANT)


def _with_number(task: Task, labels: Any, number: int) -> Outcome:
    return Outcome(labels, {"number": number, "classes": task.n_clusters})
