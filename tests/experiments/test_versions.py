"""The version of the code behind a cell: what a change makes stale, and what it leaves as it is."""

import ast
from pathlib import Path

import pytest

from experiments import catalogue, cells, versions
from experiments.cells import Cell, code_version

assert catalogue
CPM3C, KMEANS = Cell.of("digits/3-8", "CPM3C"), Cell.of("digits/3-8", "KMeans(10)")
M2DCU, WARD = Cell.of("m2dcu/rec4", "M2DCU"), Cell.of("digits/3-8", "Ward")
SEGMENTS, LETTER = Cell.of("photo/china", "segments"), Cell.of("letter/A-B", "KMeans(10)")
PROTOTYPES, NMF = Cell.of("mixed/zoo", "k-prototypes"), Cell.of("m2dcu/rec4", "NMF")
OURS = {CPM3C, M2DCU, SEGMENTS}
ALL = OURS | {KMEANS, WARD, LETTER, PROTOTYPES, NMF}


@pytest.fixture(autouse=True)
def forgotten():
    """No test sees what another has read."""
    found = (versions._folder, versions._code, versions.core_version)
    for function in found:
        function.cache_clear()
    yield
    for function in found:
        function.cache_clear()


def stale_after(monkeypatch, changed):
    """The cells whose version is another where ``changed(path, text)`` changes the files."""
    before = {cell: code_version(cell) for cell in ALL}
    for function in (versions._folder, versions._code, versions.core_version):
        function.cache_clear()
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: changed(path, read(path).decode()).encode())
    return {cell for cell in ALL if code_version(cell) != before[cell]}


def with_a_statement_more(text, name):
    """In every function, or in one of them."""
    tree = ast.parse(text)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and name in (None, node.name)]
    assert found
    for function in found:
        function.body.append(ast.Pass())
    return ast.unparse(tree)


@pytest.mark.parametrize(
    ("file", "name", "stale"),
    [
        ("widegap/rows/loops/_passes.py", None, OURS),
        ("widegap/_jit.py", None, OURS),
        ("widegap/base/_validation.py", None, OURS),
        ("widegap/universum.py", None, OURS),
        ("widegap/tables/_encoder.py", None, OURS | {PROTOTYPES}),  # encodes its data
        ("widegap/documents/_vocabulary.py", None, OURS | {NMF}),
        ("widegap/metrics.py", None, ALL),
        ("widegap/results/_summary.py", None, set()),
        ("widegap/cli/_cluster.py", None, set()),
        ("widegap/report/_charts.py", None, set()),
        ("widegap/plot/_map_figure.py", None, set()),
        ("experiments/text_methods.py", "candidates", {M2DCU}),
        ("experiments/baselines.py", "dense", {WARD, NMF}),
        ("experiments/baselines.py", "kmeans", {KMEANS, LETTER}),
        ("experiments/judge.py", "judge", ALL),
        ("experiments/runner.py", "run", set()),
    ],
)
def test_changed_code_makes_stale_what_depends_on_it(monkeypatch, file, name, stale):
    assert (versions.SOURCE.parent / file).exists() or (versions.HERE.parent / file).exists()
    found = stale_after(
        monkeypatch, lambda path, text: with_a_statement_more(text, name) if path.as_posix().endswith(file) else text
    )
    assert found == stale


def test_comments_docstrings_and_layout_make_no_difference(monkeypatch):
    def changed(path, text):
        return "# a comment\n" + text.replace('"""', '"""More: ', 1).replace("\n\n\n", "\n\n# another\n\n")

    assert stale_after(monkeypatch, changed) == set()


def test_methods_of_others_depend_on_the_versions_of_their_packages_and_ours_do_not(monkeypatch):
    before = {cell: code_version(cell) for cell in ALL}
    monkeypatch.setattr(versions, "_installed", lambda package: "99.0")
    assert {cell for cell in ALL if code_version(cell) != before[cell]} == ALL - OURS


def test_packages_that_only_some_methods_name_are_those_methods_packages():
    def named(method):
        return versions._packages(cells.METHODS[method].run)

    assert named("KMeans(10)") == ["sklearn"]
    assert named("UMAP + GMM") == ["sklearn", "umap"]
    assert named("gemclus") == ["gemclus", "sklearn"]


def test_versions_tell_the_core_of_ours_alone():
    core = versions.core_version()
    assert all(code_version(cell).startswith(f"{core}/") for cell in OURS)
    assert all(code_version(cell).startswith("-/") for cell in ALL - OURS)
