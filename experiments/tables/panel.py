"""Beyond the papers: every labelled set at hand, defaults only."""

from typing import Any

import numpy as np
from scipy.stats import rankdata, wilcoxon

from experiments.store import Store
from experiments.tables._table import ACCURACY, BASELINE, Measured, Row, Table

OURS = ("MaxMarginClustering", "CPM3C", "MKC")
OTHERS = ("KMeans(10)", "BisectingKMeans", "SpectralClustering", "Ward", "GMM full", "GMM tied", "HDBSCAN")
GEMCLUS = "gemclus"  # a package under the GPL: measured where it is installed, for comparison only
LARGE = ("mnist", "rcv1", "a9a", "letter", "cora")
FEW = 2
NEAR = 5  # points of mean accuracy
SAME = 0.05  # points; scores that print alike are equally good
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
    """Mean accuracy, mean rank and how often a method is best, over the sets that all methods finished."""
    ranked = [column for column in table.columns if column.title != GEMCLUS]
    names = [column.title for column in ranked]
    scores = np.array([[_mean(column.values(row, table.score, store)) for row in table.rows] for column in ranked])
    finished = ~np.isnan(scores).any(axis=0)
    if not finished.any():
        return "Not measured yet."
    ranks = np.array([rankdata(-np.round(column, 1)) for column in scores[:, finished].T]).mean(axis=0)
    means, best = scores[:, finished].mean(axis=1), scores[:, finished].max(axis=0)
    wins = (scores[:, finished] >= best - SAME).sum(axis=1)
    everywhere = [f"{row.mean():.1f}" if not np.isnan(row).any() else "" for row in scores]
    lines = [
        f"Accuracy in %, no labels seen, over the {finished.sum()} labelled sets that all methods finished:\n",
        f"| | mean accuracy | mean rank | best on | mean over all {len(table.rows)} sets |",
        "|---|---|---|---|---|",
    ]
    for i in np.argsort(-means):
        lines.append(f"| {names[i]} | {means[i]:.1f} | {ranks[i]:.2f} | {wins[i]} | {everywhere[i]} |")
    front = names.index("MaxMarginClustering")
    words = [
        _standing(names, means, ranks, front),
        _significance(names, scores[:, finished], front),
        _beside_gemclus(table, store, scores[front]),
    ]
    return "\n".join(lines) + "\n\n" + "\n".join(sentence for sentence in words if sentence)


def _beside_gemclus(table: Table, store: Store, ours: Any) -> str:
    """The mean of gemclus where it ran, and ours on the same sets: it may be missing, and takes no large sets."""
    theirs = np.array([_mean(table.columns[-1].values(row, table.score, store)) for row in table.rows])
    both = ~np.isnan(theirs) & ~np.isnan(ours)
    if not both.any():
        return ""
    return (
        f"`gemclus`, at the setting that was best by labels on four of them, has {theirs[both].mean():.1f} on the "
        f"{both.sum()} sets it finished, ours {ours[both].mean():.1f}."
    )


def _mean(values: Any) -> float:
    return np.nan if isinstance(values, str) else float(np.mean(values))


def _standing(names: list[str], means: Any, ranks: Any, front: int) -> str:
    """Where the front door stands, in words."""
    leader, closest = int(np.argmax(means)), int(np.argmin(ranks))
    by_mean = "first by mean accuracy"
    if leader != front:
        by_mean = f"{means[leader] - means[front]:.1f} points behind {names[leader]} by mean accuracy"
    by_rank = "first by mean rank"
    if closest != front:
        by_rank = f"{ranks[front] - ranks[closest]:.2f} behind {names[closest]} by mean rank"
    return f"`{names[front]}` is {by_mean} and {by_rank}."


def _significance(names: list[str], scores: Any, front: int) -> str:
    """Wilcoxon's signed-rank test over the sets, against every other method with a mean within some points."""
    means = scores.mean(axis=1)
    near = [i for i in np.argsort(-means) if i != front and abs(means[i] - means[front]) < NEAR]
    found = [f"{names[i]} p = {wilcoxon(scores[front] - scores[i]).pvalue:.2g}" for i in near]
    if not found:
        return ""
    against = f"against those within {NEAR} points, not corrected: {', '.join(found)}"
    return f"Wilcoxon's signed-rank test over the sets {against}."


def _row(label: str, name: str) -> Row:
    if label not in LARGE:
        return Row(label, (name,))
    return Row(label, (name,), f"{FEW} seeds.", seeds=tuple((title, FEW) for title in (*OURS, *OTHERS)))


PANEL = Table(
    "panel",
    "All labelled sets, defaults only",
    tuple(_row(label, name) for label, name in SETS.items()),
    (
        *(Measured(name, name) for name in OURS),
        *(Measured(name, name, kind=BASELINE) for name in OTHERS),
        Measured(GEMCLUS, GEMCLUS, kind=BASELINE, seeds=FEW),
    ),
    ACCURACY,
    "No method sees a label or has a setting of its own for a set; all but HDBSCAN are told the number of classes. "
    "The defaults of ours were settled while looking at several of these sets.",
    quick=("sklearn iris", "sklearn wine", "ionosphere", "fcps hepta"),
    after=ranking,
)

EXPERIMENTS = (PANEL,)
