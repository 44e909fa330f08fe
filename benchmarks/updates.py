"""Updates: their cost does not grow with the rows that came before."""

from collections.abc import Iterator
from time import process_time

import numpy as np

from benchmarks._measure import Row
from widegap import MaxMarginClustering

ROWS, COLUMNS, CLUSTERS = 10_000, 20, 8
UPDATES = 20


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
