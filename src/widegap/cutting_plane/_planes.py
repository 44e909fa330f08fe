"""What problems and solvers hand to each other: planes, how they move, label steps, and the problem itself.

The maths is at the top of ``cutting_plane/_problem.py``. Nothing here is of length n but labels and codes, and these
are states of the rows (``rows/_blocks.py``), which a solver hands on without looking inside.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from widegap._types import Floats


@dataclass(frozen=True)
class Plane:
    """A plane below one loss, as a mean over rows; ``loss`` is the loss's value where the plane was taken.

    ``codes`` is what the loss needs to move the plane to other labels, one entry a row, or None if it has no labels.
    """

    loss: float
    offset: float
    normal: Floats
    bias: Floats
    codes: Any


@dataclass(frozen=True)
class PlaneShift:
    """By how much planes move when labels change: offsets (m,), normals (m, k, d), biases (m, k)."""

    offset: Floats
    normal: Floats
    bias: Floats

    def __add__(self, other: "PlaneShift") -> "PlaneShift":
        return PlaneShift(self.offset + other.offset, self.normal + other.normal, self.bias + other.bias)

    def __iadd__(self, other: "PlaneShift") -> "PlaneShift":
        for own, more in zip(vars(self).values(), vars(other).values(), strict=True):
            own += more
        return self


@dataclass(frozen=True)
class LabelStep:
    """New labels at some weights, the planes of all losses there, and whether the count bound moved a row."""

    labels: Any
    planes: list[Plane]
    bound_active: bool


class LabelRules(Protocol):
    """What labels must keep; ``constraints/_label_rules.py`` has the one implementation, and says what each part is."""

    @property
    def held(self) -> Any: ...

    @property
    def linked(self) -> bool: ...

    @property
    def label(self) -> Callable[[Any, Any], Any]: ...

    @property
    def keeps(self) -> Callable[[Any], bool]: ...

    def allow(self, counts: Any) -> bool: ...

    def at_minimum(self, counts: Any) -> bool: ...


class Norm(Protocol):
    """The regulariser, as a squared norm of the weights.

    ``blocks`` are the numbers of columns of its kernels, ``p`` the norm of their weights.
    """

    @property
    def p(self) -> float: ...

    def blocks(self, n_features: int) -> tuple[int, ...]: ...

    def value(self, W: Floats) -> float: ...


class CutProblem(Protocol):
    """What the cutting-plane solvers need of a problem; ``cutting_plane/_problem.py`` has the one implementation."""

    n_rows: int
    n_clusters: int
    n_features: int
    beta: float
    balance: float

    @property
    def caps(self) -> Any: ...

    @property
    def norm(self) -> Norm: ...

    def planes(self, W: Any, b: Any, labels: Any) -> list[Plane]: ...

    def relabel(self, W: Any, b: Any, near: Any = None) -> LabelStep: ...

    def admits(self, labels: Any) -> bool: ...

    def target_shift(self, codes: Sequence[Any], old: Any, new: Any) -> PlaneShift: ...

    def objective(self, W: Any, planes: Sequence[Plane]) -> float: ...

    def weights_of(self, labels: Any) -> Any: ...

    def count_flips(self, old: Any, new: Any) -> int: ...
