"""Methods of widegap for documents: M2DCU with the universum of its paper, and DocumentClustering."""

from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from experiments.cells import Outcome, RefusedError, Task, method
from widegap import M2DCU, DocumentClustering, universum

RANDOM_ROWS = 1000  # of the paper


def candidates(task: Task, seed: int) -> Any:
    """All rows for a universum that the paper names: the rest, random rows and means of centres, of length one."""
    drawn = universum.random(task.X, RANDOM_ROWS, seed)
    parts = [drawn, universum.means(task.X, task.n_clusters, random_state=seed)]
    return normalize(np.vstack(parts if task.rest is None else [task.rest, *parts]))


class _Drawn:
    """Candidates and the paper's selection of them, kept for one task: a grid of settings needs them again."""

    task: Task | None = None
    found: dict[tuple[str, int], Any] = {}


def _universum(task: Task, seed: int, rows: str, anew: bool) -> Any:
    """The selected rows, or all candidates."""
    if task is not _Drawn.task:
        _Drawn.task, _Drawn.found = task, {}
    name = "select" if rows == "select" else "all"
    if anew or (name, seed) not in _Drawn.found:
        U = candidates(task, seed)
        U = universum.select(U, task.X, task.n_clusters, random_state=seed) if name == "select" else U
        _Drawn.found[name, seed] = U
    return _Drawn.found[name, seed]


@method("M2DCU")
def m2dcu(task: Task, seed: int, rows: str = "select", share: float | None = None, **settings: Any) -> Outcome:
    """``rows`` says how the universum is chosen from all candidates, ``share`` is C_universum / C.

    The time of the defaults includes the choice of the universum.
    """
    k, U = task.n_clusters, _universum(task, seed, rows, anew=not settings)
    settings["random_state"] = seed
    if rows == "boundary" or share is not None:
        base = M2DCU(k, **{**settings, "C_universum": 0}).fit(task.X)
        settings["C_universum"] = "auto" if share is None else share * base.C_
    if rows == "boundary":
        U = universum.boundary(U, base)
    model = M2DCU(k, **settings).fit(task.X, universum=U)
    report = model.universum_report_
    return Outcome(model.labels_, {"active": bool(report and report.active), "universum": len(U)})


@method("M2DCU-0")
def m2dcu_without(task: Task, seed: int, **settings: Any) -> Any:
    """Without a universum."""
    return M2DCU(task.n_clusters, C_universum=0, random_state=seed, **settings).fit_predict(task.X)


@method("DocumentClustering")
def documents(task: Task, seed: int) -> Any:
    """From the texts where there are any, else from the weights of terms."""
    found = task.counts if task.documents is None else task.documents
    if found is None:
        raise RefusedError("needs documents or weights of terms")
    return DocumentClustering(task.n_clusters, random_state=seed).fit_predict(found)
