"""Which estimators there are: the public ones, imported when needed, and those that the program has defined.

Importing this module imports nothing heavy, and no function here imports what the table of public names does not list.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

# The module of a public estimator, and its ``_command``, which ``--help`` shows without importing the class.
ESTIMATORS: dict[str, tuple[str, str | None]] = {
    "CPM3C": ("cutting_plane._cpm3c", "cpm3c"),
    "DocumentClustering": ("documents._document_clustering", None),
    "GMMC": ("sdp._gmmc", None),
    "IterLSSVM": ("iterative._iterative", "iter-lssvm"),
    "IterSVM": ("iterative._iterative", "iter-svm"),
    "IterSVR": ("iterative._iterative", "iter-svr"),
    "M2DCU": ("cutting_plane._m2dcu", None),
    "MKC": ("cutting_plane._mkc", "mkc"),
    "MMC": ("sdp._mmc", None),
    "MaxMarginClustering": ("forest._max_margin", "max-margin"),
}


def public_class(name: str) -> Any:
    """The estimator of a public name."""
    return getattr(import_module(f"widegap.{ESTIMATORS[name][0]}"), name)


def estimator_class(name: str) -> Any:
    """The class that a model file means by a name: public, or defined by the program; None if there is none."""
    if name in ESTIMATORS:
        return public_class(name)
    return {stored_name(cls): cls for cls in _loaded()}.get(name)


def stored_name(cls: type) -> str:
    """The name of an estimator's class in a model file."""
    is_public = cls.__name__ in ESTIMATORS and cls is public_class(cls.__name__)
    return cls.__name__ if is_public else f"{cls.__module__}.{cls.__qualname__}"


def command_names() -> list[str]:
    """Names of ``widegap cluster --method``, the public ones first."""
    public = [command for _, command in ESTIMATORS.values() if command is not None]
    return list(dict.fromkeys([*public, *(cls._command for cls in _loaded() if cls._command is not None)]))


def command_class(command: str) -> Any:
    """The estimator of a name of the command line."""
    for name, (_, found) in ESTIMATORS.items():
        if found == command:
            return public_class(name)
    return {cls._command: cls for cls in _loaded()}[command]


def _loaded() -> Iterator[Any]:
    """All subclasses of the common base that some module has defined so far."""
    base = sys.modules.get("widegap.base._clusterer")
    found = [] if base is None else [base.Clusterer]
    while found:
        children = found.pop(0).__subclasses__()
        yield from children
        found.extend(children)
