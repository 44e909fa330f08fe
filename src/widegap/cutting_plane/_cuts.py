"""CutSet: the planes of the master problem, their Gram matrix kept up to date, and the rule by which they retire.

A plane is a row (offset, normal, bias) with a group (its loss) and, for labelled losses, the codes from which it can
be moved to other labels. Adding a plane costs one product with the stored normals; a relabelling moves all planes of
the labelled loss by the sums over the flipped rows and renews the Gram matrix with one product. With several kernels
there is one Gram matrix for the columns of each. Planes retire when the master has given them no weight for
``MAX_AGE`` rounds, or, beyond ``CAPACITY`` times the number of groups, the longest idle first. Planes with weight
always stay: dropping one can make the search circle. 6-9 carry weight in a group at the usual tolerances, 40-66 were
seen at a tolerance of 1e-8.

Memory: k * d floats for the normal and n codes a plane (of the hinge, ceil(k/8) bytes each).
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from widegap._types import Doubles
from widegap.cutting_plane._problem import Plane, PlaneShift
from widegap.rows._protocols import State

# Planes of a group, and rounds without weight, before a plane retires. Not tuned: well above the 6 to 9 planes that
# carry weight; fewer make the search find planes again that it had dropped, more only enlarge the QP and the memory.
CAPACITY = 24
MAX_AGE = 12
_FIRST_SIZE = 8  # rows of the buffers at first; they double when full


class CutSet:
    """Planes of all groups, in the order in which they came."""

    def __init__(self, n_clusters: int, n_features: int, blocks: Sequence[int] | None = None):
        self.shape = (n_clusters, n_features)
        ends = np.cumsum([n_features] if blocks is None else blocks)
        self._blocks = [slice(int(start), int(stop)) for start, stop in pairwise([0, *ends])]
        self.groups: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.offsets: Doubles = np.zeros(0)
        self.biases: Doubles = np.zeros((0, n_clusters))
        self.multipliers: Doubles = np.zeros(0)
        self._ages: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._codes: list[State | None] = []
        self._normals = np.zeros((_FIRST_SIZE, n_clusters * n_features))
        self._grams = np.zeros((len(self._blocks), _FIRST_SIZE, _FIRST_SIZE))

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def normals(self) -> Doubles:
        """Flattened normals, shape (m, k * d)."""
        return self._normals[: len(self)]

    @property
    def gram(self) -> Doubles:
        """Inner products of the normals, shape (m, m)."""
        return self.grams.sum(axis=0) if len(self._blocks) > 1 else self.grams[0]

    @property
    def grams(self) -> Doubles:
        """Inner products kernel by kernel, shape (M, m, m)."""
        return self._grams[:, : len(self), : len(self)]

    def _parts(self, normals: Doubles) -> Iterator[Doubles]:
        """Flattened normals restricted to the columns of one kernel after the other."""
        for block in self._blocks:
            width = self.shape[0] * (block.stop - block.start)
            yield normals.reshape(len(normals), *self.shape)[:, :, block].reshape(len(normals), width)

    def add(self, group: int, plane: Plane) -> None:
        """Take in one plane of the given group."""
        m = len(self)
        if m == len(self._normals):
            self._grow()
        self._normals[m] = plane.normal.ravel()
        self.groups = np.append(self.groups, group)
        self.offsets = np.append(self.offsets, plane.offset)
        self.biases = np.vstack([self.biases, plane.bias])
        self.multipliers = np.append(self.multipliers, 0.0)
        self._ages = np.append(self._ages, 0)
        self._codes.append(plane.codes)
        for gram, part in zip(self.grams, self._parts(self.normals), strict=True):
            gram[m] = gram[:, m] = part @ part[m]

    def _grow(self) -> None:
        size = 2 * len(self._normals)
        normals, grams = np.zeros((size, self._normals.shape[1])), np.zeros((len(self._blocks), size, size))
        normals[: len(self)], grams[:, : len(self), : len(self)] = self.normals, self.grams
        self._normals, self._grams = normals, grams

    def codes(self, group: int) -> list[State | None]:
        """Codes of the planes of one group, in their order."""
        return [self._codes[c] for c in np.flatnonzero(self.groups == group)]

    def shift(self, group: int, change: PlaneShift) -> None:
        """Move the planes of a group to new labels."""
        members = self.groups == group
        self.offsets[members] += change.offset
        self.biases[members] += change.bias
        self._normals[: len(self)][members] += change.normal.reshape(len(change.offset), self._normals.shape[1])
        for gram, part in zip(self.grams, self._parts(self.normals), strict=True):
            gram[:] = part @ part.T

    def combine(self, multipliers: Doubles) -> Doubles:
        """Weighted sum of the normals, shape (k, d)."""
        return (multipliers @ self.normals).reshape(self.shape)

    def weigh_kernels(self, W: Doubles, weights: Doubles) -> Doubles:
        """W with the columns of every kernel multiplied by its weight."""
        return W * np.repeat(weights, [block.stop - block.start for block in self._blocks])

    def heights(self, W: Doubles, b: Doubles) -> Doubles:
        """Value of every plane at (W, b)."""
        return self.offsets - self.normals @ W.ravel() - self.biases @ b

    def retire(self, multipliers: Doubles) -> None:
        """Note the master's weights; drop planes that have been idle too long or are too many."""
        self.multipliers = multipliers
        used = multipliers > 1e-9 * max(1e-300, float(multipliers.max(initial=0.0)))
        self._ages = np.where(used, 0, self._ages + 1)
        keep = self._ages <= MAX_AGE
        idle = np.flatnonzero(keep & ~used)
        excess = min(len(idle), int(keep.sum()) - CAPACITY * len(np.unique(self.groups)))
        if excess > 0:
            keep[idle[np.argsort(-self._ages[idle], kind="stable")[:excess]]] = False
        if not keep.all():
            self._select(np.flatnonzero(keep))

    def _select(self, chosen: npt.NDArray[np.int64]) -> None:
        m = len(chosen)
        for place, c in enumerate(chosen):
            if c != place:  # the rest stays in place: a normal may be as large as the rows
                self._normals[place] = self._normals[c]
        self._grams[:, :m, :m] = self.grams[:, chosen[:, None], chosen]
        self.groups, self.offsets, self.biases = self.groups[chosen], self.offsets[chosen], self.biases[chosen]
        self.multipliers, self._ages = self.multipliers[chosen], self._ages[chosen]
        self._codes = [self._codes[c] for c in chosen]


def add_all(cuts: CutSet, planes: Sequence[Plane]) -> None:
    """Take in one plane a group, the groups in order."""
    for group, plane in enumerate(planes):
        cuts.add(group, plane)
