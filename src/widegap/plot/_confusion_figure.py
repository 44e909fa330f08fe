"""Clusters against true classes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from widegap.base._docs import shared_docs
from widegap.exceptions import InvalidDataError
from widegap.plot._axes import INK, MUTED, axes_for, in_lines, without_frame
from widegap.plot._shown_clusters import fitted_clusters
from widegap.results._label_table import label_table
from widegap.results._palette import light_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STRONG = 0.55  # share of a cluster from which its colour is dark enough for white figures


@shared_docs
def confusion(
    model: Any, y: Any, *, X: Any = None, names: Mapping[Any, str] | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw how many rows of each cluster have each class.

    A cell is the darker, the larger its share of the cluster. Clusters are in the order of the classes that most of
    their rows have. Beyond the twelve most frequent classes, the others share a column.

    Parameters
    ----------
    model : estimator or pipeline
        Fitted.
    y : array-like of shape (n_samples,)
        The class of every row of the fit; None, NaN and empty texts are rows without one.
    <X, to name clusters>
    <ax>

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widegap import MaxMarginClustering, plot
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> ax = plot.confusion(MaxMarginClustering(3, random_state=0).fit(X), y)
    >>> ax.get_xlabel()
    'target'
    """
    clusters = fitted_clusters(model, X, names)
    if np.ndim(y) != 1 or len(y) != len(clusters.labels):
        raise InvalidDataError(
            f"y has shape {np.shape(y)}, but the fit had {len(clusters.labels)} rows; pass a class for each."
        )
    table = label_table(clusters.labels, list(y), getattr(y, "name", None) or "class", clusters.kinds)
    lines = sorted(table["lines"], key=lambda line: (line["cluster"] < 0, int(np.argmax(line["counts"]))))
    counts = np.array([line["counts"] for line in lines])
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax = axes_for(ax, 2.4 + 0.65 * counts.shape[1], 1.2 + 0.42 * len(lines))
    ax.imshow(_shades([line["cluster"] for line in lines], shares), aspect="auto")
    for (i, j), count in np.ndenumerate(counts):
        colour = "white" if shares[i, j] > STRONG else INK if count else MUTED
        ax.text(j, i, f"{count:,}", color=colour, ha="center", va="center", fontsize=9)
    slanted: dict[str, Any] = (
        {"rotation": 30, "ha": "left", "rotation_mode": "anchor"} if _are_long(table["classes"]) else {}
    )
    ax.set_xticks(range(counts.shape[1]), [in_lines(name) for name in table["classes"]], **slanted)
    ax.set_yticks(range(len(lines)), [in_lines(clusters.numbered(line["cluster"])) for line in lines], fontsize="small")
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xlabel(table["column"])
    without_frame(ax)
    return ax


def _shades(labels: list[int], shares: Any) -> Any:
    """The colour of every cell: white at 0, the cluster's own at 1."""
    from matplotlib.colors import to_rgb

    colours = np.array([to_rgb(light_colour(label)) for label in labels])[:, None]
    return 1 - shares[:, :, None] * (1 - colours)


def _are_long(classes: list[str]) -> bool:
    return max(len(name) for name in classes) > 7
