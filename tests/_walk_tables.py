"""Tables for walks over calls: three or four groups in any container, and with what breaks methods."""

from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from widegap.features._column_groups import ColumnGroup, EncodedTable

GROUPS = 3
FAR = 12  # between groups that no method may mistake
CENTRES = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
LEVELS = 3
FLAGS = [ColumnGroup(0, 1), ColumnGroup(1, 2), ColumnGroup(2, 3), ColumnGroup(3, 6, is_category=True)]
SHAPES = ["plain"] * 6 + ["duplicates", "constant", "equal", "one column", "wide", "shifted", "flags", "flags"]
CONTAINERS = ["array"] * 4 + ["float32", "read-only", "columns first", "list", "frame", "sparse", "csc", "dask"]


@dataclass(frozen=True)
class Table:
    """Rows as a user has them, and the group of each; ``dense`` are the same numbers."""

    seed: int
    n: int
    distance: float = FAR
    shape: str = "plain"
    container: str = "array"
    of_groups: tuple[int, ...] = (0, 1, 2)
    groups: np.ndarray = field(init=False, repr=False, compare=False)
    dense: np.ndarray = field(init=False, repr=False, compare=False)
    X: object = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        rng = np.random.default_rng(self.seed)
        groups = rng.permutation(np.resize(self.of_groups, self.n))
        dense = self._numbers(rng, groups)
        for name, value in {"groups": groups, "dense": dense, "X": contained(dense, self.container)}.items():
            object.__setattr__(self, name, value)

    def _numbers(self, rng, groups):
        X = rng.normal(size=(self.n, 3)) + self.distance * CENTRES[groups]
        if self.shape == "duplicates":
            X = X[rng.integers(max(1, self.n // 4), size=self.n)]
        elif self.shape == "constant":
            X[:, 2] = 7.0
        elif self.shape == "equal":
            X[:] = X[:1]
        elif self.shape == "one column":
            X = X @ [[1.0], [2.0], [4.0]]
        elif self.shape == "wide":
            X = np.hstack([X, np.zeros((self.n, 77))])
        elif self.shape == "shifted":
            X += 1e4
        elif self.shape == "flags":
            level = np.where(rng.random(self.n) < 0.9, groups % LEVELS, rng.integers(0, LEVELS, self.n))
            X = np.hstack([X, np.eye(LEVELS)[level]])
        return X

    @property
    def is_separated(self):
        """Whether every method has to find the groups."""
        plain = self.shape in ("plain", "shifted") and self.container not in ("sparse", "csc")
        return plain and self.distance == FAR and self.n >= 30 and len(self.of_groups) >= GROUPS

    @property
    def in_process(self):
        return self.container != "dask"

    def later(self, **changes):
        """Rows of the same kind: a further month."""
        return replace(self, **changes)


def contained(dense, container):
    """A table in a container."""
    dense = dense.astype(np.float32) if container == "float32" else dense.copy()
    if container == "read-only":
        dense.flags.writeable = False
    if container == "columns first":
        return np.asfortranarray(dense)
    if container == "list":
        return dense.tolist()
    if container == "frame":
        import pandas as pd

        return pd.DataFrame(dense, columns=[f"c{j}" for j in range(dense.shape[1])])
    if container == "encoded":
        return EncodedTable.of(dense, FLAGS)
    if container == "dask":
        import dask.array as da

        return da.from_array(dense, chunks=(max(1, -(-len(dense) // 3)), -1))
    return {"sparse": sp.csr_array, "csc": sp.csc_matrix}.get(container, np.asarray)(dense)


def fingerprint(X):
    """What has to stay as it is in a table of the user."""
    if sp.issparse(X):
        return type(X), X.toarray().tobytes(), X.nnz
    return type(X), np.asarray(X).tobytes()


SEEDS = st.integers(0, 2**20)
SIZES = st.one_of(st.integers(30, 60), st.integers(30, 60), st.integers(30, 60), st.integers(1, 12))


@st.composite
def tables(draw):
    """A table of three groups."""
    shape, container = draw(st.sampled_from(SHAPES)), draw(st.sampled_from(CONTAINERS))
    if shape == "flags" and draw(st.booleans()):
        container = "encoded"
    return Table(draw(SEEDS), draw(SIZES), draw(st.sampled_from([FAR, FAR, 4, 0])), shape, container)


@st.composite
def later_rows(draw):
    """What changes from a table to its next month, as arguments of ``Table.later``."""
    of_groups = draw(st.sampled_from([(0, 1, 2)] * 3 + [(0, 1), (1,), (0, 1, 2, 3), (0, 2, 3)]))
    found = {"seed": draw(SEEDS), "n": draw(SIZES), "of_groups": of_groups}
    if draw(st.integers(0, 3)) == 3:
        found["container"] = draw(st.sampled_from(CONTAINERS))
    return found
