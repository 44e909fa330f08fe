"""What is measured: a method on a data set with given settings and seeds."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from experiments import versions

SEEDS = 5
ORDERS = "#orders"  # ends the name of a data set whose rows come in another order in every run


class RefusedError(Exception):
    """A method cannot take such data; the message, with the reason, stands in the cell."""


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


def code_version(cell: Cell) -> str:
    """The version of the code that a cell's figures depend on."""
    return versions.code_version(METHODS[cell.method].run, TASKS[family(cell)])


def missing_packages(cell: Cell) -> list[str]:
    """Packages that a cell's method names and that are not installed here."""
    return versions.missing_packages(METHODS[cell.method].run)
