"""What is measured: a method on a data set with given settings and seeds, and the version of the code behind it."""

import ast
import hashlib
import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import sklearn

import widegap

SEEDS = 5
ROOT = Path(widegap.__file__).parent
NUMERIC_PACKAGES = ("data", "problems", "solvers", "estimators", "selection")


@dataclass(frozen=True)
class Task:
    """Rows to cluster, their classes (for the judge alone), and what some methods use besides.

    ``counts`` are non-negative rows for topic models, ``rest`` rows that belong to no class, ``documents`` the texts.
    """

    X: Any
    y: Any
    counts: Any = None
    rest: Any = None
    documents: Any = None
    n_clusters: int = 0

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
    ours: bool
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


@cache
def _source(function: Callable[..., Any]) -> str:
    """Read at once, when a function is registered: its file may change while the process goes on with what it has."""
    return inspect.getsource(function)


def task(name: str) -> Callable[[Callable[[str], Task]], Callable[[str], Task]]:
    """Register a loader: it gets what stands behind the slash of a data set's name, "3-8" of "digits/3-8"."""

    def register(load: Callable[[str], Task]) -> Callable[[str], Task]:
        _source(load)
        TASKS[name] = load
        return load

    return register


def method(name: str, *, ours: bool = False, seeded: bool = True) -> Callable[[Any], Any]:
    """Register a method; one that is not seeded runs once."""

    def register(run: Callable[..., Any]) -> Callable[..., Any]:
        _source(run)
        METHODS[name] = Method(run, ours, seeded)
        return run

    return register


def code_version(cell: Cell) -> str:
    """Digest of the code that a cell's figures depend on, comments and docstrings aside.

    These are the functions that load the data and run the method, and the modules of widegap that the estimators named
    in the method import, followed to the end; for methods of others it is the version of scikit-learn. Other helpers
    of these functions are not followed.
    """
    chosen = METHODS[cell.method]
    parts = [_normal_form(_source(f)) for f in (TASKS[cell.data.split("/")[0].split("@")[0]], chosen.run)]
    parts.append(_modules_digest(_modules_behind(chosen.run)) if chosen.ours else sklearn.__version__)
    return _digest(*parts)


def _modules_behind(run: Callable[..., Any]) -> tuple[str, ...]:
    """Modules of widegap that define what a function names; all estimators if it names none itself."""
    named = [getattr(run.__globals__.get(name), "__module__", None) for name in run.__code__.co_names]  # type: ignore[attr-defined]
    found = sorted({name for name in named if name and name.startswith("widegap.")})
    return tuple(found) or tuple(
        f"widegap.estimators.{path.stem}" for path in sorted((ROOT / "estimators").glob("_*.py"))
    )


@lru_cache
def _modules_digest(modules: tuple[str, ...]) -> str:
    """Digest of modules and of all modules of widegap's numeric packages that they import, directly or not."""
    queue, sources = list(modules), {}
    while queue:
        name = queue.pop()
        path = ROOT.joinpath(*name.split(".")[1:]).with_suffix(".py")
        numeric = path.parent.name in NUMERIC_PACKAGES
        if name in sources or not path.exists() or not numeric:
            continue
        sources[name] = _normal_form(path.read_text())
        queue += re.findall(r"^\s*from (widegap\.[\w.]+) import", path.read_text(), re.MULTILINE)
    return _digest(*(f"{name} {sources[name]}" for name in sorted(sources)))


def _normal_form(source: str) -> str:
    """The syntax tree without docstrings: equal for sources that differ in comments and layout only."""
    tree = ast.parse(textwrap.dedent(source))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body[0].value = ast.Constant(None)
    return ast.dump(tree)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
