"""The decisions of an encoder as plain values for a model file, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from widegap.exceptions import InvalidDataError
from widegap.tables._column_weights import check_column_weights
from widegap.tables._columns import Column
from widegap.tables._encoder import TableEncoder
from widegap.tables._number_units import SPELLINGS
from widegap.tables._text_topics import Topics


def to_json(encoder: TableEncoder) -> dict[str, Any]:
    """The parameters and decisions of a fitted encoder."""
    parameters = encoder.get_params()
    if encoder.weights is not None:
        parameters["weights"] = {str(name): float(weight) for name, weight in encoder.weights.items()}
    return {
        "parameters": {name: list(value) if isinstance(value, tuple) else value for name, value in parameters.items()},
        "columns": None if encoder.columns_ is None else [asdict(column) for column in encoder.columns_],
        "factors": None if encoder.factors_ is None else encoder.factors_.tolist(),
        "scaling": encoder.scaling_,
        "n_features_in": encoder.n_features_in_,
        "n_features_out": encoder.n_features_out_,
    }


def from_json(state: Mapping[str, Any]) -> TableEncoder:
    """An encoder from what ``to_json`` gave; refuses what does not fit together."""
    try:
        found = TableEncoder(**state["parameters"])
        found._validate_params()
        found.columns_ = None if state["columns"] is None else [_column_from(column) for column in state["columns"]]
        found.factors_ = None if state["factors"] is None else np.array(state["factors"], dtype=np.float64)
        found.scaling_ = str(state["scaling"])
        found.n_features_in_, found.n_features_out_ = int(state["n_features_in"]), int(state["n_features_out"])
        if found.columns_ is not None:
            found.feature_names_in_ = np.array([column.name for column in found.columns_], dtype=object)
            check_column_weights(found.weights, [column.name for column in found.columns_])
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise InvalidDataError(f"The model file does not say how to read its table ({error}); fit it again.") from error
    found._check_stored()
    return found


def _column_from(state: Mapping[str, Any]) -> Column:
    """A column from plain values, as a model file holds them."""
    topics = None if state["topics"] is None else Topics(**state["topics"])
    found = Column(**{**state, "topics": topics})
    texts = (found.name, found.read_as, found.why, found.change, found.decimal, found.form, found.origin, found.unit)
    if not isinstance(found.levels, list) or not isinstance(found.parts, list) or type(found.used) is not bool:
        raise TypeError("lists and a truth value are expected in columns")
    if not all(isinstance(text, str) for text in (*texts, *found.levels, *found.parts)):
        raise TypeError("texts are expected in columns")
    if topics is not None:
        topics.check()
    if found.used and not _can_be_read(found):
        raise ValueError(f"column {found.name!r:.40} cannot be read as {found.read_as!r:.40}")
    return found


def _can_be_read(column: Column) -> bool:
    """Whether a column has what its kind needs to become numbers."""
    if column.topics is not None or column.read_as == "category":
        return True
    if column.read_as == "date" and not column.parts:
        np.datetime64(column.origin, "D")  # raises ValueError if it is not a date
    is_number = column.decimal in (".", ",") and column.unit in ("", *SPELLINGS)
    kinds = {"number": is_number, "yes/no": len(column.levels) == 2, "date": True, "time": True}
    return type(column.fill) in (int, float) and kinds.get(column.read_as, False)
