"""Arrays by what they hold: the one home of these names."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]  # of either precision
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.intp]
Labels = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
