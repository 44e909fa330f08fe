"""Whether a value is of the type that a class declares for an attribute."""

from collections.abc import Callable, Mapping, Sequence, Set
from types import UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np

# Exact types of JSON: isinstance takes True for an int, but it is not a number of clusters.
NUMBERS: dict[object, tuple[type, ...]] = {int: (int,), float: (int, float), bool: (bool,)}


def fits(value: object, kind: Any) -> bool:
    """Whether a value from a file is of a declared type, as deep as the type goes."""
    kind = _without_aliases(kind)
    arguments = get_args(kind)
    origin = get_origin(kind) or kind
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in arguments)
    if origin is Any:
        return True
    if origin is Callable:
        return False
    if origin in NUMBERS:
        return type(value) in NUMBERS[origin]
    if origin is None or not isinstance(value, origin):
        return origin is None and value is None
    return _contents_fit(value, arguments)


def _without_aliases(kind: Any) -> Any:
    """The type behind a ``type`` statement of Python 3.12, by which NumPy defines NDArray there."""
    while hasattr(alias := get_origin(kind) or kind, "__value__"):
        kind = alias.__value__[get_args(kind)] if get_args(kind) else alias.__value__
    return kind


def _contents_fit(value: object, arguments: tuple[Any, ...]) -> bool:
    """Whether the contents of an array or a container are of the types in its brackets."""
    if isinstance(value, np.ndarray):
        scalars = get_args(arguments[1]) if len(arguments) == 2 else (Any,)
        return all(one is Any or np.issubdtype(value.dtype, get_origin(one) or one) for one in scalars)
    if isinstance(value, Mapping) and len(arguments) == 2:
        return all(fits(key, arguments[0]) and fits(item, arguments[1]) for key, item in value.items())
    if isinstance(value, tuple) and arguments and arguments[-1] is not Ellipsis:
        return len(value) == len(arguments) and all(map(fits, value, arguments))
    if isinstance(value, Sequence | Set) and not isinstance(value, str) and arguments:
        return all(fits(item, arguments[0]) for item in value)
    return True
