"""How sure the cluster of each row is, from 0 to 1, for rows that had a part in the search and for those that had none.

The rows of a fit have ``agreement_``, how much the members of the search agree on them. Other rows have the probability
of their cluster by ``predict_proba``, the largest of the row where ``predict`` chose the cluster. Its temperature was
fitted to the votes of the same members, so that it estimates what they would agree on; on the rows of a fit the two are
similar, not equal. A search with a single member agrees with itself: neither its rows nor new ones are called sure.
Rows without a cluster have 0 in both.
"""

from typing import Any

import numpy as np

from widegap import describe
from widegap._types import Doubles, Floats, Ints
from widegap.base._numbered_clusters import numbers_of, places_of


def agreement_of(estimator: Any) -> Floats | None:
    """How much the members of the search agree on each row of the fit; None if there are not several."""
    return getattr(estimator, "agreement_", None) if len(getattr(estimator, "history_", ())) > 1 else None


def probability_of(estimator: Any, X: Any, labels: Ints, scores: Floats | None) -> Doubles | None:
    """The probability of the cluster of each row, (n,); None for a model without probabilities or with one member.

    ``scores`` are those of the rows where they are known, in the order of the model: rows are not scored again.
    """
    estimator, X = describe.unwrap(estimator, X)
    is_single = hasattr(estimator, "history_") and agreement_of(estimator) is None
    if is_single or not hasattr(estimator, "predict_proba"):
        return None
    rule = None if scores is None else getattr(estimator, "_probability_rule", None)
    table = np.asarray(estimator.predict_proba(X) if rule is None else rule()(scores), dtype=np.float64)
    numbers = numbers_of(estimator, labels)
    if len(numbers) != table.shape[1]:  # clusters of the user's own
        return None
    return np.where(labels < 0, 0.0, table[np.arange(len(table)), places_of(numbers, labels)])
