"""A fitted model as plain arrays: what its scores are made of, and what follows from them.

For a row x the scores of the k clusters are

    s(x) = constants + sum over parts of F' v(z),        z = unit(scale * x) - shift

where ``unit`` divides by the length if the part asks for it, before or after the shift, and v(z) is

    linear      z itself
    rbf         exp(-gamma |z - l_j|^2)               for every landmark l_j
    poly        (gamma z . l_j + coef0)^degree        for every landmark l_j

or, for a table with categories, codes of its columns (``features/_coded_columns.py``). Landmarks of rbf have the mean
0: their mean is part of the shift, so that squares of large numbers do not cancel. Three rules then read the scores:

    cluster     the number of the largest score. Scores of a tree of bisections are the smallest margins on the way to
                each leaf
    certainty   the largest entry of softmax(s / temperature), where the model has probabilities
    outlier     the largest score is below a least score, or the row is too many radii from the mean of its cluster
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widegap._types import Doubles, Floats, Ints
from widegap.base._clusterer import Clusterer, WeightVectorClusterer
from widegap.exceptions import NotSupportedError
from widegap.features._coded_columns import CodedColumns
from widegap.features._kernel_maps import KernelMap
from widegap.features._kernel_stack import FittedKernel, KernelStack
from widegap.rows._matrices import dense_rows

# scikit-learn's values where the model has none.
POLY_DEGREE = 3.0
POLY_COEF0 = 1.0


@dataclass(frozen=True)
class KernelPart:
    """Kernel values times ``factors``, shape (landmarks, k), or (columns, k) for a linear part without landmarks."""

    kernel: str
    columns: Ints
    scale: Doubles | None
    unit_first: bool
    shift: Doubles | None
    unit_last: bool
    landmarks: Doubles | None
    factors: Doubles
    gamma: float = 1.0
    coef0: float = 0.0
    degree: float = 1.0


@dataclass(frozen=True)
class CodePart:
    """One column of codes: interpolation of ``values`` between the knots, or the sum of those of the raised flags."""

    first: int
    is_category: bool
    knots: Doubles
    values: Doubles


@dataclass(frozen=True)
class Rejection:
    """Which rows are outliers: the largest score below ``below``, or more than ``limits`` away from ``centres``."""

    below: float | None = None
    centres: Doubles | None = None
    limits: Doubles | None = None


@dataclass(frozen=True)
class ScoringPlan:
    """All that ``predict`` of a model needs."""

    n_features: int
    names: tuple[str, ...]
    parts: tuple[KernelPart | CodePart, ...]
    constants: Doubles
    bisected: tuple[int, ...] | None
    temperature: float | None
    rejection: Rejection | None
    classes: tuple[str | None, ...] | None
    numbers: tuple[int, ...] | None

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return len(self.constants) if self.bisected is None else len(self.bisected) + 1


def plan_of(model: Any) -> ScoringPlan:
    """The plan of a fitted estimator; refuses what needs more than one table of numbers."""
    name = type(model).__name__
    if not isinstance(model, Clusterer):
        raise NotSupportedError(
            f"{name} cannot be exported; pass a fitted estimator of widegap, or a pipeline of a TableEncoder and one."
        )
    if not isinstance(model, WeightVectorClusterer):
        raise NotSupportedError(
            f"{name} reads texts and cannot be exported; use widegap.persistence.save, or cluster a table of numbers."
        )
    check_is_fitted(model)
    if getattr(model, "_has_views", False):
        raise NotSupportedError(
            f"This {name} was fitted on several views, and models of views cannot be exported; put the views side by "
            "side in one table, and name the columns of every kernel."
        )
    parts, constants = _parts(model, name)
    if not all(np.isfinite(constants)):
        raise NotSupportedError(f"The scores of this {name} are not finite; fit it again on rescaled columns.")
    found = getattr(model, "feature_names_in_", None)
    names = [f"x{j}" for j in range(model.n_features_in_)] if found is None else map(str, found)
    bisected = getattr(model, "bisected_", None)
    if bisected is not None and len(bisected) == 1:  # one margin f is two scores, whose difference is f
        parts, constants = [_halved(part) for part in parts], np.array([-0.5, 0.5]) * constants
        bisected = None
    return ScoringPlan(
        model.n_features_in_,
        tuple(names),
        tuple(parts),
        constants,
        None if bisected is None else tuple(int(cluster) for cluster in bisected),
        float(model.temperature_) if hasattr(model, "predict_proba") else None,
        _rejection(model),
        _classes(model),
        None if model._numbers is None else tuple(model._numbers.tolist()),
    )


def _halved(part: KernelPart | CodePart) -> KernelPart | CodePart:
    assert isinstance(part, KernelPart)
    return replace(part, factors=part.factors * np.array([-0.5, 0.5]))


def _parts(model: WeightVectorClusterer, name: str) -> tuple[list[KernelPart | CodePart], Doubles]:
    """The parts of the scores, and their constants."""
    W = model.coef_.astype(np.float64)
    b, mean = model._mean_scores.astype(np.float64), model._mean.astype(np.float64)
    columns, found = np.arange(model.n_features_in_), model.kernel_map_
    if found is None:
        if not W.any():  # one cluster: its weights may have the width of features that were never made
            return [], b
        return [KernelPart("linear", columns, None, False, mean, False, None, W.T)], b
    constants = b - W @ mean
    if isinstance(found, CodedColumns):
        return _code_parts(found, W), constants
    if isinstance(found, KernelStack):
        return _stacked_parts(found, W, columns, constants)
    if isinstance(found, KernelMap):
        return [_kernel_part(found, W, columns, repr(found.kernel))], constants
    raise NotSupportedError(f"{name} has features of type {type(found).__name__}, which cannot be exported.")


def _stacked_parts(
    stack: KernelStack, W: Doubles, columns: Ints, constants: Doubles
) -> tuple[list[KernelPart | CodePart], Doubles]:
    """The parts of several kernels on one table."""
    parts: list[KernelPart | CodePart] = []
    end = 0
    for kernel in stack.active:
        assert kernel.map is not None
        own = W[:, end : (end := end + kernel.width)]
        parts.append(_kernel_part(kernel.map, own, _own_columns(kernel, columns), repr(kernel.name)))
    return parts, constants


def _own_columns(kernel: FittedKernel, columns: Ints) -> Ints:
    if kernel.transformer is not None:
        raise NotSupportedError(
            f"Kernel {kernel.name!r} begins with a transformer, {type(kernel.transformer).__name__}, which cannot be "
            "exported; transform the table before the fit."
        )
    return columns if kernel.source is None else columns[np.asarray(kernel.source)]


def _kernel_part(found: KernelMap, W: Doubles, columns: Ints, name: str) -> KernelPart:
    """One kernel, with the product of its own weights and W."""
    if callable(found.kernel):
        raise NotSupportedError(
            f"Kernel {name} is a function of your own, which cannot be exported; use 'linear', 'rbf', 'poly' or "
            "'cosine'."
        )
    if found.kernel not in ("linear", "cosine", "rbf", "poly"):
        raise NotSupportedError(
            f"Kernel {name} is {found.kernel!r}: its rows hold values of a kernel with the fitted rows, so that new "
            "rows alone have no scores. Fit with 'linear', 'rbf', 'poly' or 'cosine' to export the model."
        )
    factors = found.projection.astype(np.float64) @ W.T
    marks = np.asarray(dense_rows(found.landmarks, slice(None)), np.float64)
    scale = None if found.weights is None else found.weights.astype(np.float64)
    shift = None if found.offsets is None else found.offsets.astype(np.float64)
    common = (columns, scale, found.unit_rows)
    if found.kernel == "linear":
        return KernelPart("linear", *common, shift, False, None, marks.T @ factors)
    if found.kernel == "cosine":
        return KernelPart("linear", *common, shift, True, None, _unit(marks).T @ factors)
    gamma = float(found.params["gamma"])
    if found.kernel == "poly":
        degree = float(found.params.get("degree", POLY_DEGREE))
        return KernelPart(
            "poly", *common, shift, False, marks, factors, gamma, float(found.params.get("coef0", POLY_COEF0)), degree
        )
    centre = marks.mean(axis=0)
    return KernelPart(
        "rbf", *common, centre if shift is None else shift + centre, False, marks - centre, factors, gamma
    )


def _unit(rows: Doubles) -> Doubles:
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0), np.float64)


def _code_parts(coding: CodedColumns, W: Doubles) -> list[KernelPart | CodePart]:
    ends = coding.ends
    return [
        CodePart(code.first, code.is_category, code.knots.astype(np.float64), code.weight * W[:, left:right].T)
        for code, left, right in zip(coding.columns, ends, ends[1:], strict=False)
    ]


def _rejection(model: WeightVectorClusterer) -> Rejection | None:
    if hasattr(model, "reject_below_"):
        least = float(model.reject_below_)
        return Rejection(below=least if np.isfinite(least) else None)
    if hasattr(model, "reject_beyond_"):
        beyond = float(model.reject_beyond_)
        limits = beyond * np.asarray(model._radii, np.float64)
        if not np.isfinite(beyond):
            return Rejection()
        return Rejection(centres=np.asarray(model._centres, np.float64), limits=limits)
    return None


def _classes(model: Any) -> tuple[str | None, ...] | None:
    """The known label of every cluster, as a text; None if no labels were known."""
    found = getattr(model, "classes_", None)
    if found is None or all(name is None for name in found):
        return None
    return tuple(None if name is None else str(name) for name in found)


def plain_tree(value: Any) -> Any:
    """A plan as dicts, lists, numbers, texts and arrays."""
    if hasattr(value, "__dataclass_fields__"):
        fields = {name: plain_tree(getattr(value, name)) for name in value.__dataclass_fields__}
        return {"kind": type(value).__name__, **fields}
    if isinstance(value, Mapping):
        return {str(key): plain_tree(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [plain_tree(entry) for entry in value]
    return value


def n_values(plan: ScoringPlan) -> tuple[int, int]:
    """How many landmarks a plan has, and how many numbers in all."""
    marks = [part.landmarks for part in plan.parts if isinstance(part, KernelPart) and part.landmarks is not None]
    arrays: list[Floats] = [*marks]
    arrays += [part.factors if isinstance(part, KernelPart) else part.values for part in plan.parts]
    return sum(len(rows) for rows in marks), sum(rows.size for rows in arrays)
