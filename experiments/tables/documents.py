"""DocumentClustering beside the clusterers of scikit-learn on larger collections than the papers'."""

from dataclasses import replace

import numpy as np

from experiments.cells import SEEDS
from experiments.store import Store
from experiments.tables._table import ACCURACY, NMI, RAND, Table, costs, listed, other, ours

OTHERS = (
    *("KMeans(10)", "spherical k-means", "LSA + KMeans(10)", "NMF", "LDA", "GMM", "BERTopic on LSA"),
    *("BERTopic on LSA, k-means", "UMAP + GMM", "UMAP + HDBSCAN", "Leiden", "Genie"),
)
KNOWN = ("spherical k-means", "KMeans(10)", "NMF", "LDA", "GMM", "BERTopic on LSA, k-means")  # what people use today
SEEDS_OF = {"LDA": 2, "UMAP + HDBSCAN": 1} | dict.fromkeys(
    ("BERTopic on LSA", "BERTopic on LSA, k-means", "UMAP + GMM", "Leiden"), 3
)
OURS = ours("DocumentClustering")


def _means(table: Table, store: Store) -> str:
    """Means over the collections, and the range of the accuracy that ours has over seeds."""
    digits = table.score.digits
    means = {title: found for title, found in table.by_title(store).items() if not np.isnan(found).any()}
    if not means:
        return ""
    found = ", ".join(f"{title} {np.mean(column):.{digits}f}" for title, column in means.items())
    words = f"Means over the {len(table.rows)} collections: {found}."
    if OURS.title not in means:
        return words
    values = {row.label: OURS.values(row, table.score, store) for row in table.rows}
    ranges = [f"{label} {min(seeds):.{digits}f} to {max(seeds):.{digits}f}" for label, seeds in values.items()]
    return f"{words} DocumentClustering over seeds: {', '.join(ranges)}."


DOCUMENTS = Table(
    "documents",
    listed("documents"),
    (OURS, *(other(name, SEEDS_OF.get(name, SEEDS)) for name in OTHERS)),
    ACCURACY,
    ("rec4",),
    _means,
)
SAME = replace(DOCUMENTS, rows=tuple(replace(row, note="") for row in DOCUMENTS.rows), quick=())

EXPERIMENTS = (
    DOCUMENTS,
    replace(SAME, name="documents-nmi", score=NMI),
    replace(SAME, name="documents-rand", score=RAND),
    *costs(SAME),
)
