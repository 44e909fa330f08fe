"""Factors of the columns of a table, decided once: the estimator gets the scaled rows and scales nothing itself."""

from typing import Any


def column_factors(values: Any, is_flag: Any, scale: str) -> tuple[list[float] | None, list[str]]:
    """Factors of the columns by the rule of ``--scale``, and what to say about them.

    Columns of 0 and 1 keep their scale; columns that vary by no more than the rounding of their numbers get 0.
    """
    import numpy as np
    from sklearn.preprocessing import RobustScaler

    from widegap.data._tables import column_moments, column_weights

    if scale == "none":
        return None, []
    if scale == "auto":
        mixed = bool(is_flag.any() and not is_flag.all())
        found = column_weights(values, True if mixed else "auto")
        if found is not None and np.isin(found, (0.0, 1.0)).all():
            return found.tolist(), ["Columns that differ in their last digits only were left out of account."]
        why = "Beside categories, columns of numbers were" if mixed else "Columns have different units, so each was"
        said = f"{why} divided by the standard deviation (--scale none to keep them)."
    elif scale == "standard":
        found, said = column_weights(values, True), "Columns were divided by their standard deviations."
    elif scale == "minmax":
        found, said = _range_factors(values), "Columns were brought to ranges of length 1."
    else:
        found = 1 / RobustScaler(with_centering=False).fit(values).scale_
        said = "Columns were divided by the ranges of their middle halves."
    if found is None:
        return None, []
    varies = column_moments(values)[1] > 0
    return np.where(is_flag, 1.0, np.where(varies, found, 0.0)).tolist(), [said]


def _range_factors(values: Any) -> Any:
    """1 / range of every column; 1 for constant ones."""
    import numpy as np

    from widegap.data._tables import column_ranges

    low, high = column_ranges(values)
    ranges = np.asarray(high - low, dtype=np.float64)
    return 1 / np.where(ranges > 0, ranges, 1.0)


def scaled(values: Any, factors: list[float] | None) -> Any:
    """The columns of a table times their factors."""
    import numpy as np

    from widegap.data._tables import scale_columns

    return scale_columns(values, None if factors is None else np.asarray(factors))
