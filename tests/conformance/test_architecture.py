"""The architecture, read from the source: one-way imports, sizes, one home for sparse, no printing."""

import ast
import re
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "widegap"
MAX_BODY_LINES = 80
MAX_FILE_LINES = 500
MAX_CLASS_FILE_LINES = 700  # of a file that is mostly one class: one idea is not cut in two
TWICE = 10
TWICE_EXCEPTIONS = ("rows/loops/_passes.py",)  # loops over dense and over CSR rows are compiled apart
# Slices, or files of a slice, whose business is whether rows are sparse; a file format names what it stores.
SPARSE_HOMES = (
    "rows",
    "features",
    "persistence",
    "_types.py",
    "base/_validation.py",
    "documents/_corpus.py",
    "documents/_vocabulary.py",
    "documents/_words.py",
    "cli/_warm.py",  # makes sparse rows, to compile their loops
)
# Other ways to ask, or to know, whether a table is sparse; rows/_matrices.py answers what depends on it.
SPARSE_ATTRIBUTES = ("__array_interface__", "indptr", "nnz", "toarray", "tocsr", "todense")
SPARSE_EXCEPTIONS = (
    "forest/_communities.py",  # the neighbour graph is CSR; the rows are not looked at
    "sdp/_mmc.py",  # SCS takes its constraint matrix as CSC; the rows stay dense
)

# What every slice may import: it imports nothing of the package itself, but for exceptions.
GROUND = ("exceptions", "_atomic", "_catalogue", "_jit", "_nesting", "_types", "_versions", "_warnings", "_wording")
MADE_OF = ("rows", "features", "base", "constraints", "updating")  # what methods are made of, each of those before it
# What a slice may import besides itself and GROUND. Imports go one way: upwards in this table.
LOWER_SLICES = {
    **{name: ("exceptions",) for name in GROUND},
    "_jit": ("exceptions", "_loop_cache"),
    "_loop_cache": (),
    "rows": (),
    "features": MADE_OF[:1],
    "base": MADE_OF[:2],
    "constraints": MADE_OF[:3],
    "updating": MADE_OF[:4],
    "cutting_plane": MADE_OF,
    "forest": MADE_OF,
    "iterative": MADE_OF,
    "sdp": (*MADE_OF, "cutting_plane"),
    "documents": (*MADE_OF, "cutting_plane", "forest"),
    "tables": MADE_OF[:3],
}
# Parts that are not listed may import all but these, and these only those before them.
PUBLIC = {"exporting", "persistence", "selection"}  # slices that users import by name, between the methods and TOP
TOP = ("corrections", "results", "report", "plot", "explorer", "__init__", "cli", "__main__")


@dataclass(frozen=True)
class Source:
    """A file of the package: its path inside the package and its text."""

    path: PurePosixPath
    text: str

    @cached_property
    def nodes(self):
        return list(ast.walk(ast.parse(self.text)))

    @property
    def part(self):
        """Package or module directly under widegap."""
        return PurePosixPath(self.path.parts[0]).stem

    def locate(self, line, message):
        return f"src/widegap/{self.path}:{line}: {message}"


def imported_names(source):
    """Pairs of line and full dotted name, one for each name that the file imports at any depth."""
    package = ("widegap", *source.path.parts[:-1])
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            prefix = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{prefix}.{alias.name}") for alias in node.names)


def is_restricted(part):
    """Whether a part may import only what LOWER_SLICES lists; a private top-level module must be listed."""
    return part in LOWER_SLICES or (part.startswith("_") and part not in ("__init__", "__main__"))


def may_import(part):
    """What a part may import besides itself, in words, and the test of a target."""
    if is_restricted(part):
        lower = (*LOWER_SLICES.get(part, ()), *(GROUND if part not in GROUND else ()))
        return f"only {', '.join(('itself', *lower))}", lambda target: target in (part, *lower)
    above = TOP[TOP.index(part) + 1 :] if part in TOP else TOP
    return f"anything but {', '.join(above)}", lambda target: target not in above


def wrong_imports(source):
    """Imports against the one-way rule."""
    rule, is_allowed = may_import(source.part)
    for line, name in imported_names(source):
        root, _, inner = name.partition(".")
        if root == "widegap" and not is_allowed(inner.partition(".")[0]):
            remedy = "Move the shared code down, or pass what is needed as an argument."
            yield source.locate(line, f"{source.part} imports {name}, but may import {rule}. {remedy}")


def body_length(function):
    """Lines of a function's body without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return function.end_lineno - body[0].lineno + 1 if body else 0


def long_functions(source):
    """Functions with a body that is too long."""
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and body_length(node) > MAX_BODY_LINES:
            yield source.locate(
                node.lineno,
                f"the body of {node.name} has {body_length(node)} lines, more than {MAX_BODY_LINES}. Split it.",
            )


def long_file(source):
    """The file, if it is too long: a class that is one idea may take more lines than several ideas."""
    n_lines = len(source.text.splitlines())
    classes = [node.end_lineno - node.lineno for node in source.nodes if isinstance(node, ast.ClassDef)]
    most = MAX_CLASS_FILE_LINES if max(classes, default=0) > 2 / 3 * n_lines else MAX_FILE_LINES
    if n_lines > most:
        yield source.locate(n_lines, f"the file has more than {most} lines. Split it by subject.")


def names_sparse(node):
    """Whether an expression is issparse, something.issparse or scipy.sparse."""
    if isinstance(node, ast.Name):
        return node.id == "issparse"
    return isinstance(node, ast.Attribute) and (node.attr == "issparse" or ast.unparse(node) == "scipy.sparse")


def is_synonym(node):
    """Whether an expression asks for an ndarray, or for an attribute that only one kind of table has."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) >= 2:
        if node.func.id == "isinstance":
            return "ndarray" in ast.unparse(node.args[1])
        if node.func.id in ("hasattr", "getattr"):
            return isinstance(node.args[1], ast.Constant) and node.args[1].value in SPARSE_ATTRIBUTES
    return isinstance(node, ast.Attribute) and node.attr in SPARSE_ATTRIBUTES


def sparse_uses(source):
    """Uses of issparse, scipy.sparse and their synonyms outside their homes."""
    if source.part in SPARSE_HOMES or str(source.path) in (*SPARSE_HOMES, *SPARSE_EXCEPTIONS):
        return
    uses = [
        (line, name)
        for line, name in imported_names(source)
        if f"{name}.".startswith("scipy.sparse.") or name.endswith(".issparse")
    ]
    uses += [(node.lineno, ast.unparse(node)) for node in source.nodes if names_sparse(node) or is_synonym(node)]
    for line, name in uses:
        yield source.locate(
            line, f"{name} is used outside {', '.join(SPARSE_HOMES)}. Let a class in rows/ decide the representation."
        )


def prints(source):
    """Calls of print outside the command line."""
    if source.part == "cli":
        return
    for node in source.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield source.locate(node.lineno, "print is for cli/ only. Use logging, or return the text.")


def thread_limits(source):
    """Uses of threadpoolctl outside the one place that counts its users."""
    if str(source.path) == "rows/_threads.py":
        return
    for line, name in imported_names(source):
        if f"{name}.".startswith("threadpoolctl."):
            remedy = "Use one_blas_thread: limits that overlap leave the whole process at one thread."
            yield source.locate(line, f"{name} is used outside rows/_threads.py. {remedy}")


RULES = [wrong_imports, long_functions, long_file, sparse_uses, prints, thread_limits]
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


@cache
def source_of(file):
    """A file of the package, parsed once for all rules."""
    return Source(PurePosixPath(file), (PACKAGE / file).read_text(encoding="utf-8"))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_source_keeps_the_rule(rule):
    violations = [violation for file in FILES for violation in rule(source_of(file))]
    assert not violations, "\n" + "\n".join(violations)


def test_the_package_is_found():
    slices = {PurePosixPath(file).parts[0] for file in FILES if "/" in file}
    assert {"__init__.py", "exceptions.py", "rows/loops/_passes.py"} <= set(FILES)
    assert {*LOWER_SLICES, *TOP} - set(GROUND) - {"__main__"} >= slices - PUBLIC


def test_every_slice_says_what_it_is_and_where_to_begin():
    for name in {PurePosixPath(file).parts[0] for file in FILES if "/" in file}:
        text = ast.get_docstring(ast.parse(source_of(f"{name}/__init__.py").text)) or ""
        assert "may import" in text and "egin with" in text, f"{name}/__init__.py does not say what it may import"


def violations_of(rule, path, text):
    return list(rule(Source(PurePosixPath(path), text)))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("rows/_blocks.py", "from widegap.cutting_plane import Plane"),
        ("rows/_blocks.py", "from widegap import CPM3C"),
        ("rows/_blocks.py", "import widegap"),
        ("rows/_blocks.py", "def f():\n    from ..features import _kernels"),
        ("rows/_blocks.py", "from widegap.base._validation import check_rows"),
        ("features/_kernels.py", "from widegap.base import _clusterer"),
        ("base/_clusterer.py", "import widegap.constraints._units as units"),
        ("constraints/_units.py", "from widegap import forest"),
        ("forest/_linkage.py", "from widegap.cutting_plane._cpm3c import CPM3C"),
        ("cutting_plane/_cpm3c.py", "from ..report import summarize"),
        ("cutting_plane/_cpm3c.py", "from widegap.cli import main"),
        ("tables/_encoder.py", "from widegap.forest import _max_margin"),
        ("report/_html.py", "from ..cli import main"),
        ("report/_html.py", "from widegap.explorer import Workspace"),
        ("metrics.py", "from . import cli"),
        ("image.py", "from widegap.cli._segment import run"),
        ("universum.py", "import os, widegap.cli"),
        ("__init__.py", "from widegap.cli import main"),
        ("_jit.py", "from widegap.rows import RowBlocks"),
        ("exceptions.py", "from widegap import metrics"),
    ],
)
def test_checker_sees_wrong_imports(path, text):
    (violation,) = violations_of(wrong_imports, path, text)
    assert violation.startswith(f"src/widegap/{path}:")
    assert "but may import" in violation


def test_message_names_the_rule():
    (violation,) = violations_of(wrong_imports, "features/_kernels.py", "from widegap.forest import cut")
    assert "features imports widegap.forest.cut, but may import only itself, rows, exceptions" in violation
    (violation,) = violations_of(wrong_imports, "explorer/_server.py", "from widegap.cli import main")
    assert "explorer imports widegap.cli.main, but may import anything but __init__, cli, __main__. Move" in violation


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("rows/_blocks.py", "from widegap._jit import jit\nfrom widegap.exceptions import SolverError"),
        ("rows/_blocks.py", "from ._sources import run\nfrom . import _sources\nfrom .. import _jit"),
        ("rows/_blocks.py", "import forest, widegapped.forest"),
        ("features/_kernels.py", "from widegap.rows import RowBlocks"),
        ("cutting_plane/_qp.py", "from widegap.cutting_plane._cuts import CutSet"),
        ("cutting_plane/_cpm3c.py", "from widegap import base, constraints, features, rows"),
        ("documents/_topic_search.py", "from widegap.cutting_plane._cpm3c import CPM3C"),
        ("report/_html.py", "from widegap import CPM3C, metrics"),
        ("image.py", "from widegap.iterative import IterSVR"),
        ("__init__.py", "from widegap.forest import MaxMarginClustering"),
        ("cli/_main.py", "import widegap\nfrom widegap.report import render"),
        ("__main__.py", "from widegap.cli import main"),
    ],
)
def test_checker_lets_right_imports_pass(path, text):
    assert violations_of(wrong_imports, path, text) == []


def function_of(n_lines):
    return 'def f():\n    """Say.\n\n    More.\n    """\n' + "    x = 1\n" * n_lines


@pytest.mark.parametrize("prefix", ["", "async "])
def test_checker_counts_body_lines_without_the_docstring(prefix):
    assert violations_of(long_functions, "metrics.py", prefix + function_of(MAX_BODY_LINES)) == []
    (violation,) = violations_of(long_functions, "metrics.py", prefix + function_of(MAX_BODY_LINES + 1))
    assert "the body of f has 81 lines, more than 80" in violation


def test_checker_accepts_a_body_that_is_only_a_docstring():
    assert violations_of(long_functions, "metrics.py", function_of(0)) == []


def test_checker_counts_file_lines():
    assert violations_of(long_file, "metrics.py", "x = 1\n" * MAX_FILE_LINES) == []
    (violation,) = violations_of(long_file, "metrics.py", "x = 1\n" * (MAX_FILE_LINES + 1))
    assert "more than 500 lines" in violation
    assert violations_of(long_file, "metrics.py", "class A:\n" + "    x = 1\n" * MAX_FILE_LINES) == []
    (violation,) = violations_of(long_file, "metrics.py", "class A:\n" + "    x = 1\n" * MAX_CLASS_FILE_LINES)
    assert "more than 700 lines" in violation


SPARSE_TEXTS = [
    "import scipy.sparse as sp",
    "import scipy.sparse",
    "from scipy import sparse",
    "from scipy.sparse import csr_array",
    "from scipy.sparse.linalg import eigsh",
    "from sklearn.utils import issparse",
    "import scipy\nX = scipy.sparse.eye(3)",
    "def f(X, sp):\n    return sp.issparse(X)",
    "isinstance(X, np.ndarray)",
    "isinstance(X, numpy.ndarray | list)",
    "isinstance(X, (list, ndarray))",
    "hasattr(X, '__array_interface__')",
    "getattr(X, 'indptr', None)",
    "X[rows].toarray()",
    "X.indptr",
]


@pytest.mark.parametrize("text", SPARSE_TEXTS)
def test_checker_sees_sparse_outside_its_homes(text):
    (violation,) = violations_of(sparse_uses, "cutting_plane/_qp.py", text)
    assert "is used outside rows, features, persistence" in violation


@pytest.mark.parametrize("path", ["rows/_blocks.py", "persistence/_archive.py", "base/_validation.py"])
@pytest.mark.parametrize("text", SPARSE_TEXTS)
def test_checker_allows_sparse_in_its_homes(path, text):
    assert violations_of(sparse_uses, path, text) == []


@pytest.mark.parametrize("text", ["from scipy import linalg", "is_sparse = density < 0.1", "import scipy.special"])
def test_checker_does_not_see_sparse_where_there_is_none(text):
    assert violations_of(sparse_uses, "cutting_plane/_qp.py", text) == []


def test_checker_sees_print_outside_cli():
    (violation,) = violations_of(prints, "cutting_plane/_qp.py", "def f():\n    print('gap')")
    assert violation.startswith("src/widegap/cutting_plane/_qp.py:2: print is for cli/ only")


@pytest.mark.parametrize(("path", "text"), [("cli/_main.py", "print(1)"), ("metrics.py", '"""print(1)"""\nf.print(1)')])
def test_checker_allows_other_prints(path, text):
    assert violations_of(prints, path, text) == []


@pytest.mark.parametrize("text", ["import threadpoolctl", "from threadpoolctl import threadpool_limits"])
def test_checker_sees_limits_on_threads(text):
    (violation,) = violations_of(thread_limits, "cutting_plane/_cpm3c.py", text)
    assert "Use one_blas_thread" in violation
    assert violations_of(thread_limits, "rows/_threads.py", text) == []


def lines_that_count(source):
    """(number, line) without blanks, constructors, which scikit-learn wants written out, and names of shared texts."""
    constructors = {
        number
        for node in source.nodes
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        for number in range(node.lineno, node.end_lineno + 1)
    }
    lines = enumerate(map(str.strip, source.text.splitlines()), 1)
    return [(i, line) for i, line in lines if line and i not in constructors and not re.fullmatch(r"<[\w ]+>", line)]


def repeated_lines(sources):
    """Places where ten lines stand that stood before."""
    first = {}
    for source in sources:
        lines = lines_that_count(source)
        for i in range(len(lines) - TWICE + 1):
            text = tuple(line for _, line in lines[i : i + TWICE])
            place = source.locate(lines[i][0], "ten lines")
            if first.setdefault(text, place) != place:
                yield f"{place} that stand at {first[text]} too"


def test_no_ten_lines_stand_twice():
    sources = [source_of(file) for file in FILES if file not in TWICE_EXCEPTIONS]
    assert list(repeated_lines(sources)) == []
    assert len(list(repeated_lines([Source(PurePosixPath(name), "x = 1\n" * 10) for name in "ab"]))) == 1


def test_extras_name_only_what_is_imported():
    extras = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    modules = {
        "pillow": "PIL",
        "python-docx": "docx",
        "python-calamine": "python_calamine",
        "stop-words": "stop_words",
        "charset-normalizer": "charset_normalizer",
    }
    named = {
        re.split("[<>=]", package)[0]
        for extra, packages in extras["optional-dependencies"].items()
        if extra != "all"
        for package in packages
        if not package.startswith("widegap[")
    }
    imported = {name.split(".")[0] for file in FILES for _, name in imported_names(source_of(file))}
    by_name = {"pyarrow"}  # pandas loads it to read Parquet
    assert {modules.get(name, name) for name in named} - by_name <= imported
