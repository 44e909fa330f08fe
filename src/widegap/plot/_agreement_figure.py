"""How sure the cluster of each row is, cluster by cluster."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from widegap import describe
from widegap._wording import counted, percent
from widegap.base._docs import shared_docs
from widegap.exceptions import NotSupportedError
from widegap.plot._axes import MUTED, axes_for, in_lines, without_frame
from widegap.plot._shown_clusters import fitted_clusters
from widegap.results._certainty import agreement_of
from widegap.results._palette import light_colour
from widegap.results._summary import UNSURE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAR_SHARE = 0.8  # of the distance of two clusters
OUTLINE_STEPS = 1000  # of the outline of a cluster, more than a figure has pixels


@shared_docs
def agreement(model: Any, *, X: Any = None, names: Mapping[Any, str] | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw how much the members of the search agree on every row, cluster by cluster, the surest row first.

    The length of a row is its ``agreement_``; each cluster is as high as the others, whatever its size. On rows that
    end left of the dashed line, less than half of the members agree.

    Parameters
    ----------
    model : estimator or pipeline
        Fitted, with several searches that vote: ``MaxMarginClustering(search="agree")``, the default.
    <X, to name clusters>
    <ax>

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widegap import MaxMarginClustering, plot
    >>> model = MaxMarginClustering(3, random_state=0).fit(load_iris().data)
    >>> ax = plot.agreement(model, names={0: "large", 1: "small"})
    >>> [text.get_text().splitlines()[0] for text in ax.get_yticklabels()]
    ['0: large', '1: small', 'Cluster 2']
    """
    estimator = describe.last_step(model)
    clusters = fitted_clusters(model, X, names)
    sure = agreement_of(estimator)
    if sure is None:
        raise NotSupportedError(
            f"{type(estimator).__name__} has a single search, so nothing to agree with; fit "
            "MaxMarginClustering(search='agree'), whose searches vote on every row."
        )
    ax = axes_for(ax, 7.2, 1.0 + 0.6 * len(clusters.kinds))
    shown = [label for label in clusters.kinds if (clusters.labels == label).any()]
    texts = []
    for row, label in enumerate(shown):
        found = np.sort(sure[clusters.labels == label])[::-1]
        steps = np.linspace(0, 1, min(len(found), OUTLINE_STEPS) + 1)
        lengths = found[(steps[:-1] * len(found) + 0.5).astype(int).clip(0, len(found) - 1)]
        edges = row - BAR_SHARE / 2 + BAR_SHARE * np.repeat(steps, 2)[1:-1]
        ax.fill_betweenx(edges, 0, np.repeat(lengths, 2), color=light_colour(label), lw=0)
        texts.append(
            in_lines(clusters.numbered(label)) + f"\n{counted(len(found), 'row')}, {percent(found.mean())} sure"
        )
    ax.axvline(UNSURE, color=MUTED, ls="--", lw=1)
    ax.set_yticks(range(len(shown)), texts, fontsize="small")
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    ax.set_xlabel("share of the searches that agree on a row")
    without_frame(ax, "bottom")
    return ax
