"""Classifiers trained on the known labels alone, each weighted by how well it predicts labels it has not seen.

    P_e(c | i) = softmax(t_e s_e(i))_c,      t_e maximises   l_e = sum_i log softmax(t_e s_e^-i(i))_{y_i},
    P(c | i)   = sum_e a_e P_e(c | i),       a_e = exp(l_e) / sum_f exp(l_f)

s_e(i) are the scores of classifier e, and s_e^-i those that it gives without the label of row i
(``_leave_one_out.py``). The sum runs over known rows whose class has another one. So known labels decide which
classifier is right for the rows, and how sure it may be, and no row without a label has a part in it.

Features that serve such classifiers well are also those of self-training (``_self_training.py``), once every row has
likely classes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax

from widegap._types import Floats
from widegap.constraints._leave_one_out import ClassScores, least_squares, self_training
from widegap.constraints._self_training import self_trained

RIDGES = (0.001, 0.01, 0.1)  # where features have the mean squared length 1, and every class the weight 1
SELF_RIDGE = 0.1  # of self-training
LITTLE_WEIGHT = 0.05  # of a_e: features that count for less take no part in self-training; not tuned
LEAST = 1e-12  # added under a logarithm: below all shares that decide a label
SHARPNESS = 2 ** np.arange(0, 6.5, 0.5)  # t


@dataclass(frozen=True)
class KnownClasses:
    """Classes of all rows by the known labels.

    ``names`` (c,) are the classes that are known, ``likely`` (n, c) is P. ``views`` are features with the sum of a_e of
    the classifiers that see them; ``rows`` and ``classes`` are the known rows and the places of their classes in names.
    """

    names: Any
    likely: Floats
    views: list[tuple[float, Floats]]
    rows: Any
    classes: Any

    @property
    def labels_each(self) -> float:
        """Known labels per class, in the mean."""
        return len(self.rows) / len(self.names)

    def self_trained(self, shares: Floats) -> Floats:
        """Logarithms of classes, (n, c), by self-training from ``shares`` of the classes, summed over the views."""
        scores = np.log(np.maximum(shares, LEAST))
        return np.asarray(sum(a * self_trained(Z, scores, self.rows, self.classes) for a, Z in self.views))


@dataclass(frozen=True)
class Views:
    """Features of all rows, of mean 0 and mean squared length 1.

    ``plain`` (n, r) are those of the kernel, ``smooth`` (n, d) the same beside their averages over neighbours. ``wide``
    (n, s) are leading directions of rows that have more columns than the kernel has features, or None.
    """

    plain: Floats
    smooth: Floats
    wide: Floats | None

    def classes(self, known: Any) -> KnownClasses | None:
        """Classes by the known labels: one entry a row, -1 where the label is not known.

        None if known labels cannot judge a classifier: a single class, or one row of each.
        """
        rows = np.flatnonzero(known >= 0)
        names, classes = np.unique(known[rows], return_inverse=True)
        judges = np.bincount(classes, minlength=1)[classes] > 1
        if len(names) < 2 or not judges.any():
            return None
        predictions = [(Z, one) for Z in (self.plain, self.smooth) for one in least_squares(Z, rows, classes, RIDGES)]
        if self.wide is not None:
            predictions.append((self.wide, self_training(self.wide, rows, classes, SELF_RIDGE)))
        found = [_judged(one, classes, judges) for _, one in predictions]
        weights = softmax([log for log, _ in found])
        likely = np.asarray(sum(a * P for a, (_, P) in zip(weights, found, strict=True)))
        seen = [self.plain, self.smooth] + ([] if self.wide is None else [self.wide])
        views = [(sum(a for a, (of, _) in zip(weights, predictions, strict=True) if of is Z), Z) for Z in seen]
        return KnownClasses(names, likely, [(a, Z) for a, Z in views if a > LITTLE_WEIGHT], rows, classes)


def _judged(predictions: ClassScores, classes: Any, judges: Any) -> tuple[float, Floats]:
    """l and P of a classifier, by the known rows that judge it."""
    right = np.arange(int(judges.sum())), classes[judges]
    logs = [float(log_softmax(t * predictions.held_out[judges], axis=1)[right].sum()) for t in SHARPNESS]
    best = int(np.argmax(logs))
    return logs[best], softmax(SHARPNESS[best] * predictions.scores, axis=1)
