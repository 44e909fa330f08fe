"""Our methods in the forms that the CPM3C and MKC papers compare: other values of C, kernel widths, single kernels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.cells import Outcome, Task, method
from experiments.kernel_baselines import squared_distances
from widegap import CPM3C, MKC, IterSVR
from widegap.metrics import clustering_accuracy
from widegap.selection._kernel_lists import CRITERIA, KERNEL_LISTS, KernelRecord, choose_kernels, sort_records

SAMPLE = 5000  # rows above which the estimators compare their starts on a sample, and then go on with all
CCCP_TOL = 0.01  # gain below which the published inner loop ends


@method("CPM3C at C")
def cpm3c_at(task: Task, seed: int, factor: float, **settings: Any) -> Any:
    """C as a multiple of the label-free one, which follows the scale of the data as no fixed list of values could."""
    usual = CPM3C(task.n_clusters, n_init=1, max_iter=1, random_state=seed).fit(task.X).C_
    return CPM3C(task.n_clusters, C=factor * usual, random_state=seed, **settings).fit_predict(task.X)


@method("CPM3C from classes")
def cpm3c_from_classes(task: Task, seed: int) -> Outcome:
    """Started from the classes: whether the labels that are wanted have the lower objective at all."""
    found = CPM3C(task.n_clusters, random_state=seed).fit(task.X)
    ideal = CPM3C(task.n_clusters, init=_codes(task.y), order="linearize_first", random_state=seed).fit(task.X)
    return Outcome(ideal.labels_, {"found": found.objective_, "from_classes": ideal.objective_})


@method("MKC from classes")
def mkc_from_classes(task: Task, seed: int) -> Outcome:
    """As for CPM3C."""
    found = MKC(task.n_clusters, random_state=seed).fit(task.X)
    ideal = MKC(task.n_clusters, init=_codes(task.y), order="linearize_first", random_state=seed).fit(task.X)
    return Outcome(ideal.labels_, {"found": found.objective_, "from_classes": ideal.objective_})


def _codes(y: Any) -> Any:
    return np.unique(y, return_inverse=True)[1]


@method("IterSVR width")
def iter_svr_width(task: Task, seed: int, width: float) -> Any:
    """The width of the kernel as a fraction of the largest distance of two rows."""
    gamma = 1 / (width**2 * float(squared_distances(task.X).max()))
    return IterSVR(task.n_clusters, gamma=gamma, random_state=seed).fit_predict(task.X)


@method("MKC kernels")
def mkc_kernels(
    task: Task,
    seed: int,
    kernels: Sequence[str] = ("linear", "poly", "rbf"),
    degree: int = 3,
    width: float = 1.5,
    **settings: Any,
) -> Outcome:
    """Some of the paper's three kernels."""
    model = MKC(task.n_clusters, kernels=_specs(kernels, degree, width), random_state=seed, **settings).fit(task.X)
    if model.order != "cuts_first":
        return Outcome(model.labels_)
    on_all = model.history_[-1].start if len(task.y) > SAMPLE else None  # not in the published order
    rounds = inner_iterations([record for record in model.history_ if record.start != on_all], model.tol)
    return Outcome(model.labels_, {"cccp": round(float(np.mean(rounds)), 3)})


@method("MKC Gaussians")
def mkc_gaussians(task: Task, seed: int, number: int, **settings: Any) -> Any:
    """So many Gaussian kernels, of widths from a quarter to four medians of the distances."""
    kernels = [("rbf", {"width": float(width)}) for width in np.geomspace(0.25, 4.0, number)]
    return MKC(task.n_clusters, kernels=kernels, random_state=seed, **settings).fit_predict(task.X)


@method("MKC subset")
def mkc_subset(task: Task, seed: int, size: int) -> Any:
    """Fitted to some rows, drawn anew for every seed; the labels of all rows come from ``predict``."""
    rows = np.random.default_rng(seed).choice(len(task.y), size, replace=False)
    return MKC(task.n_clusters, random_state=seed).fit(task.X[rows]).predict(task.X)


def _specs(kernels: Sequence[str], degree: int, width: float) -> list[Any]:
    parameters: dict[str, dict[str, Any]] = {"poly": {"degree": degree}, "rbf": {"width": width}}
    return [(name, parameters[name]) if name in parameters else name for name in kernels]


def inner_iterations(records: Sequence[Any], tol: float) -> list[int]:
    """Lengths of the inner loops (CCCP) of searches in the published order, by the rule that ends them.

    A search is over with the first inner loop that ends within the tolerance; what follows polishes its result.
    """
    lengths: list[int] = []
    start, length, last, over = -1, 0, np.inf, False
    for record in records:
        if record.start != start:
            start, length, last, over = record.start, 0, np.inf, False
        if over:
            continue
        length, relaxed = length + 1, record.objective - record.gap
        if record.flips == 0 or relaxed > (1 - CCCP_TOL) * last:
            lengths.append(length)
            length, relaxed, over = 0, np.inf, record.gap <= tol * record.objective
        last = relaxed
    return lengths or [length]


@method("one cluster", seeded=False)
def one_cluster(task: Task, seed: int) -> Any:
    """What the mapping of clusters to their largest class gives for nothing."""
    return np.zeros(len(task.y), dtype=int)


@method("MKC chosen")
def mkc_chosen(task: Task, seed: int) -> Outcome:
    """Kernels chosen by gain; with the accuracy of every candidate, and of the choice of every criterion."""
    records = choose_kernels(
        task.X,
        task.n_clusters,
        criterion="agreement + excess stability",
        n_subsamples=2,
        fraction=0.5,
        random_state=seed,
    )

    def accuracy(record: KernelRecord) -> float:
        return round(100 * clustering_accuracy(task.y, record.model.labels_), 3)

    found = {repr(record.kernels): accuracy(record) for record in records}
    chosen = {criterion: accuracy(sort_records(records, criterion)[0]) for criterion in CRITERIA}
    labels = sort_records(records, "gain")[0].model.labels_
    return Outcome(labels, {"candidates": [found[repr(kernels)] for kernels in KERNEL_LISTS], "chosen": chosen})
