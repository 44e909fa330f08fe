"""Updates, whose cost does not grow with the rows that came before, and refits with the first known labels."""

from collections.abc import Iterator
from time import process_time

import numpy as np

from benchmarks._measure import Row, best_cpu_times
from experiments import loaders
from widegap import MaxMarginClustering

ROWS, COLUMNS, CLUSTERS = 10_000, 20, 8
UPDATES = 20
KNOWN = 3  # labels of each class


def rows() -> Iterator[Row]:
    """All rows of the report: processor seconds, as updates follow each other in one process."""
    rng = np.random.default_rng(0)
    centres = 3 * rng.normal(size=(CLUSTERS, COLUMNS))

    def drawn() -> np.ndarray:
        return centres[rng.integers(CLUSTERS, size=ROWS)] + rng.normal(size=(ROWS, COLUMNS))

    began = process_time()
    model = MaxMarginClustering(CLUSTERS, random_state=0).fit(drawn())
    fit, seconds = process_time() - began, []
    for _ in range(UPDATES):
        new = drawn()
        began = process_time()
        model = model.update(new)
        seconds.append(process_time() - began)
    # The first update compiles what the fit has not; each figure is the mean of three neighbouring updates.
    early, late = float(np.mean(seconds[1:4])), float(np.mean(seconds[-3:]))
    name = f"the 18th to 20th update with {ROWS:,} rows, against the 2nd to 4th"
    yield Row(name, late / early, 1.3, f"{late:.2f} s against {early:.2f} s of processor time")
    yield Row("an update, against the fit of as many rows", late / fit, None, f"{late:.2f} s against {fit:.2f} s")
    yield _first_labels("optdigits", *loaders.load_optdigits(return_X_y=True))
    yield _first_labels("satimage", *loaders.load_satimage(return_X_y=True))


def _first_labels(name: str, X: np.ndarray, y: np.ndarray) -> Row:
    """A refit with the first known labels of a fit without any, which keeps its search."""
    classes, rng = np.unique(y, return_inverse=True)[1], np.random.default_rng(0)
    known = np.full(len(y), -1)
    for c in range(classes.max() + 1):
        known[rng.choice(np.flatnonzero(classes == c), KNOWN, replace=False)] = c
    model = MaxMarginClustering(classes.max() + 1, random_state=0).fit(X)
    model.refit(known=known)  # compiles
    again, fit = best_cpu_times(lambda: model.refit(known=known), lambda: model.fit(X), repeats=3)
    detail = f"{again:.2f} s against {fit:.2f} s of processor time"
    return Row(f"refit of {name} with {KNOWN} labels of each class, against the fit", again / fit, 0.25, detail)
