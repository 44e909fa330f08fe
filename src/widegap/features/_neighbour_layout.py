"""Places of rows on a map that keeps nearest neighbours together: the one layout of reports, explorer and plots.

The place of a row follows from the table alone, whichever rows are asked for. Of a large table a sample of
``GRAPH_ROWS`` is laid out, by umap-learn or openTSNE where one is installed, and every other row goes to the mean place
of its nearest rows in the sample.

The layout of this module is for where neither is installed: principal coordinates, averaged over neighbours many
times, keep neighbours together, and rounds of attraction along edges and repulsion from random rows spread them out.
These are the gradients of the cross entropy with the kernel 1 / (1 + d^2), one step a round for all edges and as many
random pairs, with steps that shrink to zero.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import NearestNeighbors

from widegap._types import Doubles, Floats, Ints, Matrix
from widegap.exceptions import InvalidDataError
from widegap.features._neighbours import NeighbourGraph, neighbour_graph
from widegap.features._principal import PrincipalAxes
from widegap.rows._matrices import column_offsets, column_weights, scale_table, shift_columns, storage

GRAPH_ROWS = 3_000  # rows whose graph is laid out, while a page waits; not tuned
GRAPH_AXES = 30  # principal axes in which neighbours are sought where rows are wider
GRAPH_NEIGHBOURS = 15  # of a row, edges of the graph: UMAP's default, not tuned here
# Of the first places, times the root of the number of rows: 10 for any number leaves clusters of small tables little
# room. On six tables nearest neighbours are as right as then (trustworthiness 0.935 to 0.997, at most 0.006 less).
FIRST_SIZE = 1 / 8
LAYOUT_ROUNDS = 120  # of attraction and repulsion, while a page waits; not tuned
NEGATIVES = 3  # random rows that push each row away, a round
NEAREST = 3  # rows of the sample whose mean is the place of another row
FEWEST_FOREIGN = 3 * GRAPH_NEIGHBOURS  # rows for other packages, which need more rows than a row has neighbours
# Of openTSNE: its default of neighbours, and half of its default steps, as it begins with places that are nearly right.
PERPLEXITY, TSNE_EARLY_STEPS, TSNE_LATER_STEPS = 30, 100, 250
OWN_LAYOUT = "widegap"


class Layout(NamedTuple):
    """Places of rows, (rows, 2), and the package that found them."""

    places: Floats
    made_by: str


def neighbour_layout(X: Matrix, rows: Ints | None = None, seed: int = 0) -> Layout:
    """Places of some rows of a table, or of all, that keep nearest neighbours together."""
    n = X.shape[0]
    wanted = np.arange(n) if rows is None else rows
    chosen = np.arange(n)
    if n > GRAPH_ROWS:
        chosen = np.sort(np.random.default_rng(seed).choice(n, GRAPH_ROWS, replace=False))
    space = _Space(X[chosen], seed)
    features = space.features(X[chosen])
    places, made_by = _laid_out(features, seed)
    found = np.empty((len(wanted), 2))
    at = np.minimum(np.searchsorted(chosen, wanted), len(chosen) - 1)
    inside = chosen[at] == wanted
    found[inside] = places[at[inside]]
    if not inside.all():
        sample = NearestNeighbors(n_neighbors=NEAREST).fit(features)
        nearest = sample.kneighbors(space.features(X[wanted[~inside]]), return_distance=False)
        found[~inside] = places[nearest].mean(axis=1)
    return Layout(found, made_by)


class _Space:
    """The space in which neighbours are sought: leading principal axes of a table.

    Columns in other units are standardised, and sparse rows have length one, as for a ``MaxMarginClustering``.
    """

    def __init__(self, X: Matrix, seed: int):
        self._weights = column_weights(X, "auto")
        scaled = self._scaled(X)
        self._offsets = column_offsets(scaled)
        self._axes: PrincipalAxes | None = None
        try:
            self._axes = PrincipalAxes(shift_columns(scaled, self._offsets), min(GRAPH_AXES, *X.shape), seed)
        except InvalidDataError:  # all rows are equal
            pass

    def features(self, X: Matrix) -> Floats:
        if self._axes is None:
            return np.zeros((X.shape[0], 2))
        return self._axes.coordinates(shift_columns(self._scaled(X), self._offsets))

    def _scaled(self, X: Matrix) -> Matrix:
        return scale_table(X, self._weights, storage(X) == "sparse")


def _laid_out(features: Floats, seed: int) -> Layout:
    n = len(features)
    if n < 3:
        return Layout(np.column_stack([np.arange(n), np.zeros(n)]), OWN_LAYOUT)
    rng = np.random.default_rng(seed)
    graph = neighbour_graph(features, min(GRAPH_NEIGHBOURS, n - 1), 1)
    first = _first_places(features, graph, rng)
    made_by, other = _other_package() if n >= FEWEST_FOREIGN and np.ptp(features) else (OWN_LAYOUT, None)
    places = spread_out(graph.nearest, first, rng) if other is None else other(features, first, seed)
    return Layout(places - places.mean(axis=0), made_by)


def _other_package() -> tuple[str, Callable[[Floats, Doubles, int], Doubles] | None]:
    """The package for neighbour layouts that is installed and its layout, or our own name and None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImportWarning)  # it says that it has no TensorFlow
            from umap import UMAP
    except ImportError:
        pass
    else:
        return "umap-learn", lambda features, first, seed: _by_umap(UMAP, features, first, seed)
    try:
        from openTSNE import TSNE
    except ImportError:
        return OWN_LAYOUT, None
    return "openTSNE", lambda features, first, seed: _by_opentsne(TSNE, features, first, seed)


def _by_umap(umap: Any, features: Floats, first: Doubles, seed: int) -> Doubles:
    # With a seed it runs in one thread, and warns unless it is asked to.
    method = umap(n_neighbors=GRAPH_NEIGHBOURS, init=first, random_state=seed, n_jobs=1)
    return np.asarray(method.fit_transform(features), dtype=np.float64)


def _by_opentsne(tsne: Any, features: Floats, first: Doubles, seed: int) -> Doubles:
    small = 1e-4 * first / first[:, 0].std()  # as t-SNE wants to begin
    perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
    steps = {"early_exaggeration_iter": TSNE_EARLY_STEPS, "n_iter": TSNE_LATER_STEPS}
    method = tsne(perplexity=perplexity, initialization=small, random_state=seed, n_jobs=1, **steps)
    return np.asarray(method.fit(features), dtype=np.float64)


def _first_places(features: Floats, graph: NeighbourGraph, rng: np.random.Generator) -> Doubles:
    """Smoothed principal coordinates, two of them, with a little noise so that equal rows can part."""
    smooth = graph.smooth(features[:, :10].astype(np.float64), 20)
    centred = smooth - smooth.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    places = np.zeros((len(features), 2))
    found = centred @ axes.T
    places[:, : found.shape[1]] = found
    spread = np.abs(places).max()
    size = FIRST_SIZE * np.sqrt(len(features))
    return size * (places / (spread if spread else 1.0) + rng.normal(0, 0.005, places.shape))


def spread_out(nearest: Ints, places: Doubles, rng: np.random.Generator) -> Doubles:
    """Rounds of attraction along edges and repulsion from random rows."""
    n, k = nearest.shape
    tails, heads = np.repeat(np.arange(n), k), nearest.ravel()
    places = places.copy()
    for step in np.linspace(1.0, 0.0, LAYOUT_ROUNDS, endpoint=False):
        pull = places[heads] - places[tails]
        pull /= (1 + np.square(pull).sum(axis=1))[:, None]
        move = _summed(tails, pull, n) - _summed(heads, pull, n)
        for _ in range(NEGATIVES):
            push = places - places[rng.integers(n, size=n)]
            squared = np.square(push).sum(axis=1)
            move += k * (push / ((0.01 + squared) * (1 + squared))[:, None]).clip(-4, 4) / NEGATIVES
        places += step * (move / k).clip(-4, 4)
    return places


def _summed(places: Ints, moves: Floats, n: int) -> Doubles:
    return np.column_stack([np.bincount(places, moves[:, axis], n) for axis in range(2)])
