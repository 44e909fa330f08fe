"""Drawn tables of which the number of clusters is known: "shapes/moons-3" is the fourth draw of its kind.

Some kinds have clusters that touch, differ in size, are long or curved, or are joined by stray rows; others have one
cluster alone, of many distributions. Numbers of rows, columns and clusters are drawn too. Draws below ``FRESH`` are for
looking at while a rule is settled, those from there on for judging it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.cells import Task, task

FRESH = 100
ROWS = (200, 400, 800, 1600)
COLUMNS = (2, 3, 5, 10, 20)
STRAY = 0.04  # share of stray rows, where there are any
TRIES = 1000  # to place a centre before all may be a little nearer to each other

Generator = np.random.Generator
Drawn = tuple[Any, Any]  # rows and the cluster of each


def _centres(rng: Generator, k: int, d: int, nearest: float) -> Any:
    """Centres of which each is about ``nearest`` from its nearest one, at random places around the ones before."""
    found = [np.zeros(d)]
    while len(found) < k:
        for _ in range(TRIES):
            step = rng.standard_normal(d)
            place = found[rng.integers(len(found))] + step * nearest * rng.uniform(1.0, 1.3) / np.linalg.norm(step)
            if min(np.linalg.norm(place - other) for other in found) >= nearest:
                break
        else:
            nearest *= 0.95
            continue
        found.append(place)
    return np.array(found)


def _members(rng: Generator, n: int, k: int, evenness: float) -> Any:
    """The cluster of each row; every cluster has at least 15 rows."""
    shares = rng.dirichlet(np.full(k, evenness))
    sizes = 15 + np.floor((n - 15 * k) * shares).astype(int)
    return np.repeat(np.arange(k), sizes)


def _gaussians(rng: Generator, *, nearest: tuple[float, float], evenness: float = 5.0, most: int = 9) -> Drawn:
    k, d = int(rng.integers(2, most)), int(rng.choice(COLUMNS))
    y = _members(rng, int(rng.choice(ROWS)), k, evenness)
    X = rng.standard_normal((len(y), d))
    return _centres(rng, k, d, rng.uniform(*nearest))[y] + X, y


def _blobs(rng: Generator) -> Drawn:
    return _gaussians(rng, nearest=(5.0, 8.0))


def _touching(rng: Generator) -> Drawn:
    return _gaussians(rng, nearest=(3.5, 4.5), most=6)


def _unequal(rng: Generator) -> Drawn:
    """Sizes of up to about 1 : 20 and spreads of up to 1 : 3."""
    X, y = _gaussians(rng, nearest=(9.0, 14.0), evenness=0.8, most=7)
    spreads = np.exp(rng.uniform(0, np.log(3), int(y.max()) + 1))
    means = np.array([X[y == c].mean(axis=0) for c in range(len(spreads))])
    return means[y] + (X - means[y]) * spreads[y][:, None], y


def _elongated(rng: Generator) -> Drawn:
    """Each cluster long in a direction of its own, by up to five times."""
    k, d = int(rng.integers(2, 6)), int(rng.choice(COLUMNS[:4]))
    y = _members(rng, int(rng.choice(ROWS)), k, 5.0)
    X = rng.standard_normal((len(y), d))
    centres = _centres(rng, k, d, rng.uniform(9.0, 12.0))
    for c in range(k):
        turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
        X[y == c] = (X[y == c] * np.r_[rng.uniform(2.0, 4.0), np.ones(d - 1)]) @ turn
    return centres[y] + X, y


def _wide(rng: Generator) -> Drawn:
    """Clusters in few of many columns."""
    X, y = _gaussians(rng, nearest=(6.0, 8.0), most=6)
    return np.hstack([X, rng.standard_normal((len(X), 30))]), y


def _moons(rng: Generator) -> Drawn:
    n, noise = int(rng.choice(ROWS)), rng.uniform(0.04, 0.12)
    angles, y = rng.uniform(0, np.pi, n), np.arange(n) % 2
    X = np.c_[np.cos(angles), np.sin(angles)]
    X[y == 1] = [1.0, 0.5] - X[y == 1]
    return X + noise * rng.standard_normal(X.shape), y


def _rings(rng: Generator) -> Drawn:
    """Two or three rings around each other."""
    k, n = int(rng.integers(2, 4)), int(rng.choice(ROWS[1:]))
    y, angles = np.arange(n) % k, rng.uniform(0, 2 * np.pi, n)
    radii = (1 + y) + rng.uniform(0.05, 0.13) * rng.standard_normal(n)
    return radii[:, None] * np.c_[np.cos(angles), np.sin(angles)], y


def _bands(rng: Generator) -> Drawn:
    k, n = int(rng.integers(2, 6)), int(rng.choice(ROWS[1:]))
    y = np.arange(n) % k
    return np.c_[rng.uniform(0, 6, n), y + rng.uniform(0.08, 0.16) * rng.standard_normal(n)], y


def _bridged(rng: Generator) -> Drawn:
    """Blobs with a thin bridge of rows from each to the next, and stray rows everywhere."""
    X, y = _gaussians(rng, nearest=(7.0, 10.0), most=6)
    means = np.array([X[y == c].mean(axis=0) for c in range(int(y.max()) + 1)])
    m = max(5, int(STRAY * len(X)))
    part, at = rng.integers(0, len(means) - 1, m), rng.uniform(0, 1, (m, 1))
    bridge = means[part] * (1 - at) + means[part + 1] * at + 0.3 * rng.standard_normal((m, X.shape[1]))
    stray = rng.uniform(X.min(axis=0), X.max(axis=0), (m, X.shape[1]))
    nearest = np.square(np.vstack([bridge, stray])[:, None] - means).sum(axis=2).argmin(axis=1)
    return np.vstack([X, bridge, stray]), np.r_[y, nearest]


def _one(make: Callable[[Generator, tuple[int, int]], Any]) -> Callable[[Generator], Drawn]:
    """A kind with one cluster."""

    def draw(rng: Generator) -> Drawn:
        n = int(rng.choice(ROWS))
        return make(rng, (n, int(rng.choice(COLUMNS)))), np.zeros(n, dtype=int)

    return draw


def _gaussian(rng: Generator, shape: tuple[int, int]) -> Any:
    return rng.standard_normal(shape) @ rng.standard_normal((shape[1], shape[1]))


def _skewed(rng: Generator, shape: tuple[int, int]) -> Any:
    return rng.exponential(1, shape) if rng.random() < 0.5 else rng.lognormal(0, 0.7, shape)


def _low_rank(rng: Generator, shape: tuple[int, int]) -> Any:
    rank = int(rng.integers(1, 4))
    spread = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, 20))
    return spread + 0.05 * rng.standard_normal((shape[0], 20))


def _arc(rng: Generator, shape: tuple[int, int]) -> Any:
    angles = rng.uniform(0, rng.uniform(0.5, 1.5) * np.pi, shape[0])
    return np.c_[np.cos(angles), np.sin(angles)] + rng.uniform(0.04, 0.12) * rng.standard_normal((shape[0], 2))


STRUCTURED: dict[str, Callable[[Generator], Drawn]] = {
    "blobs": _blobs,
    "touching": _touching,
    "unequal": _unequal,
    "elongated": _elongated,
    "wide": _wide,
    "moons": _moons,
    "rings": _rings,
    "bands": _bands,
    "bridged": _bridged,
}
SINGLE: dict[str, Callable[[Generator], Drawn]] = {
    "gaussian": _one(_gaussian),
    "uniform": _one(lambda rng, shape: rng.uniform(0, 1, shape)),
    "heavy-tailed": _one(lambda rng, shape: rng.standard_t(4, shape)),
    "skewed": _one(_skewed),
    "low-rank": _one(_low_rank),
    "arc": _one(_arc),
}
KINDS = {**STRUCTURED, **SINGLE}


@task("shapes")
def shapes(name: str) -> Task:
    """A draw by its kind and number."""
    kind, _, number = name.rpartition("-")
    rng = np.random.default_rng([list(KINDS).index(kind), int(number)])
    X, y = KINDS[kind](rng)
    rows = rng.permutation(len(X))
    return Task(X[rows], y[rows])
