"""What the known labels alone say of all rows: classifiers, each believed as far as it tells labels it has not seen.

    P_e(c | i) = softmax(t_e s_e(i))_c,      t_e maximises   l_e = sum_i log softmax(t_e s_e^-i(i))_{y_i},
    P(c | i)   = sum_e a_e P_e(c | i),       a_e = exp(l_e) / sum_f exp(l_f)

s_e(i) are the scores of classifier e, and s_e^-i those that it gives without the label of row i (``_left_out.py``).
The sum runs over known rows whose class has another one. So known labels decide which classifier is right for the rows,
and how sure it may be, and no row without a label has a part in it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax

from widegap.solvers._left_out import Told, least_squares, self_training
from widegap.solvers._result import FloatArray

RIDGES = (0.001, 0.01, 0.1)  # where features have the mean squared length 1, and every class the weight 1
SELF_RIDGE = 0.1  # of self-training
SHARPNESS = 2 ** np.arange(0, 6.5, 0.5)  # t


@dataclass(frozen=True)
class Views:
    """Features of all rows, of mean 0 and mean squared length 1.

    ``near`` (n, d) are those of the kernel, as they are and averaged over neighbours. ``wide`` (n, s) are leading
    directions of rows that have more columns than the kernel has features, or None.
    """

    near: FloatArray
    wide: FloatArray | None

    def classes(self, known: Any) -> tuple[Any, FloatArray] | None:
        """The classes that are known, c of them, and how likely each is for every row, (n, c).

        ``known`` has one entry a row, -1 where the label is not known. None as long as known labels cannot judge a
        classifier: of a single class, or one row of each.
        """
        rows = np.flatnonzero(known >= 0)
        names, classes = np.unique(known[rows], return_inverse=True)
        judges = np.bincount(classes, minlength=1)[classes] > 1
        if len(names) < 2 or not judges.any():
            return None
        told = least_squares(self.near, rows, classes, RIDGES)
        if self.wide is not None:
            told.append(self_training(self.wide, rows, classes, SELF_RIDGE))
        return names, _averaged(told, classes, judges)


def _averaged(told: list[Told], classes: Any, judges: Any) -> FloatArray:
    """P, from the classifiers and the known rows that judge them."""
    right = np.arange(int(judges.sum())), classes[judges]
    likelihoods, shares = [], []
    for one in told:
        logs = [float(log_softmax(t * one.left_out[judges], axis=1)[right].sum()) for t in SHARPNESS]
        best = int(np.argmax(logs))
        likelihoods.append(logs[best])
        shares.append(softmax(SHARPNESS[best] * one.scores, axis=1))
    weights = softmax(likelihoods)
    return np.asarray(sum(a * P for a, P in zip(weights, shares, strict=True)))
