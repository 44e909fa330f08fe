"""What is measured: a method on a data set with given settings and seeds, and the version of the code behind it."""

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import packages_distributions, version
from typing import Any

from experiments.sources import Sources, Symbol

SEEDS = 5
SOURCES = Sources.read()
JUDGE = Symbol("experiments.judge", "judge")
DRAW = Symbol("experiments.runner", "drawn_rows")
ORDER = Symbol("experiments.runner", "row_order")
ORDERS = "#orders"  # ends the name of a data set whose rows come in another order in every run
# Hand data and labels on as they are, or hold texts of docstrings.
FRAME = ("experiments.cells", "experiments.runner", "widegap.base._docs")
ARRAYS = {"numpy", "scipy"}  # arithmetic, whose versions are not told apart


@dataclass(frozen=True)
class Task:
    """Rows to cluster, their classes (for the judge alone), and what some methods use besides.

    ``counts`` are non-negative rows for topic models, ``rest`` rows that belong to no class, ``documents`` the texts,
    ``frame`` the table that X was encoded from.
    The judge looks at the rows that ``scored`` marks, all by default. ``further(y, labels)`` gives scores in addition
    to the judge's.
    """

    X: Any
    y: Any
    counts: Any = None
    rest: Any = None
    documents: Any = None
    frame: Any = None
    n_clusters: int = 0
    scored: Any = None
    further: Callable[[Any, Any], dict[str, float]] | None = None

    def __post_init__(self) -> None:
        if not self.n_clusters:
            object.__setattr__(self, "n_clusters", len(set(self.y.tolist())))


@dataclass(frozen=True)
class Outcome:
    """Labels that a method found, and figures of its own (JSON-able) that the judge cannot compute from them."""

    labels: Any
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """``run(task, seed, **settings)`` gives labels or an Outcome."""

    run: Callable[..., Any]
    seeded: bool


@dataclass(frozen=True)
class Cell:
    """One measurement; ``settings`` are pairs, so that cells can be compared and hashed."""

    data: str
    method: str
    settings: tuple[tuple[str, Any], ...] = ()
    seeds: int = SEEDS

    @classmethod
    def of(cls, data: str, method: str, seeds: int = SEEDS, **settings: Any) -> "Cell":
        return cls(data, method, tuple(sorted(settings.items())), seeds)


TASKS: dict[str, Callable[[str], Task]] = {}
METHODS: dict[str, Method] = {}


def task(name: str) -> Callable[[Callable[[str], Task]], Callable[[str], Task]]:
    """Register a loader: it gets what stands behind the slash of a data set's name, "3-8" of "digits/3-8"."""

    def register(load: Callable[[str], Task]) -> Callable[[str], Task]:
        TASKS[name] = load
        return load

    return register


def method(name: str, *, seeded: bool = True) -> Callable[[Any], Any]:
    """Register a method; one that is not seeded runs once."""

    def register(run: Callable[..., Any]) -> Callable[..., Any]:
        METHODS[name] = Method(run, seeded)
        return run

    return register


def family(cell: Cell) -> str:
    """The name of the loader behind a cell's data set: "digits" of "digits/3-8@50each"."""
    return cell.data.removesuffix(ORDERS).split("/")[0].split("@")[0]


def code_version(cell: Cell, sources: Sources = SOURCES) -> str:
    """Digest of the code that a cell's figures depend on, comments and docstrings aside.

    This is the code behind the functions that load the data, run the method and judge its labels, followed through
    widegap and the experiments, and the versions of the packages that the method itself names, as for methods of
    others.
    """
    arranged = *([DRAW] if "@" in cell.data else []), *([ORDER] if cell.data.endswith(ORDERS) else [])
    return _version(_symbol(TASKS[family(cell)]), _symbol(METHODS[cell.method].run), arranged, sources)


@cache
def _version(load: Symbol, run: Symbol, arranged: tuple[Symbol, ...], sources: Sources) -> str:
    start = [load, run, JUDGE, *arranged]
    versions = [f"{package} {found}" for package, found in _versions(run, sources).items()]
    return hashlib.sha256("\0".join([*sources.closure(start, FRAME).code, *versions]).encode()).hexdigest()[:12]


def missing_packages(cell: Cell, sources: Sources = SOURCES) -> list[str]:
    """Packages that a cell's method names and that are not installed here."""
    return [name for name, found in _versions(_symbol(METHODS[cell.method].run), sources).items() if found is None]


@cache
def _versions(run: Symbol, sources: Sources) -> dict[str, str | None]:
    """The packages that a method itself names, and their versions."""
    named = sources.closure([run], (*FRAME, "widegap")).packages - set(sys.stdlib_module_names) - ARRAYS
    return {package: _installed(package) for package in sorted(named)}


def _symbol(function: Callable[..., Any]) -> Symbol:
    return Symbol(function.__module__, function.__name__)


@cache
def _installed(package: str) -> str | None:
    """The version of a package by the name it is imported under."""
    names = _distributions().get(package)
    return version(names[0]) if names else None


_distributions = cache(packages_distributions)
