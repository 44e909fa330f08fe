"""How sure the cluster of each row is, cluster by cluster."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from widegap import describe
from widegap.exceptions import NotSupportedError
from widegap.plot._axes import MUTED, axes_for, without_frame
from widegap.plot._clusters import fitted_clusters
from widegap.results._certainty import agreement_of
from widegap.results._palette import light_colour
from widegap.results._summary import UNSURE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.02  # of all rows lies between two clusters
MOST_STEPS = 1000  # of the outline of a cluster, more than a figure has pixels


def agreement(model: Any, *, X: Any = None, names: Mapping[Any, str] | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw how much the members of the search agree on every row, cluster by cluster, the surest row first.

    The length of a row is its ``agreement_``, and the height of a cluster is its size. On rows that end left of the
    dashed line, less than half of the members agree.

    Parameters
    ----------
    model : estimator or pipeline
        Fitted, with ``agreement_``: ``MaxMarginClustering(search="merge")`` or ``DocumentClustering``.
    X : {array-like, frame, sparse matrix} of shape (n_samples, n_features), default=None
        The rows of the fit. With them, clusters are named by what sets them apart, as in the report.
    names : mapping, default=None
        Names of clusters by their labels.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    estimator = describe.last_step(model)
    clusters = fitted_clusters(model, X, names)
    sure = agreement_of(estimator)
    if sure is None:
        raise NotSupportedError(
            f"{type(estimator).__name__} has a single search, so nothing to agree with; fit "
            "MaxMarginClustering(search='merge'), whose searches vote on every row."
        )
    sure = np.asarray(sure)
    ax = axes_for(ax, 7.2, 1.2 + 0.42 * len(clusters.kinds))
    start, ticks, texts = 0.0, [], []
    for label in clusters.kinds:
        found = np.sort(sure[clusters.labels == label])[::-1]
        if not len(found):
            continue
        steps = np.linspace(0, len(found), min(len(found), MOST_STEPS) + 1)
        lengths = found[np.minimum(steps[:-1].astype(int), len(found) - 1)]
        ax.fill_betweenx(
            start + steps, 0, np.append(lengths, lengths[-1]), step="post", color=light_colour(label), lw=0
        )
        ticks.append(start + len(found) / 2)
        texts.append(f"{clusters.numbered(label)}\n{100 * found.mean():.0f} % sure")
        start += len(found) + GAP * len(sure)
    ax.axvline(UNSURE, color=MUTED, ls="--", lw=1)
    ax.set_yticks(ticks, texts)
    ax.set_ylim(start, 0)
    ax.set_xlim(0, 1)
    ax.set_xlabel("share of the searches that agree on a row")
    without_frame(ax, "bottom")
    return ax
