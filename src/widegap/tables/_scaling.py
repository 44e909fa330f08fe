"""Factors of the columns of a table, decided once.

Where numbers stand beside categories, or their units clearly differ, numbers are divided by their standard deviation;
flags of 0 and 1 stay, so that two different categories are as far apart as two typical numbers. The topics of a text
are a separate view: one factor for all, so that together they vary as much as all other columns do.
"""

from typing import Any

import numpy as np

from widegap._types import Floats, Mask
from widegap.rows._matrices import column_moments, column_ranges, column_weights, scale_columns

SCALINGS = ("auto", "none", "standard", "minmax", "robust")
SCALING_NOTES = {
    "mixed": "Numbers were divided by their standard deviation, so that they count like categories.",
    "units": "Numbers were divided by their standard deviation, because their units differ.",
    "rounding": "Columns that vary only in their last digits were left out.",
    "standard": "Numbers were divided by their standard deviation.",
    "minmax": "Numbers were divided by their range.",
    "robust": "Numbers were divided by the range of their middle half.",
}


def column_factors(values: Any, is_flag: Mask, view: Mask, scale: str) -> tuple[Floats | None, str]:
    """Factor of every column, or None, and a note for the user. ``view`` marks the columns of topics."""
    if scale == "none":
        return None, ""
    found, reason = _factors(values, is_flag | view, scale)
    if found is None and not view.any():
        return None, ""
    deviations = column_moments(values)[1]
    factors = np.ones(values.shape[1]) if found is None else np.where(deviations > 0, found, 0.0)
    factors = np.where(is_flag | view, 1.0, factors)
    if view.any():
        spread = deviations * factors
        variance = float(np.sum(spread[~view] ** 2)) or 1.0
        factors[view] = np.sqrt(variance / max(float(np.sum(spread[view] ** 2)), 1e-300))
    return factors, SCALING_NOTES.get(reason, "")


def _factors(values: Any, is_flag: Mask, scale: str) -> tuple[Floats | None, str]:
    if scale == "auto":
        mixed = bool(is_flag.any() and not is_flag.all())
        found = column_weights(values, True if mixed else "auto")
        only_drops = found is not None and np.isin(found, (0.0, 1.0)).all()
        return found, "rounding" if only_drops else "mixed" if mixed else "units"
    if scale == "standard":
        return column_weights(values, True), scale
    low, high = column_ranges(values)
    ranges = np.asarray(high - low, dtype=np.float64)
    if scale == "robust":
        from sklearn.preprocessing import RobustScaler

        ranges = RobustScaler(with_centering=False).fit(values).scale_
    return 1 / np.where(ranges > 0, ranges, 1.0), scale


def scaled(values: Any, factors: Floats | None, *, in_place: bool = False) -> Any:
    """The columns of a table times their factors; an array ``in_place`` in its own memory."""
    return (
        np.multiply(values, factors, out=values) if in_place and factors is not None else scale_columns(values, factors)
    )
