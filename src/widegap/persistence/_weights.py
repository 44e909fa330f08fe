"""Whether the weights of a model fit each other: compiled loops, which trust them, do not look."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from widegap.features._kernels import holds_values, may_be_stored
from widegap.persistence._archive import DamagedModelError
from widegap.rows._sources import row_blocks

MAX_TRIAL_COLUMNS = 1_000_000  # the row that tries a model out must not be what takes the memory


def check_weights(model: Any) -> None:
    """Refuse a model whose weights are missing, do not fit each other, or are not finite."""
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
    elif hasattr(kernel_map, "kernels"):  # several side by side
        require(sum(kernel_map.sizes) == width, f"its kernels have {sum(kernel_map.sizes)} features, coef_ has {width}")
        for name in ("kernel_weights_", "kernel_margins_"):
            values = getattr(model, name)
            fits = _is_vector(values, len(kernel_map.kernels)) and _is_finite(values)
            require(fits, f"{name} does not fit its {len(kernel_map.kernels)} kernels")
        for kernel in kernel_map.active:
            _check_source(kernel, model)
            check_kernel_map(kernel.map, kernel.n_features)
    else:
        check_kernel_map(kernel_map, model.n_features_in_)
        require(kernel_map.projection.shape[1] == width, f"its kernel has other features than the {width} of coef_")


def try_out(model: Any) -> None:
    """Predict one row of zeros, for what no check above has thought of."""
    stack = model.kernel_map_ if hasattr(model.kernel_map_, "kernels") else None
    if getattr(model, "_has_views", False):
        views = {kernel.source: kernel for kernel in stack.kernels}
        if all(kernel.transformer is None and kernel.n_features <= MAX_TRIAL_COLUMNS for kernel in views.values()):
            model.predict({view: np.zeros((1, kernel.n_features)) for view, kernel in views.items()})
    elif model.n_features_in_ <= MAX_TRIAL_COLUMNS:
        model.predict(row_blocks(np.zeros((1, model.n_features_in_))))


def _check_source(kernel: Any, model: Any) -> None:
    """Refuse a kernel that looks at columns that there are not, or would call something."""
    require(kernel.transformer is None, "a kernel has a transformer, which no model file holds")
    if getattr(model, "_has_views", False):
        require(isinstance(kernel.source, str), "a kernel does not name its view")
        return
    n, source = model.n_features_in_, kernel.source
    if source is None:
        require(kernel.n_features == n, f"a kernel has {kernel.n_features} columns, not {n}")
        return
    whole = isinstance(source, np.ndarray) and source.shape == (kernel.n_features,) and source.dtype.kind == "i"
    require(whole and ((source >= 0) & (source < n)).all(), f"the columns of a kernel are not among the {n}")


def check_kernel_map(kernel_map: Any, n_features: int) -> None:
    """Refuse a map whose landmarks, projection and columns do not fit each other."""
    landmarks, projection = kernel_map.landmarks, kernel_map.projection
    require(may_be_stored(kernel_map.kernel, kernel_map.params), f"it asks for the kernel {kernel_map.kernel!r:.40}")
    n_landmarks = landmarks.shape[0] if _is_table(landmarks) else -1
    require(projection.ndim == 2 and len(projection) == n_landmarks, "its projection does not fit its landmarks")
    if holds_values(kernel_map.kernel):
        require(landmarks.ndim == 1 and landmarks.dtype.kind == "i", "its landmarks are no numbers of columns")
        inside = ((landmarks >= 0) & (landmarks < n_features)).all()
        require(inside, f"its landmarks are not among the {n_features} columns")
    else:
        require(landmarks.ndim == 2, "its landmarks are no table")
        width = landmarks.shape[1]
        require(width == n_features, f"its landmarks have {width} columns, not {n_features}")
    for name in ("landmarks", "projection", "weights", "offsets"):
        require(_is_finite(getattr(kernel_map, name)), f"the {name} of its kernel are not all finite numbers")
    for name in ("weights", "offsets"):
        part = getattr(kernel_map, name)
        require(part is None or _is_vector(part, n_features), f"the {name} of its kernel do not fit its columns")


def require(holds: Any, otherwise: str) -> None:
    """Refuse a model; ``otherwise`` says what is wrong with it."""
    if not holds:
        raise DamagedModelError(otherwise)


def _is_table(part: Any) -> bool:
    return sp.issparse(part) or isinstance(part, np.ndarray)


def _is_finite(part: Any) -> bool:
    """Whether all numbers of a table are finite; so is None."""
    if part is None:
        return True
    return _is_table(part) and bool(np.isfinite(part.data if sp.issparse(part) else part).all())


def _table_width(coef: Any, n_scores: int) -> int:
    require(coef.ndim == 2 and len(coef) == n_scores, f"coef_ has shape {coef.shape}, not {n_scores} rows")
    require(coef.dtype.kind == "f" and _is_finite(coef), "coef_ is not all finite numbers")
    return int(coef.shape[1])


def _is_vector(part: Any, length: int) -> bool:
    return part.shape == (length,) and part.dtype.kind == "f"
