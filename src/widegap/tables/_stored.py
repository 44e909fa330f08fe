"""The decisions of an encoder as plain values for a model file, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from widegap.exceptions import InvalidDataError
from widegap.tables._columns import column_from
from widegap.tables._encoder import TableEncoder


def to_json(encoder: TableEncoder) -> dict[str, Any]:
    """The parameters and decisions of a fitted encoder."""
    parameters = encoder.get_params().items()
    return {
        "parameters": {name: list(value) if isinstance(value, tuple) else value for name, value in parameters},
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
        found.columns_ = None if state["columns"] is None else [column_from(column) for column in state["columns"]]
        found.factors_ = None if state["factors"] is None else np.array(state["factors"], dtype=np.float64)
        found.scaling_ = str(state["scaling"])
        found.n_features_in_, found.n_features_out_ = int(state["n_features_in"]), int(state["n_features_out"])
        if found.columns_ is not None:
            found.feature_names_in_ = np.array([column.name for column in found.columns_], dtype=object)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise InvalidDataError(f"The model file does not say how to read its table ({error}); fit it again.") from error
    found._check_stored()
    return found
