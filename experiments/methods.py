"""Methods of widegap, by name; settings go to the estimator."""

from typing import Any
from unittest.mock import patch

from sklearn.preprocessing import normalize

from experiments.cells import Outcome, Task, method
from widegap import CPM3C, GMMC, MKC, MMC, IterLSSVM, IterSVM, IterSVR, MaxMarginClustering
from widegap.forest import _moves_search, _single_moves


def _registered(estimator: Any) -> None:
    """Under the name of its class; those of two clusters alone are not told a number."""
    number = () if estimator in (MMC, GMMC) else ("n_clusters",)

    def run(task: Task, seed: int, **settings: Any) -> Outcome:
        told = {name: task.n_clusters for name in number}
        model = estimator(**told, random_state=seed, **settings).fit(task.X)
        noted = {"iterations": int(model.n_iter_)} if estimator in (IterSVM, IterSVR, IterLSSVM) else {}
        return Outcome(model.labels_, noted)

    method(estimator.__name__)(run)


for estimator in (MaxMarginClustering, CPM3C, MKC, MMC, GMMC, IterSVM, IterSVR, IterLSSVM):
    _registered(estimator)


@method("CPM3C of length one")
def cpm3c_of_length_one(task: Task, seed: int) -> Any:
    return CPM3C(task.n_clusters, random_state=seed).fit_predict(normalize(task.X))


@method("MaxMarginClustering with")
def max_margin_with(task: Task, seed: int, width: float | None = None, **settings: Any) -> Any:
    """The search by moves with other settings, or another kernel width in medians of the distances (1.5 by default)."""
    settings["search"] = "moves"
    if width is not None:
        probe = MaxMarginClustering(task.n_clusters, search="moves", n_init=1, random_state=seed).fit(task.X)
        settings["gamma"] = probe.kernel_map_.params["gamma"] * (1.5 / width) ** 2
    return MaxMarginClustering(task.n_clusters, random_state=seed, **settings).fit_predict(task.X)


@method("MaxMarginClustering before")
def max_margin_before(task: Task, seed: int) -> Any:
    """The search by moves as it was before starts were improved with a tenth of C first and ties went to even sizes."""
    plain = patch.object(_moves_search, "CONTINUATION", (1.0,)), patch.object(_single_moves, "TIE", 1.0)
    with plain[0], plain[1]:
        return MaxMarginClustering(task.n_clusters, search="moves", random_state=seed).fit_predict(task.X)
