"""The map: rows near their nearest neighbours, coloured by cluster."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from widegap import describe
from widegap.base._docs import shared_docs
from widegap.plot._axes import INK, LINE, MUTED, axes_for, in_lines
from widegap.plot._shown_clusters import clusters_of, result_of
from widegap.results._palette import light_colour
from widegap.results._summary import MAP_POINTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_IN_LEGEND = 20  # clusters; more fill a figure, and have their numbers on the map


@shared_docs
def map(model: Any, X: Any, *, names: Mapping[Any, str] | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw rows near the rows that they are most like, in the colours of their clusters.

    The places are those of the report and of the explorer: by umap-learn or openTSNE where one is installed, and by
    widegap's own layout otherwise. Rows without a cluster are grey. Of more than 3000 rows a sample is drawn in which
    small clusters keep some rows.

    Parameters
    ----------
    <any fitted model>
    X : {array-like, frame, sparse matrix} of shape (n_samples, n_features), or list of str
        Rows as the model takes them, not necessarily those of the fit; documents for a ``DocumentClustering``.
    <names of clusters>
    <ax>

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widegap import MaxMarginClustering, plot
    >>> X = load_iris(as_frame=True).data
    >>> ax = plot.map(MaxMarginClustering(3, random_state=0).fit(X), X, names={1: "setosa"})
    >>> [text.get_text() for text in ax.get_legend().get_texts()][1]
    '1: setosa'
    """
    result = result_of(model, X, names)
    clusters, view = clusters_of(result), result.view
    ax = axes_for(ax, 7.2, 4.8)
    rows = describe.spread_sample(view.labels, MAP_POINTS)
    places = view.place(rows).places
    labels = view.labels[rows]
    for label in clusters.shown[::-1]:  # the first clusters on top; rows without one below all others
        inside = places[labels == label]
        colour, name = light_colour(label), in_lines(clusters.numbered(label))
        x, y = inside.T
        ax.scatter(x, y, s=14, color=colour, alpha=0.62, edgecolors="white", linewidths=0.3, label=name)
    for label in clusters.kinds:
        inside = places[labels == label]
        if len(inside):
            _tag(ax, np.median(inside, axis=0), label)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_color(LINE)
    if len(rows) < view.n_rows:
        words = f"a sample of {len(rows):,} of {view.n_rows:,} {view.unit}s"
        ax.set_xlabel(words, color=MUTED, fontsize="small")
    if len(clusters.shown) <= MOST_IN_LEGEND:
        _explain_colours(ax)
    return ax


def _explain_colours(ax: "Axes") -> None:
    """A legend beside the map, in the order of the clusters."""
    handles, texts = ax.get_legend_handles_labels()
    style = {"frameon": False, "labelcolor": INK, "markerscale": 1.8, "borderaxespad": 0.0, "fontsize": "small"}
    legend = ax.legend(handles[::-1], texts[::-1], loc="upper left", bbox_to_anchor=(1.01, 1.0), **style)
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_alpha(1)


def _tag(ax: "Axes", place: Any, label: int) -> None:
    """The number of a cluster at its middle, as on the map of the report."""
    disc = {"boxstyle": "circle,pad=0.25", "facecolor": light_colour(label), "edgecolor": "white"}
    x, y = place
    ax.text(x, y, str(label), bbox=disc, color="white", fontsize=8, fontweight="bold", ha="center", va="center")
