"""What must hold of a fitted estimator after any sequence of calls."""

import copy
import dataclasses
from numbers import Number

import numpy as np
import scipy.sparse as sp

from _walk_sides import LINKS
from _walk_tables import GROUPS

SHARE = 0.95  # of the rows of a well separated table whose cluster predict has to repeat
CHANGED_BY_CUT = {"candidates_"}  # has the candidates of every number that was cut


def check_labels(labels, model, side, table, k, *, bounded=True):
    """Labels of the rows of a table in k clusters keep what was said of them."""
    n, numbers = table.n, np.asarray(model.cluster_numbers_) if k == model.n_clusters_ else None
    labels = np.asarray(labels)
    assert labels.shape == (n,) and labels.dtype == np.int32, f"labels of shape {labels.shape}, {labels.dtype}"
    if numbers is not None:
        assert np.isin(labels, [-1, *numbers]).all(), f"labels {set(labels.tolist())} of the clusters {numbers}"
    assert len(set(labels.tolist()) - {-1}) <= k
    if not model.get_params().get("outliers"):
        assert (labels >= 0).all(), "rows without a cluster though outliers=0"
    assert (labels[side.held(n)] >= 0).all(), "a row with a label or link has no cluster"
    for row, label in side.known(n):
        assert label in model.classes_, f"{label!r} is not in classes_ {model.classes_}"
        place = model.classes_.index(label)
        wanted = place if numbers is None and model._numbers is None else model.cluster_numbers_[place]
        assert labels[row] == wanted, f"row {row} is known as {label!r}: it is in {labels[row]}, not {wanted}"
    for name in LINKS:
        for a, b in side.pairs(name):
            assert (labels[a] == labels[b]) == (name == "must_link"), f"{name} ({a}, {b}) is broken"
    if bounded:
        check_sizes(labels, side.takes_part(n), model.get_params(), k)


def check_sizes(labels, takes_part, options, k):
    """Bounds on sizes count rows that take part and are no outliers."""
    inside = labels[takes_part & (labels >= 0)]
    sizes = np.sort(np.unique(inside, return_counts=True)[1])
    sizes = np.concatenate([np.zeros(k - len(sizes), int), sizes])
    least, most = options.get("size_min"), options.get("size_max")
    if least is not None:
        least = int(least * len(inside) + 1e-9) if isinstance(least, float) else least
        assert sizes.min() >= least, f"sizes {sizes} fall below {least}"
    if most is not None:
        most = int(np.ceil(most * len(inside) - 1e-9)) if isinstance(most, float) else most
        assert sizes.max() <= most, f"sizes {sizes} exceed {most}"


def check_model(model, side, table):
    """Attributes fit each other, the rows and what was said of them."""
    k, numbers = model.n_clusters_, model.cluster_numbers_
    assert len(numbers) == k == len(np.unique(numbers)), f"{k} clusters with the numbers {numbers}"
    if hasattr(model, "classes_"):
        assert len(model.classes_) == k, f"{len(model.classes_)} classes_ of {k} clusters"
        named = [label for label in model.classes_ if label is not None]
        assert len(set(named)) == len(named), f"a label twice in {model.classes_}"
    if hasattr(model, "agreement_"):
        agreement = np.asarray(model.agreement_)
        assert agreement.shape == (table.n,) and (agreement >= 0).all() and (agreement <= 1 + 1e-9).all()
    assert isinstance(model.starved_, bool) and isinstance(model.converged_, bool)
    assert np.isfinite(model.objective_), f"objective_ is {model.objective_}"
    check_labels(model.labels_, model, side, table, k)
    model._check_stored()  # what a file of it would be checked for


def check_predictions(model, table, X):
    """All that is predicted of the rows goes together."""
    numbers, n, k = model.cluster_numbers_, table.n, model.n_clusters_
    found, scores = np.asarray(model.predict(X)), np.asarray(model.decision_function(X))
    assert found.shape == (n,) and found.dtype == np.int32 and np.isin(found, numbers).all()
    assert np.isfinite(scores).all() and scores.shape == ((n,) if k == 2 else (n, k))
    if k > 2 and not hasattr(model, "bisected_"):
        assert (found == numbers[scores.argmax(axis=1)]).all(), "predict is not the largest score"
    if hasattr(model, "predict_proba"):
        shares = np.asarray(model.predict_proba(X))
        assert shares.shape == (n, k) and np.allclose(shares.sum(axis=1), 1) and (shares >= 0).all()
        place = (found[:, None] == numbers).argmax(axis=1)
        best = np.take_along_axis(shares, place[:, None], axis=1)
        assert np.allclose(best[:, 0], shares.max(axis=1)), "predict is not the most probable cluster"
    if hasattr(model, "reject_below_") or (hasattr(model, "reject_beyond_") and table.in_process):
        rejected = np.asarray(model.predict(X, reject=True))
        assert ((rejected == found) | (rejected == -1)).all(), "predict(reject=True) has other clusters"
    if table.in_process:
        assert model.transform(X).shape == (n, k) and np.isfinite(model.score(X))
    return found


def check_repeats(model, side, table, found):
    """On well separated tables without an extreme request, predict repeats the labels of the rows."""
    options = model.get_params()
    sized = options.get("size_min") is not None or options.get("size_max") is not None
    if not table.is_separated or sized or not side.is_true or model.starved_:  # or a bound on sizes has decided
        return
    if options.get("kernel", "rbf") not in ("rbf", "linear") or not model.n_clusters_ == len(table.of_groups) == GROUPS:
        return
    labels = np.asarray(model.labels_)
    inside = (labels >= 0) & side.takes_part(table.n)
    alike = (labels == found)[inside].mean()
    assert alike >= SHARE, f"predict repeats {alike:.0%} of labels_"


def same(one, two, *, exact=True):
    """Whether two values are the same all the way down: arrays, containers, dataclasses."""
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):
        one, two = np.asarray(one), np.asarray(two)
        if one.shape != two.shape or one.dtype != two.dtype:
            return False
        return np.array_equal(one, two, equal_nan=one.dtype.kind in "fc")
    if isinstance(one, Number) and isinstance(two, Number):  # of Python or of NumPy
        return bool(one == two) or one != one
    if type(one) is not type(two):
        return False
    if sp.issparse(one):
        return one.shape == two.shape and not (one != two).nnz
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[name], two[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(same(*pair) for pair in zip(one, two, strict=True))
    if dataclasses.is_dataclass(one):
        fields = [field.name for field in dataclasses.fields(one)]
        return all(same(getattr(one, name), getattr(two, name)) for name in fields)
    if hasattr(one, "__dict__"):
        return same(vars(one), vars(two))
    return bool(one == two)


def state(model):
    """Parameters and fitted values of a model that a call on it must not change, as copies."""
    kept = {}
    for name, value in vars(model).items():
        if name in CHANGED_BY_CUT or name == "_kept" or callable(value):
            continue
        if name == "history_":
            kept[name] = len(value)  # the records have times
        else:
            kept[name] = np.asarray(value) if type(value).__module__.startswith("dask") else copy.deepcopy(value)
    return kept


def differences(before, after):
    """Names of values that differ between two states."""
    return sorted(name for name in before.keys() | after.keys() if not same(before.get(name), after.get(name)))
