"""Methods of widegap, by name; settings go to the estimator."""

from typing import Any
from unittest.mock import patch

from sklearn.preprocessing import normalize

from experiments.cells import Outcome, Task, method
from widegap import CPM3C, GMMC, MKC, MMC, IterLSSVM, IterSVM, IterSVR, MaxMarginClustering
from widegap.forest import _moves_search, _single_moves


@method("MaxMarginClustering")
def max_margin(task: Task, seed: int, **settings: Any) -> Any:
    return MaxMarginClustering(task.n_clusters, random_state=seed, **settings).fit_predict(task.X)


@method("CPM3C")
def cpm3c(task: Task, seed: int, **settings: Any) -> Any:
    return CPM3C(task.n_clusters, random_state=seed, **settings).fit_predict(task.X)


@method("CPM3C of length one")
def cpm3c_of_length_one(task: Task, seed: int) -> Any:
    return CPM3C(task.n_clusters, random_state=seed).fit_predict(normalize(task.X))


@method("MKC")
def mkc(task: Task, seed: int, **settings: Any) -> Any:
    return MKC(task.n_clusters, random_state=seed, **settings).fit_predict(task.X)


def _iterative(estimator: Any, task: Task, seed: int, settings: dict[str, Any]) -> Outcome:
    model = estimator(task.n_clusters, random_state=seed, **settings).fit(task.X)
    return Outcome(model.labels_, {"iterations": int(model.n_iter_)})


@method("IterSVM")
def iter_svm(task: Task, seed: int, **settings: Any) -> Outcome:
    return _iterative(IterSVM, task, seed, settings)


@method("IterSVR")
def iter_svr(task: Task, seed: int, **settings: Any) -> Outcome:
    return _iterative(IterSVR, task, seed, settings)


@method("IterLSSVM")
def iter_lssvm(task: Task, seed: int, **settings: Any) -> Outcome:
    return _iterative(IterLSSVM, task, seed, settings)


@method("MMC")
def mmc(task: Task, seed: int, **settings: Any) -> Any:
    return MMC(random_state=seed, **settings).fit_predict(task.X)


@method("GMMC")
def gmmc(task: Task, seed: int, **settings: Any) -> Any:
    return GMMC(random_state=seed, **settings).fit_predict(task.X)


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
