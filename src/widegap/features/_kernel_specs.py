"""What a user may write for a kernel, and what it means: a name, a kernel, its parameters and its source."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widegap._types import Array, Indices
from widegap.exceptions import InvalidDataError
from widegap.features._kernels import KERNELS, WIDTH_RULES, check_arguments, is_positive


@dataclass(frozen=True)
class KernelSpec:
    """One kernel of a user's list; ``source`` holds column numbers, the key of a view, or None for all of X."""

    name: str
    kernel: Any
    params: Mapping[str, Any] = field(default_factory=dict)
    source: Any = None

    @property
    def is_transformer(self) -> bool:
        """Whether it makes features itself."""
        return _is_transformer(self.kernel)


@dataclass(frozen=True)
class TableColumns:
    """The columns that kernels may ask for: their number, and their names if X is a frame."""

    count: int
    names: Sequence[str] | None


def read_specs(kernels: Any, X: Sequence[str] | TableColumns) -> list[KernelSpec]:
    """The kernels of the parameter ``kernels``, for the columns of a table or the keys of the views.

    A kernel without a source of its own applies to the whole table, or to every view in turn.
    """
    if not len(kernels):
        raise InvalidDataError(f"kernels is empty; list at least one kernel: {_forms()}.")
    specs: list[KernelSpec] = []
    for entry in kernels:
        if isinstance(entry, tuple) and len(entry) == 3:
            specs.append(_placed(*entry, X))
        else:
            kernel, params = _kernel_and_params(entry)
            label = _label(kernel)
            places: list[tuple[str, str | None]] = [(label, None)]
            if not isinstance(X, TableColumns):
                places = [(f"{view}:{label}", view) for view in X]
            specs += [KernelSpec(_free_name(name, specs), kernel, params, source) for name, source in places]
    names = [spec.name for spec in specs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidDataError(
            f"kernels uses the name {repeated[0]!r} {names.count(repeated[0])} times; give every kernel its own name."
        )
    return specs


def raw_views(uses: Iterable[tuple[str, bool]]) -> set[str]:
    """The views that only transformers look at, from pairs of a view and whether a transformer looks at it."""
    uses = list(uses)
    return {view for view, _ in uses} - {view for view, by_transformer in uses if not by_transformer}


def _placed(name: Any, kernel: Any, place: Any, X: Sequence[str] | TableColumns) -> KernelSpec:
    """The spec of a triple."""
    if not isinstance(name, str):
        raise InvalidDataError(f"kernels holds a triple that begins with {name!r}; it must begin with its own name.")
    kernel, params = _kernel_and_params(kernel)
    if isinstance(X, TableColumns):
        return KernelSpec(name, kernel, params, _column_numbers(name, place, X))
    if not isinstance(place, str) or place not in X:
        raise InvalidDataError(
            f"Kernel {name!r} looks at the view {place!r}, but X holds {', '.join(map(repr, X))}; name one of them."
        )
    return KernelSpec(name, kernel, params, place)


def _kernel_and_params(entry: Any) -> tuple[Any, dict[str, Any]]:
    kernel, params = entry, {}
    if isinstance(entry, tuple) and len(entry) == 2:
        kernel, params = entry[0], entry[1]
    if not isinstance(params, Mapping) or not _is_kernel(kernel):
        raise InvalidDataError(f"kernels holds {entry!r}, which is not a kernel; use {_forms()}.")
    if isinstance(kernel, str):
        known = KERNELS[kernel]
        valid = {*known.params, *known.widths}
        unknown = sorted(map(str, params.keys() - valid))
        if unknown:
            raise InvalidDataError(
                f"kernels holds {entry!r}, but kernel {kernel!r} takes "
                f"{' and '.join(map(repr, sorted(valid))) or 'no parameters'}; leave out {', '.join(unknown)}."
            )
        check_arguments(f"kernels holds {entry!r}, but", known, params)
        _check_widths(entry, params)
    return kernel, dict(params)


def _check_widths(entry: Any, params: Mapping[str, Any]) -> None:
    widths = [params[name] for name in ("gamma", "width") if name in params]
    by_rule = isinstance(params.get("gamma"), str) and params["gamma"] in WIDTH_RULES
    if len(widths) > 1 or not (by_rule or all(map(is_positive, widths))):
        rules = " or ".join(map(repr, WIDTH_RULES))
        raise InvalidDataError(
            f"kernels holds {entry!r}; give gamma or width, not both, as a positive number (gamma also as {rules})."
        )


def _forms() -> str:
    """What a kernel may be, in words."""
    return (
        f"a name ({', '.join(map(repr, KERNELS))}), (name, parameters), a function of two tables, a transformer, or "
        "(own name, one of these, columns or view)"
    )


def _is_transformer(kernel: object) -> bool:
    return hasattr(kernel, "fit") and hasattr(kernel, "transform")


def _is_kernel(kernel: object) -> bool:
    return kernel in KERNELS if isinstance(kernel, str) else callable(kernel) or _is_transformer(kernel)


def _label(kernel: object) -> str:
    """The name of a kernel that the user has not named."""
    if isinstance(kernel, str):
        return kernel
    return type(kernel).__name__.lower() if _is_transformer(kernel) else getattr(kernel, "__name__", "kernel")


def _free_name(name: str, specs: Sequence[KernelSpec]) -> str:
    """The name, with a number from the second kernel of that name on."""
    taken = {spec.name for spec in specs}
    number = 2
    candidate = name
    while candidate in taken:
        candidate, number = f"{name}-{number}", number + 1
    return candidate


def _column_numbers(name: str, place: Any, table: TableColumns) -> Indices:
    """Column numbers from numbers, a mask, a slice or column names."""
    if not isinstance(place, slice):
        place = np.atleast_1d(np.asarray(place))
        if place.dtype.kind in "UO":
            place = _numbers_of_names(name, place, table)
    try:
        numbers = np.arange(table.count)[place]
    except IndexError as error:
        raise InvalidDataError(
            f"Kernel {name!r} asks for the columns {place!r}, but X has {table.count}; list column numbers from 0 to "
            f"{table.count - 1}, names, a mask or a slice."
        ) from error
    if numbers.ndim != 1 or not numbers.size:
        raise InvalidDataError(f"Kernel {name!r} asks for the columns {place!r}, an empty list; list at least one.")
    return numbers


def _numbers_of_names(name: str, place: Array, table: TableColumns) -> Indices:
    known = [] if table.names is None else list(table.names)
    missing = [column for column in place if column not in known]
    if missing:
        raise InvalidDataError(
            f"Kernel {name!r} asks for column {str(missing[0])!r}, but X has "
            f"{'the columns ' + ', '.join(map(repr, known)) if known else 'no column names'}; use column numbers or "
            "names of X's columns. Views by name need X to be a dict."
        )
    return np.array([known.index(column) for column in place])
