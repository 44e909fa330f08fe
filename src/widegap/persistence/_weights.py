"""Whether the weights of a model match each other: compiled loops do not check them."""

from typing import TypeGuard

import numpy as np
import scipy.sparse as sp

from widegap._types import Floats, Indices, Matrix
from widegap.base._clusterer import WeightVectorClusterer
from widegap.features._coded_columns import CodedColumns
from widegap.features._kernel_maps import KernelMap
from widegap.features._kernel_stack import FittedKernel, KernelStack
from widegap.features._kernels import holds_values, may_be_stored
from widegap.persistence._archive import DamagedModelError
from widegap.rows._sources import row_blocks

MAX_TRIAL_COLUMNS = 1_000_000  # a trial row of 8 MB at most, so that it is not what takes the memory; not tuned


def check_weights(model: WeightVectorClusterer) -> None:
    """Refuse a model whose weights are missing, do not match each other, or are not finite."""
    width = _table_width(model.coef_, model._n_score_vectors)
    for name, length in (("intercept_", len(model.coef_)), ("_mean_scores", len(model.coef_)), ("_mean", width)):
        require(
            _is_vector(getattr(model, name), length), f"{name} does not fit coef_, whose shape is {model.coef_.shape}"
        )
        require(_is_finite(getattr(model, name)), f"{name} is not all finite numbers")
    kernel_map = model.kernel_map_
    if kernel_map is None:
        require(
            width == model.n_features_in_, f"coef_ has {width} columns, but n_features_in_ is {model.n_features_in_}"
        )
    elif isinstance(kernel_map, CodedColumns):
        check_coded_columns(kernel_map, model.n_features_in_)
        require(kernel_map.n_codes == width, f"its columns have {kernel_map.n_codes} codes, coef_ has {width}")
    elif isinstance(kernel_map, KernelStack):
        require(sum(kernel_map.sizes) == width, f"its kernels have {sum(kernel_map.sizes)} features, coef_ has {width}")
        for name in ("kernel_weights_", "kernel_margins_"):
            values = getattr(model, name)
            fits = _is_vector(values, len(kernel_map.kernels)) and _is_finite(values)
            require(fits, f"{name} does not fit its {len(kernel_map.kernels)} kernels")
        for kernel in kernel_map.active:
            _check_source(kernel, model)
            assert kernel.map is not None
            check_kernel_map(kernel.map, kernel.n_features)
    else:
        assert isinstance(kernel_map, KernelMap)
        check_kernel_map(kernel_map, model.n_features_in_)
        require(kernel_map.projection.shape[1] == width, f"its kernel has other features than the {width} of coef_")


def try_out(model: WeightVectorClusterer) -> None:
    """Predict one row of zeros, for faults that no check above finds."""
    kernel_map = model.kernel_map_
    if isinstance(kernel_map, KernelStack) and getattr(model, "_has_views", False):
        views = {str(kernel.source): kernel for kernel in kernel_map.kernels}
        if all(kernel.transformer is None and kernel.n_features <= MAX_TRIAL_COLUMNS for kernel in views.values()):
            model.predict({view: np.zeros((1, kernel.n_features)) for view, kernel in views.items()})
    elif model.n_features_in_ <= MAX_TRIAL_COLUMNS:
        model.predict(row_blocks(np.zeros((1, model.n_features_in_))))


def _check_source(kernel: FittedKernel, model: WeightVectorClusterer) -> None:
    """Refuse a kernel on missing columns, or one that would call a transformer."""
    require(kernel.transformer is None, "a kernel has a transformer, which no model file holds")
    if getattr(model, "_has_views", False):
        require(isinstance(kernel.source, str), "a kernel does not name its view")
        return
    n, source = model.n_features_in_, kernel.source
    if source is None:
        require(kernel.n_features == n, f"a kernel has {kernel.n_features} columns, not {n}")
        return
    whole = isinstance(source, np.ndarray) and source.shape == (kernel.n_features,) and source.dtype.kind == "i"
    inside = isinstance(source, np.ndarray) and bool(((source >= 0) & (source < n)).all())
    require(whole and inside, f"the columns of a kernel are not among the {n}")


def check_coded_columns(coded: CodedColumns, n_features: int) -> None:
    """Refuse codes of columns that are not there, or whose knots are no ascending numbers."""
    for code in coded.columns:
        require(0 <= code.first < code.stop <= n_features, f"it codes columns that are not among the {n_features}")
        require(_is_vector(code.knots, len(code.knots)) and len(code.knots) > 1, "the knots of a column are no list")
        width = len(code.knots) if code.is_category else 1
        require(code.stop - code.first == width, "the knots of a column do not fit its columns")
        require(code.weight > 0 and np.isfinite(code.weight), f"the weight of a column is {code.weight}")
        if not code.is_category:
            require(
                _is_finite(code.knots) and bool((np.diff(code.knots) > 0).all()), "the knots of a column do not rise"
            )


def check_kernel_map(kernel_map: KernelMap, n_features: int) -> None:
    """Refuse a map whose landmarks, projection and columns do not match each other."""
    landmarks: Matrix | Indices = kernel_map.landmarks
    projection = kernel_map.projection
    require(may_be_stored(kernel_map.kernel, kernel_map.params), f"it asks for the kernel {kernel_map.kernel!r:.40}")
    n_landmarks = landmarks.shape[0] if _is_table(landmarks) else -1
    require(projection.ndim == 2 and len(projection) == n_landmarks, "its projection does not fit its landmarks")
    if holds_values(kernel_map.kernel):
        numbers = landmarks if isinstance(landmarks, np.ndarray) else np.zeros((0, 0))
        require(numbers.ndim == 1 and numbers.dtype.kind == "i", "its landmarks are not numbers of columns")
        inside = bool(((numbers >= 0) & (numbers < n_features)).all())
        require(inside, f"its landmarks are not among the {n_features} columns")
    else:
        require(landmarks.ndim == 2, "its landmarks are not a table")
        width = landmarks.shape[1]
        require(width == n_features, f"its landmarks have {width} columns, not {n_features}")
    for name in ("landmarks", "projection", "weights", "offsets"):
        require(_is_finite(getattr(kernel_map, name)), f"the {name} of its kernel are not all finite numbers")
    for name in ("weights", "offsets"):
        part = getattr(kernel_map, name)
        require(part is None or _is_vector(part, n_features), f"the {name} of its kernel do not fit its columns")


def require(holds: bool, otherwise: str) -> None:
    """Refuse a model unless something holds; ``otherwise`` is the fault."""
    if not holds:
        raise DamagedModelError(otherwise)


def _is_table(part: object) -> TypeGuard[Matrix]:
    return isinstance(part, np.ndarray | sp.csr_array)


def _is_finite(part: object) -> bool:
    """Whether all numbers of a table are finite; so is None."""
    if part is None:
        return True
    return _is_table(part) and bool(np.isfinite(part if isinstance(part, np.ndarray) else part.data).all())


def _table_width(coef: Floats, n_scores: int) -> int:
    require(coef.ndim == 2 and len(coef) == n_scores, f"coef_ has shape {coef.shape}, not {n_scores} rows")
    require(coef.dtype.kind == "f" and _is_finite(coef), "coef_ is not all finite numbers")
    return int(coef.shape[1])


def _is_vector(part: Floats, length: int) -> bool:
    return part.shape == (length,) and part.dtype.kind == "f"
