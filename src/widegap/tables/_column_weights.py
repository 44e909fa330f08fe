"""Weights of columns: a squared distance counts the column as often as its weight says.

The distance of two rows is a sum over columns, sum_j w_j (x_j - y_j)^2, so all features of column j are multiplied by
the root of w_j. A weight of 0 leaves a column out.
"""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from widegap._types import Floats
from widegap.exceptions import InvalidDataError
from widegap.tables._columns import Column
from widegap.tables._frames import nearest


def check_column_weights(weights: Mapping[Any, Any] | None, names: list[str]) -> dict[str, float]:
    """The weights by name; refuses columns that are not in the table, and what is not a number from 0 up."""
    found = {str(name): weight for name, weight in (weights or {}).items()}
    for name, weight in found.items():
        if name not in names:
            raise InvalidDataError(f"weights names {name!r}, which is not a column; {nearest(name, names)}")
        if isinstance(weight, bool | np.bool_) or not isinstance(weight, Real) or not 0 <= float(weight) < np.inf:
            raise InvalidDataError(
                f"The weight of column {name!r} is {weight!r}, but weights are finite numbers above 0, or 0 to leave "
                "the column out; change it."
            )
    return {name: float(weight) for name, weight in found.items()}


def weighted_factors(factors: Floats | None, columns: list[Column], weights: Mapping[str, float]) -> Floats | None:
    """The factors of all features, times the root of the weight of the column they come from."""
    if all(weights.get(column.name, 1.0) == 1 for column in columns if column.used):
        return factors
    roots = np.array([np.sqrt(weights.get(column.name, 1.0)) for column in columns for _ in column.names])
    return roots if factors is None else factors * roots


def notes_on_weights(columns: list[Column], weights: Mapping[str, float]) -> list[str]:
    """Notes on weights of columns that are not used anyway."""
    unused = [column for column in columns if not column.used and weights.get(column.name, 0.0) > 0]
    return [
        f"The weight of column {column.name!r} has no effect, as the column is not used ({column.why}); name it in "
        "numeric or categorical to use it."
        for column in unused
    ]
