"""Arrays by what they hold: the one home of these names."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Array = npt.NDArray[np.generic]  # of any kind of entries
Floats = npt.NDArray[np.floating]  # of either precision
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.intp]
Labels = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
FloatType = np.dtype[np.floating]
if TYPE_CHECKING:
    SparseMatrix = sp.csr_array[np.floating, tuple[int, int]]
else:  # scipy 1.15 has no such brackets
    SparseMatrix = sp.csr_array
Matrix = Floats | SparseMatrix  # rows in memory
