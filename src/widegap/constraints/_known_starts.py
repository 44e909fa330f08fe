"""Starting labels where some are known: which cluster of a start carries which label."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from widegap._types import Labels
from widegap.constraints._units import Units

KEPT_NUMBER = 1e-6  # of a row: numbers stay where known rows do not decide, and never outweigh one
ROWS_OF_LABEL = 50  # rows of each known label that a sample holds at least


def some_of_each_label(units: Units | None) -> Any:
    """Numbers of up to ``ROWS_OF_LABEL`` rows of every known label, evenly spaced: a sample must hold all labels."""
    if units is None:
        return ()
    anchors = units.anchors[units.of_row]
    found = [np.flatnonzero(anchors == p) for p in range(anchors.max() + 1)]
    return np.concatenate([rows[:: max(1, len(rows) // ROWS_OF_LABEL)] for rows in found]) if found else ()


def matched_to_anchors(labels: Labels, units: Units | None, weights: Any, k: int) -> Labels:
    """The same clusters, numbered so that as many rows as possible (by weight) have the one that is known for them."""
    anchors = None if units is None else units.anchors[units.of_row]
    if anchors is None or (anchors < 0).all():
        return labels
    known = anchors >= 0
    together = np.zeros((k, k))
    np.add.at(together, (labels[known], anchors[known]), 1.0 if weights is None else weights[known])
    together += KEPT_NUMBER * np.eye(k)  # without known rows numbers stay
    return linear_sum_assignment(together, maximize=True)[1].astype(np.int32)[labels]


def with_anchors(labels: Labels, units: Units) -> Labels:
    """The labels with the known ones in their places."""
    anchors = units.anchors[units.of_row]
    return np.where(anchors < 0, labels, anchors).astype(np.int32)
