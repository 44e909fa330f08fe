"""Places of rows on the map: by scores, by the graph of nearest neighbours, or by two columns.

At most ``MAP_ROWS`` rows are on the map, the same ones as long as a workspace lives. The graph layout takes a sample of
``GRAPH_ROWS`` of these: principal coordinates, averaged over neighbours many times, keep neighbours together, rounds of
attraction along edges and repulsion from random rows spread them out, and every other row goes to the mean place of its
nearest rows in the sample.

Attraction and repulsion are the gradients of the cross entropy with the kernel 1 / (1 + d^2), one step a round for all
edges and as many random pairs, with steps that shrink to zero.
"""

from typing import Any

import numpy as np

from widegap import describe
from widegap._types import Doubles, Floats, Ints
from widegap.exceptions import InvalidDataError
from widegap.features._neighbours import NeighbourGraph, neighbour_graph
from widegap.features._principal import PrincipalAxes
from widegap.rows._matrices import without_far_offsets, without_gaps

MAP_ROWS = 100_000  # rows on the map: seven frames a second without a graphics card (benchmarks/explorer.py)
GRAPH_ROWS = 3_000  # rows whose graph is laid out, while a page waits; not tuned
GRAPH_AXES = 30  # principal axes in which neighbours are sought where rows are wider
GRAPH_NEIGHBOURS = 15  # of a row, edges of the graph: UMAP's default, not tuned here
LAYOUT_ROUNDS = 120  # of attraction and repulsion, while a page waits; not tuned
NEGATIVES = 3  # random rows that push each row away, a round
NEAREST = 3  # rows of the sample whose mean is the place of another row


def map_rows(n: int, seed: int = 0) -> Ints:
    """Numbers of the rows on the map: all, or a sample."""
    if n <= MAP_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, MAP_ROWS, replace=False))


def by_scores(model: Any, X: Any, features: Any, rows: Ints) -> Floats:
    """Places along the margins, as in reports; principal axes of the features for a model without scores."""
    return describe.layout(_part(features, rows), describe.scores(model, _part(X, rows)), np.arange(len(rows)))


def by_principal_axes(X: Any, rows: Ints) -> Floats:
    """Places along the two directions in which rows differ most."""
    return describe.layout(_part(X, rows), None, np.arange(len(rows)))


def by_columns(x: Floats, y: Floats, rows: Ints) -> Floats:
    """Places by two columns; a row that lacks a value is in the middle."""
    return np.asarray(without_gaps(np.column_stack([x, y]))[0])[rows]


def by_neighbours(X: Any, rows: Ints, seed: int = 0) -> Floats:
    """Places that keep nearest neighbours together."""
    rng = np.random.default_rng(seed)
    features = _features(X[rows], seed)
    chosen = np.arange(len(rows))
    if len(rows) > GRAPH_ROWS:
        chosen = np.sort(rng.choice(len(rows), GRAPH_ROWS, replace=False))
    graph = neighbour_graph(features[chosen], min(GRAPH_NEIGHBOURS, len(chosen) - 1), 1)
    places = spread_out(graph.nearest, _first_places(features[chosen], graph, rng), rng)
    if len(chosen) == len(rows):
        return places
    from sklearn.neighbors import NearestNeighbors

    sample = NearestNeighbors(n_neighbors=NEAREST).fit(features[chosen])
    nearest = sample.kneighbors(features, return_distance=False)
    found = places[nearest].mean(axis=1)
    found[chosen] = places
    return found


def _part(X: Any, rows: Ints) -> Any:
    if hasattr(X, "shape"):
        return X if len(rows) == X.shape[0] else X[rows]
    return X if len(rows) == len(X) else [X[row] for row in rows]


def _features(X: Any, seed: int) -> Floats:
    """The rows in which neighbours are sought: as they are, or by their principal axes if they are wide or sparse."""
    X = without_far_offsets(X)
    try:
        return PrincipalAxes(X, min(GRAPH_AXES, *X.shape), seed).coordinates(X)
    except InvalidDataError:  # all rows are equal
        return np.zeros((X.shape[0], 2))


def _first_places(features: Floats, graph: NeighbourGraph, rng: np.random.Generator) -> Doubles:
    """Smoothed principal coordinates, two of them, with a little noise so that equal rows can part."""
    smooth = graph.smooth(features[:, :10].astype(np.float64), 20)
    centred = smooth - smooth.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    places = np.zeros((len(features), 2))
    found = centred @ axes.T
    places[:, : found.shape[1]] = found
    spread = np.abs(places).max()
    return 10 * places / (spread if spread else 1.0) + rng.normal(0, 0.05, places.shape)


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
    return places - places.mean(axis=0)


def _summed(places: Ints, moves: Floats, n: int) -> Doubles:
    return np.column_stack([np.bincount(places, moves[:, axis], n) for axis in range(2)])
