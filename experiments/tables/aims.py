"""Unequal classes, and what the defaults of MaxMarginClustering are meant to reach."""

import numpy as np

from experiments.store import Store
from experiments.tables._ranking import FRONT
from experiments.tables._table import ACCURACY, HERE, Printed, Table, costs, listed, other, ours, printed, rows_of
from experiments.tables.panel import MOVES, PEERS

MOST_SPREAD = 3.0  # points, over the seeds
THIN_SETS = ("digits", "optdigits", "satimage")
COMPARED = ("SpectralClustering", "GMM full", "KMeans(10)", "UMAP + GMM")

THINNED = Table(
    "thinned",
    rows_of({f"{name} 1:{share}": f"thinned/{name}-{share}" for share in (5, 20) for name in THIN_SETS}),
    (ours(FRONT), MOVES, *PEERS),
    ACCURACY,
    ("digits 1:20",),
)

AIMED = Printed("at least", printed("aims", HERE)["at least"], kind="aim")  # accuracy


def _reached(table: Table, store: Store) -> str:
    """Which aims are missed, and where the seeds differ too much."""
    missed, unsteady = [], []
    for row in table.rows:
        values, least = table.columns[1].values(row, table.score, store), AIMED.mean(row, table.score, store)
        if isinstance(values, str):
            missed.append(f"{row.label} ({values})")
            continue
        if round(np.mean(values), 1) < least:
            missed.append(f"{row.label} ({np.mean(values):.1f} instead of {least:.1f})")
        if np.std(values) > MOST_SPREAD:
            unsteady.append(f"{row.label} ({np.std(values):.1f})")
    return (
        f"- Missed: {', '.join(missed) or 'none'}.\n"
        f"- Deviation over the seeds above {MOST_SPREAD:g} points: {', '.join(unsteady) or 'nowhere'}."
    )


AIMS = Table("aims", listed("aims"), (AIMED, ours(FRONT), MOVES, other("KMeans(10)")), ACCURACY, ("digits",), _reached)
EXPERIMENTS = (THINNED, *costs(THINNED), AIMS)
