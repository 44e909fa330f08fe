"""What makes a measured cell stale: the version of the code behind it.

A cell of *ours* is as old as the core of widegap: one hash over all files that decide labels (``CORE``), not over the
command line, reports, the explorer, plots or export. A cell of *others*, whose methods are in the modules
``*baselines``, does not know the core, so that a change of ours makes no cell of UMAP stale: in its place it has the
versions of the packages that its module names, and the folders of widegap from which its module or its data's imports.

Both also depend on the modules of the method, of the data set and of the judge, and on modules of the experiments that
these import; of the functions there, only on those that are used. The runner and the tables do not count, nor do
comments, docstrings and layout. Versions are compared under one version of Python, whose syntax trees they are made of.
"""

import ast
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

import widegap
from experiments.judge import judge

HERE, SOURCE = Path(__file__).parent, Path(widegap.__file__).parent
CORE = (
    *"base constraints cutting_plane documents features forest iterative rows sdp selection tables updating".split(),
    *("_jit.py", "image.py", "metrics.py", "universum.py"),
)
# Hand data and labels on as they are, or name types.
FRAME = {"experiments.cells", "experiments.runner", "widegap.exceptions", "widegap._types"}
ARRAYS = {"numpy", "scipy"}  # arithmetic, whose versions are not told apart
Function = Callable[..., Any]


def code_version(run: Function, load: Function) -> str:
    """``core/own``; the core is "-" for methods of others."""
    code = _behind(run) | _behind(load) | _behind(judge)
    if not of_others(run):
        own = {part for part in code if part.startswith("experiments.")}
        return f"{core_version()}/{_digest(own)}"
    return f"-/{_digest(code | {f'{name} {_installed(name)}' for name in _packages(run)})}"


def of_others(run: Function) -> bool:
    return run.__module__.endswith("baselines")


def missing_packages(run: Function) -> list[str]:
    """Packages that a method names and that are not installed here."""
    return [name for name in _packages(run) if _installed(name) is None]


def compiling(run: Function) -> bool:
    """Whether a method compiles or loads much when first used: our estimators, and packages besides scikit-learn."""
    return not of_others(run) or _packages(run) not in ([], ["sklearn"])


@cache
def core_version() -> str:
    """The hash of all that decides labels."""
    return _digest(map(_folder, CORE))


def _digest(parts: Iterable[str]) -> str:
    return sha256("\0".join(sorted(parts)).encode()).hexdigest()[:8]


@cache
def _folder(name: str) -> str:
    """The files of a folder of widegap, or one file."""
    files = [SOURCE / name] if name.endswith(".py") else (SOURCE / name).rglob("*.py")
    return f"widegap.{name} " + _digest(f"{file.name} {_version(file.read_bytes())}" for file in files)


def _behind(function: Function) -> frozenset[str]:
    """The code of a function of the experiments, of folders of widegap that it names, and names of packages."""
    return _code(function.__module__, frozenset([function.__name__]))


def _packages(run: Function) -> list[str]:
    return sorted(name for name in _behind(run) if "." not in name)


@cache
def _code(module: str, used: frozenset[str]) -> frozenset[str]:
    """A module without functions and classes that are not used, all if none is named, and all that it imports."""
    body = _plain((HERE.parent / f"{module.replace('.', '/')}.py").read_bytes()).body
    spare = {s.name: s for s in body if isinstance(s, ast.FunctionDef | ast.ClassDef) and used and s.name not in used}
    kept = [s for s in body if getattr(s, "name", "") not in spare]
    while named := [node.id for s in kept for node in ast.walk(s) if isinstance(node, ast.Name) and node.id in spare]:
        kept += [spare.pop(name) for name in set(named)]
    found = {f"{module} {_digest(map(ast.dump, kept))}"}
    for origin, names in _imports(kept):
        if origin in FRAME:
            continue
        if origin == "widegap":
            found |= {
                _folder(_place(getattr(getattr(widegap, name), "__module__", f"widegap.{name}"))) for name in names
            }
        elif origin.startswith("widegap."):
            found.add(_folder(_place(origin)))
        elif origin == "experiments":
            found |= {part for name in names for part in _code(f"experiments.{name}", frozenset())}
        elif origin.startswith("experiments."):
            found |= _code(origin, frozenset(names))
        elif (package := origin.partition(".")[0]) not in {*sys.stdlib_module_names, *ARRAYS, "experiments"}:
            found.add(package)
    return frozenset(found)


def _imports(statements: list[ast.stmt]) -> Iterator[tuple[str, list[str]]]:
    """Modules that are imported from, also inside functions, and the names that are imported."""
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.ImportFrom):
            yield node.module or "", [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)


def _place(module: str) -> str:
    """The folder of a module of widegap, or its file."""
    name = module.split(".")[1]
    return name if (SOURCE / name).is_dir() else f"{name}.py"


@cache
def _version(text: bytes) -> str:
    return _digest([ast.dump(_plain(text))])


def _plain(text: bytes | str) -> ast.Module:
    """A file without its docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            del node.body[0]
    return tree


@cache
def _installed(package: str) -> str | None:
    """The version of a package by the name it is imported under."""
    names = _distributions().get(package)
    return version(names[0]) if names else None


_distributions = cache(packages_distributions)
