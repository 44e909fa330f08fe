"""What a few known labels are worth for topics of documents."""

import numpy as np

from experiments.store import Store
from experiments.tables._table import ACCURACY, TOLD, Measured, Score, Table, noted, ours, rows_of

BUDGETS = (1, 2, 5)  # labels per class
DRAWS = 5
FREE = ours("DocumentClustering", title="none known")


def _known(title: str, budget: int, of: str) -> Measured:
    return Measured(title, "known topics", {"budget": budget}, TOLD, DRAWS, noted(of))


NAMED = {budget: _known(f"{budget} known, by name", budget, "named") for budget in BUDGETS}
MATCHED = {budget: _known(f"{budget} known, matched", budget, "matched") for budget in BUDGETS}


def by_name(store: Store) -> dict[str, list[float]]:
    """Accuracy by collection: without labels, and by name with so many per class; NaN where it was not measured."""
    columns = (FREE, *NAMED.values())
    means = [KNOWN_TOPICS.means(column, store) for column in columns]
    return {row.label: [float(mean[i]) for mean in means] for i, row in enumerate(KNOWN_TOPICS.rows)}


def _words(table: Table, store: Store) -> str:
    free = table.means(FREE, store)
    lines = []
    for budget in BUDGETS:
        gains = table.means(NAMED[budget], store) - free
        if np.isnan(gains).any():
            return "Not complete."
        lines.append(f"{budget} per class {gains.mean():+.1f} ({gains.min():+.1f} to {gains.max():+.1f})")
    return f"By name less without labels, in points, mean and range of the collections: {'; '.join(lines)}."


KNOWN_TOPICS = Table(
    "topics-known",
    rows_of({"WebKB-4": "documents/webkb-4", "20news-4": "documents/20news-4", "Reuters-6": "documents/reuters-6"}),
    (FREE, *(column[budget] for budget in BUDGETS for column in (NAMED, MATCHED))),
    Score("accuracy in %", ACCURACY.of, better=0),
    ("WebKB-4",),
    _words,
    {"DRAWS": DRAWS},
)

EXPERIMENTS = (KNOWN_TOPICS,)
