"""Beyond the papers: every labelled set at hand, defaults only."""

import numpy as np

from experiments.store import Store
from experiments.tables._table import ACCURACY, BASELINE, Measured, Row, Table

OURS = ("MaxMarginClustering", "CPM3C", "MKC")
OTHERS = ("KMeans(10)", "BisectingKMeans", "SpectralClustering", "Ward", "GMM full", "GMM tied", "HDBSCAN")
SETS = {
    **{f"sklearn {name}": f"sklearn/{name}" for name in ("iris", "wine", "breast_cancer")},
    "digits": "digits/all",
    "optdigits": "optdigits/all",
    "letter": "letter/all",
    "satimage": "satimage/all",
    "segment": "segment/all",
    "ionosphere": "ionosphere",
    "svmguide1": "svmguide1",
    "ringnorm": "ringnorm",
    "image": "image/all",
    "mnist": "mnist/all",
    "w1a": "w1a",
    **{size: f"adult/{size}" for size in ("a1a", "a4a", "a9a")},
    **{
        f"fcps {name}": f"fcps/{name}"
        for name in "atom chainlink engytime hepta lsun target tetra twodiamonds wingnut".split()
    },
    **{f"cora titles {field}": f"cora-titles/{field}" for field in ("ds", "ha", "ml", "os", "pl")},
    "cora": "cora-bow",
    "rcv1": "rcv1",
}


def ranking(table: Table, store: Store) -> str:
    """Mean accuracy, mean rank and wins over the sets where every method has a figure or gave up."""
    found = {}
    for column in table.columns:
        values = [column.values(row, table.score, store) for row in table.rows]
        found[column.title] = [float(np.mean(v)) if not isinstance(v, str) else np.nan for v in values]
    scores = np.array(list(found.values()))
    whole = ~np.isnan(scores[: len(OURS) + 1]).any(axis=0)
    complete = ~np.isnan(scores).any(axis=0)
    lines = ["| | mean accuracy | mean rank | best | sets |", "|---|---|---|---|---|"]
    ranks = (
        np.array([_ranks(column) for column in scores[:, complete].T]) if complete.any() else np.zeros((0, len(scores)))
    )
    order = np.argsort(-scores[:, complete].mean(axis=1)) if complete.any() else range(len(scores))
    names = list(found)
    for i in order:
        mean, rank = scores[i, complete].mean(), ranks[:, i].mean()
        wins = int((scores[i, complete] >= scores[:, complete].max(axis=0) - 0.05).sum())
        lines.append(f"| {names[i]} | {mean:.1f} | {rank:.2f} | {wins} | {int(complete.sum())} |")
    means = scores[: len(OURS) + 1, whole].mean(axis=1)
    rest = ", ".join(f"{name} {mean:.1f}" for name, mean in zip(names, means, strict=False))
    return "\n".join(lines) + f"\n\nOver the {int(whole.sum())} sets that ours and KMeans(10) finished: {rest}."


def _ranks(scores: np.ndarray) -> np.ndarray:
    from scipy.stats import rankdata

    return rankdata(-np.round(scores, 1))


PANEL = Table(
    "panel",
    "All labelled sets, defaults only",
    tuple(Row(label, (name,)) for label, name in SETS.items()),
    (
        *(Measured(name, name) for name in OURS),
        *(Measured(name, name, kind=BASELINE) for name in OTHERS),
    ),
    ACCURACY,
    "No method sees a label or has a setting of its own for a set; all but HDBSCAN are told the number of classes. "
    "The defaults of ours were settled while looking at several of these sets.",
    quick=("sklearn iris", "sklearn wine", "ionosphere", "fcps hepta"),
    after=ranking,
)

EXPERIMENTS = (PANEL,)
