"""Scores of a clustering against known classes, all as fractions in [0, 1].

Labels may be integers (also -1), strings or any hashable objects, and the names of clusters and classes
need not agree: every score is invariant to renaming either side. Accuracy and errors first map clusters
to classes:

- ``"hungarian"``: one-to-one, each cluster to at most one class and each class to at most one cluster, so
  that the score is the best possible. Rows of clusters left over are errors.
- ``"majority"``: each cluster to the class that is largest in it; several clusters may share a class. Never
  worse than ``"hungarian"``, and 1.0 accuracy for singletons: compare it only at equal numbers of clusters.
"""

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score, rand_score
from sklearn.metrics.cluster import contingency_matrix

from widegap._types import Doubles, Ints
from widegap.exceptions import InvalidDataError

__all__ = [
    "balanced_clustering_error",
    "clustering_accuracy",
    "clustering_error",
    "normalized_mutual_info",
    "rand_index",
]


def clustering_accuracy(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, mapping: str = "hungarian") -> float:
    """Fraction of rows whose cluster is mapped to their class, under the best mapping.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes.
    y_pred : array-like of shape (n_samples,)
        Clusters.
    mapping : {"hungarian", "majority"}, default="hungarian"
        One-to-one, or each cluster to its largest class.

    Returns
    -------
    accuracy : float
        In [0, 1], 1 is perfect.

    Examples
    --------
    >>> from widegap.metrics import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 2])
    0.75
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 2], mapping="majority")
    1.0
    """
    _check_mapping(mapping)
    table: Ints = contingency_matrix(*_encode(y_true, y_pred))
    return float(_matched(table, mapping) / table.sum())


def clustering_error(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, mapping: str = "hungarian") -> float:
    """Fraction of rows whose cluster is not mapped to their class: one minus the accuracy.

    Parameters
    ----------
    y_true, y_pred, mapping
        As for :func:`clustering_accuracy`.

    Returns
    -------
    error : float
        In [0, 1], 0 is perfect.
    """
    return 1.0 - clustering_accuracy(y_true, y_pred, mapping=mapping)


def balanced_clustering_error(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, mapping: str = "hungarian") -> float:
    r"""Mean over the classes of the error rate within the class, under the mapping that is best for it.

    With :math:`s_{cj}` the share of class c that fell into cluster j, and :math:`k` classes, the value is
    :math:`1 - \frac{1}{k} \max_{\pi} \sum_c s_{c \pi(c)}`. The maximum is taken over the one-to-one mappings
    of *this* table (``"hungarian"``), or each cluster goes to the class with the largest share in it
    (``"majority"``). Either may differ from the mapping that maximises :func:`clustering_accuracy`, because
    every class counts the same here, however small.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes.
    y_pred : array-like of shape (n_samples,)
        Clusters.
    mapping : {"hungarian", "majority"}, default="hungarian"
        One-to-one, or each cluster to the class with the largest share in it.

    Returns
    -------
    error : float
        In [0, 1], 0 is perfect. A class without a cluster has error rate 1.

    Examples
    --------
    >>> from widegap.metrics import balanced_clustering_error
    >>> balanced_clustering_error([0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1])
    0.125
    """
    _check_mapping(mapping)
    table: Ints = contingency_matrix(*_encode(y_true, y_pred))
    shares = table / table.sum(axis=1, keepdims=True)
    # Sums of shares may exceed the number of classes by rounding.
    return max(0.0, float(1.0 - _matched(shares, mapping) / len(shares)))


def rand_index(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Fraction of pairs of rows on which both partitions agree: together in both, or apart in both.

    Not adjusted for chance: two random partitions into many clusters score near 1.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes.
    y_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    index : float
        In [0, 1], 1 is perfect. A single row has no pairs and scores 1.

    Examples
    --------
    >>> from widegap.metrics import rand_index
    >>> rand_index([0, 0, 1], ["x", "y", "y"])
    0.3333333333333333
    """
    return float(rand_score(*_encode(y_true, y_pred)))


def normalized_mutual_info(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Mutual information of both partitions over the geometric mean of their entropies.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes.
    y_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    information : float
        In [0, 1], 1 is perfect. It is 1 if both partitions are a single cluster and 0 if only one is.

    Examples
    --------
    >>> from widegap.metrics import normalized_mutual_info
    >>> normalized_mutual_info([0, 0, 1, 1], ["x", "y", "x", "y"])
    0.0
    """
    information = float(normalized_mutual_info_score(*_encode(y_true, y_pred), average_method="geometric"))
    # Information and entropies are rounded separately, so equal partitions may come out just above 1.
    return min(1.0, information)


def _matched(table: Ints | Doubles, mapping: str) -> float:
    """Largest mass of ``table`` (classes by clusters) that such a mapping can keep."""
    if mapping == "majority":
        return float(table.max(axis=0).sum())
    return float(table[linear_sum_assignment(table, maximize=True)].sum())


def _check_mapping(mapping: str) -> None:
    """Refuse a mapping that is not one of the two."""
    if mapping not in ("hungarian", "majority"):
        raise ValueError(
            f"mapping={mapping!r} is unknown. Use 'hungarian' (one-to-one) or 'majority' "
            "(each cluster to its largest class)."
        )


def _encode(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> tuple[Ints, Ints]:
    """Both labelings as integer codes, checked for shape, length and missing labels."""
    codes_true, codes_pred = _codes(y_true, "y_true"), _codes(y_pred, "y_pred")
    if len(codes_true) != len(codes_pred):
        raise InvalidDataError(
            f"y_true has {len(codes_true)} labels and y_pred has {len(codes_pred)}, but both must label the "
            "same rows. Pass the labels of the rows that were clustered, in the same order."
        )
    return codes_true, codes_pred


def _codes(labels: npt.ArrayLike, name: str) -> Ints:
    """Integer codes of a labeling, equal where the labels are."""
    found: npt.NDArray[np.generic] = np.asarray(labels)
    if found.ndim != 1:
        raise InvalidDataError(
            f"{name} has shape {found.shape}, but must hold one label per row. Pass an array of shape "
            "(n_samples,), for example labels.ravel() of one column or scores.argmax(axis=1)."
        )
    if not len(found):
        raise InvalidDataError(f"{name} is empty, but a score needs at least one row. Pass some labels.")
    if np.any(found != found):
        raise InvalidDataError(f"{name} contains NaN, which is not a label. Drop these rows, or label them -1.")
    if found.dtype == object:
        # np.unique sorts, which fails for labels of mixed type such as None and strings.
        numbers = {label: code for code, label in enumerate(dict.fromkeys(found))}
        return np.array([numbers[label] for label in found])
    return np.unique(found, return_inverse=True)[1]
