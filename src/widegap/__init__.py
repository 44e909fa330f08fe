"""Maximum margin clustering: the groups that a large-margin classifier would separate best.

Names are imported when they are first used, so that ``widegap --help`` needs neither scikit-learn nor numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from widegap._catalogue import ESTIMATORS, public_class
from widegap.exceptions import NotSupportedError

if TYPE_CHECKING:
    from widegap import (
        datasets,
        describe,
        image,
        metrics,
        persistence,
        plot,
        report,
        rows,
        selection,
        universum,
    )
    from widegap.cutting_plane._cpm3c import CPM3C
    from widegap.cutting_plane._m2dcu import M2DCU
    from widegap.cutting_plane._mkc import MKC
    from widegap.documents._document_clustering import DocumentClustering
    from widegap.explorer import explore
    from widegap.exporting import export
    from widegap.forest._max_margin import MaxMarginClustering
    from widegap.iterative._iterative import IterLSSVM, IterSVM, IterSVR
    from widegap.sdp._gmmc import GMMC
    from widegap.sdp._mmc import MMC
    from widegap.tables._encoder import TableEncoder

__version__ = "0.2.0"
__all__ = [
    "CPM3C",
    "DocumentClustering",
    "GMMC",
    "IterLSSVM",
    "IterSVM",
    "IterSVR",
    "M2DCU",
    "MKC",
    "MMC",
    "MaxMarginClustering",
    "TableEncoder",
    "datasets",
    "describe",
    "explore",
    "export",
    "image",
    "metrics",
    "persistence",
    "plot",
    "report",
    "rows",
    "selection",
    "universum",
]

# Names that are no estimators, and their modules.
_ELSEWHERE = {"explore": "explorer", "export": "exporting", "TableEncoder": "tables"}
_MODULES = tuple(name for name in __all__ if name not in ESTIMATORS and name not in _ELSEWHERE)


if not TYPE_CHECKING:  # a type checker sees the imports above, and no names besides

    def __getattr__(name: str) -> Any:
        if name in ESTIMATORS:
            found = public_class(name)
        elif name in _ELSEWHERE:
            try:
                found = getattr(import_module(f"widegap.{_ELSEWHERE[name]}"), name)
            except NotSupportedError as error:
                return _without_extra(name, error)  # not kept: the extra may be installed while this program runs
        elif name in _MODULES:
            found = import_module(f"widegap.{name}")
        else:
            raise AttributeError(f"module 'widegap' has no attribute {name!r}")
        globals()[name] = found
        return found


def _without_extra(name: str, error: NotSupportedError) -> type:
    """What stands for a name whose extra is missing, so that ``import *`` works: to call it raises the error."""

    def refuse(*_: Any, **__: Any) -> None:
        raise NotSupportedError(str(error)) from error

    return type(name, (), {"__new__": refuse, "__doc__": str(error)})


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})
