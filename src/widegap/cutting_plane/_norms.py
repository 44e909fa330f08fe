"""The regularisers: how long a weight matrix counts as being, for one kernel and for several.

    one kernel    |W|^2
    several       (sum_k |v_k|^(2p/(p+1)))^((p+1)/p)  =  min over w >= 0, |w|_p <= 1 of  sum_k |v_k|^2 / w_k

W = [v_1 ... v_M] holds one block of columns a kernel, and the minimum is at w_k ~ |v_k|^(2/(p+1)): the kernel weights
of MKC. p towards 1 makes them sparse; p towards infinity makes all of them 1, and the norm that of one kernel again.
"""

from dataclasses import dataclass

import numpy as np

from widegap._types import Floats


@dataclass(frozen=True)
class Ridge:
    """The squared length of W: all columns are one kernel."""

    p: float = 2.0  # of no effect, as the weight of an only kernel is 1

    def blocks(self, n_features: int) -> tuple[int, ...]:
        """Numbers of columns of the kernels."""
        return (n_features,)

    def value(self, W: Floats) -> float:
        """The regulariser at W."""
        return float(np.vdot(W, W))


@dataclass(frozen=True)
class KernelNorm:
    """The norm of several kernels; ``sizes`` are their numbers of columns, ``p`` > 1 the norm of their weights."""

    sizes: tuple[int, ...]
    p: float

    def blocks(self, n_features: int) -> tuple[int, ...]:
        """Numbers of columns of the kernels."""
        return self.sizes

    def lengths(self, W: Floats) -> Floats:
        """|v_k| of every kernel."""
        return np.sqrt(np.add.reduceat(np.square(W).sum(axis=0), np.cumsum((0, *self.sizes[:-1]))))

    def value(self, W: Floats) -> float:
        """The regulariser at W."""
        lengths = self.lengths(W)
        largest = float(lengths.max())
        if largest == 0:
            return 0.0
        power = 2 * self.p / (self.p + 1)
        return largest**2 * float(((lengths / largest) ** power).sum() ** (2 / power))

    def weights(self, W: Floats) -> Floats:
        """The kernel weights w that go with W, of p-norm 1; equal ones for W = 0."""
        lengths = self.lengths(W)
        if not lengths.any():
            lengths = np.ones_like(lengths)
        raw = (lengths / lengths.max()) ** (2 / (self.p + 1))
        return raw / float((raw**self.p).sum() ** (1 / self.p))


Norm = Ridge | KernelNorm
