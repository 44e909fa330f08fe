"""The neutral judge: the same scores, in %, for the labels of every method."""

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from widegap.metrics import balanced_clustering_error, clustering_accuracy, normalized_mutual_info, rand_index


def judge(y: Any, labels: Any) -> dict[str, float]:
    """Scores of one labeling. ``accuracy`` maps clusters one to one to classes, ``majority`` to their largest class."""
    labels = np.asarray(labels)
    found = {
        "accuracy": clustering_accuracy(y, labels),
        "majority": clustering_accuracy(y, labels, mapping="majority"),
        "rand": rand_index(y, labels),
        "nmi": normalized_mutual_info(y, labels),
        "ari": adjusted_rand_score(y, labels),
        "balanced_error": balanced_clustering_error(y, labels),
    }
    return {name: round(100 * float(value), 3) for name, value in found.items()} | {"clusters": len(np.unique(labels))}
