"""Arrays by what they hold: the one home of these names."""

from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]  # of either precision
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.intp]
Labels = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


class Table(Protocol):
    """Rows in memory, an array or a CSR matrix: what both have."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def T(self) -> Self: ...

    def __getitem__(self, rows: npt.NDArray[np.integer], /) -> Self: ...

    def __matmul__(self, other: Floats, /) -> Floats: ...

    def __mul__(self, other: npt.NDArray[np.number], /) -> Self: ...

    def sum(self, axis: int) -> npt.ArrayLike: ...
