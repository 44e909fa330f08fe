"""The code behind a cell: every way to import is followed, and nothing that a function does not use."""

import ast

import pytest

import widegap
from experiments import catalogue, cells
from experiments.cells import SOURCES, Cell, code_version
from experiments.sources import Sources, Symbol

assert catalogue

LEAF = "SIZE = 3\nTABLE = {}\nTABLE.update(a=1)\ndef used(x):\n    return x * SIZE\ndef other(x):\n    return 2\n"
TEXTS = {
    "pack": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pack.low._leaf import used\n",
    "pack.low": "from pack.low._leaf import used as handed\n",
    "pack.low._leaf": LEAF,
    "pack.low._other": "X = 1\n",
}
PACKAGES = ("pack", "pack.low")

USERS = {
    "a name": "from pack.low._leaf import used\ndef f(): return used(1)",
    "another name for it": "from pack.low._leaf import used as u\ndef f(): return u(1)",
    "a module of a package": "from pack.low import _leaf\ndef f(): return _leaf.used(1)",
    "a dotted module": "import pack.low._leaf\ndef f(): return pack.low._leaf.used(1)",
    "a dotted module by another name": "import pack.low._leaf as leaf\ndef f(): return leaf.used(1)",
    "inside a function": "def f():\n    from pack.low import _leaf\n    return _leaf.used(1)",
    "in a method": "class f:\n    def run(self):\n        from pack.low._leaf import used\n        return used(1)",
    "relative": "from ._leaf import used\ndef f(): return used(1)",
    "relative, of a module": "from . import _leaf\ndef f(): return _leaf.used(1)",
    "relative, one package up": "from ..low._leaf import used\ndef f(): return used(1)",
    "handed on by a package": "from pack.low import handed\ndef f(): return handed(1)",
    "a lazy name": "from pack import used\ndef f(): return used(1)",
    "through a helper": "from pack.low._leaf import used\ndef g(): return used(1)\ndef f(): return g()",
    "through a constant": "from pack.low._leaf import used\nALL = {'u': used}\ndef f(): return ALL['u'](1)",
    "a module as a whole": "from pack.low import _leaf\ndef f(name): return getattr(_leaf, name)(1)",
    "where a name may be missing": "try:\n    from pack.low._leaf import used\nexcept ImportError:\n    used = None\n"
    "def f(): return used(1)",
    "as a base": "from pack.low import _leaf\nclass f(_leaf.used): ...",
    "as a default": "from pack.low._leaf import used\ndef f(g=used): return g(1)",
    "as a decorator": "from pack.low._leaf import used\n@used\ndef f(): ...",
}


def toy(user, leaf=LEAF):
    texts = {**TEXTS, "pack.low._user": user, "pack.low._leaf": leaf}
    return Sources(texts, PACKAGES).closure([Symbol("pack.low._user", "f")])


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
@pytest.mark.parametrize(
    ("old", "new"), [("return x * SIZE", "return x + SIZE"), ("SIZE = 3", "SIZE = 4"), ("update(a=1)", "update(a=2)")]
)
def test_every_way_to_import_is_followed(user, old, new):
    assert toy(user).code != toy(user, LEAF.replace(old, new)).code


@pytest.mark.parametrize("user", [user for name, user in USERS.items() if "whole" not in name])
def test_what_is_not_used_makes_no_difference(user):
    assert toy(user).code == toy(user, LEAF.replace("return 2", "return 3")).code


@pytest.mark.parametrize(
    "same",
    [
        '"""Leaf."""\n' + LEAF.replace("return x * SIZE", '"""Say why."""\n    return x * SIZE  # three times'),
        LEAF.replace("def used(x):", "def used(x: int,\n         ) -> int:"),
        LEAF.replace("SIZE = 3", "SIZE = (3)"),
        "from pack.low import _other\n" + LEAF,
    ],
)
def test_comments_docstrings_annotations_and_layout_make_no_difference(same):
    assert toy(USERS["a name"]).code == toy(USERS["a name"], same).code


def test_a_field_is_told_from_an_attribute_of_the_class():
    field, attribute = "class f:\n    x: int = 1", "class f:\n    x: ClassVar[int] = 1"
    assert toy(field).code == toy(field.replace("int", "float")).code != toy(attribute).code


def test_names_that_lead_nowhere_are_refused():
    with pytest.raises(LookupError, match="pack.low._leaf has no absent"):
        toy("from pack.low._leaf import absent\ndef f(): return absent")
    with pytest.raises(LookupError, match="pack.low._user imports by star"):
        toy("from pack.low._leaf import *\ndef f(): return used(1)")


def test_packages_of_others_are_named():
    user = "import numpy as np\nfrom sklearn.cluster import KMeans\ndef f(): return np.sin(1), KMeans"
    assert toy(user).packages == {"numpy", "sklearn"}


@pytest.mark.parametrize("name", widegap.__all__)
def test_every_public_name_leads_to_code(name):
    assert SOURCES.closure([Symbol("widegap", name)]).code


def touched(module, name=None):
    """The sources with a statement more in every function of a module, or in one of them."""
    tree = ast.parse(SOURCES.texts[module])
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and name in (None, node.name)]
    for function in functions:
        function.body.append(ast.Pass())
    assert functions
    return SOURCES.changed(module, ast.unparse(tree))


CPM3C, KMEANS = Cell.of("digits/3-8", "CPM3C"), Cell.of("digits/3-8", "KMeans(10)")
M2DCU, WARD = Cell.of("m2dcu/rec4", "M2DCU"), Cell.of("digits/3-8", "Ward")
SEGMENTS, LETTER = Cell.of("photo/china", "segments"), Cell.of("letter/A-B", "KMeans(10)")
PART = Cell.of("letter/A-B@500", "KMeans(10)")
ALL = (CPM3C, KMEANS, M2DCU, WARD, SEGMENTS, LETTER, PART)


@pytest.mark.parametrize(
    ("module", "function", "stale"),
    [
        ("widegap.rows.loops._passes", None, {CPM3C, M2DCU, SEGMENTS}),
        ("widegap._jit", None, {CPM3C, M2DCU, SEGMENTS}),
        ("widegap.base._validation", None, {CPM3C, M2DCU, SEGMENTS}),
        ("widegap.universum", None, {M2DCU}),
        ("widegap.image", None, {SEGMENTS}),
        ("widegap.metrics", None, set(ALL)),
        ("widegap.documents._vocabulary", None, {M2DCU}),
        ("widegap.results._summary", None, set()),
        ("widegap.cli._cluster", None, set()),
        ("widegap.base._docs", None, set()),
        ("experiments.text_methods", "candidates", {M2DCU}),
        ("experiments.baselines", "dense", {WARD}),
        ("experiments.baselines", "kmeans", {KMEANS, LETTER, PART}),
        ("experiments.loaders", "load_letter", {LETTER, PART}),
        ("experiments.loaders", "_array_bunch", {LETTER, PART, M2DCU}),
        ("experiments.loaders", "load_20news", {M2DCU}),
        ("experiments.runner", "drawn_rows", {PART}),
        ("experiments.runner", "run", set()),
    ],
)
def test_changed_code_makes_stale_what_depends_on_it(module, function, stale):
    sources = touched(module, function)
    assert {cell for cell in ALL if code_version(cell, sources) != code_version(cell)} == stale


def test_methods_of_others_depend_on_the_version_of_their_packages(monkeypatch):
    before = {cell: code_version(cell) for cell in (CPM3C, KMEANS)}
    monkeypatch.setattr(cells, "_installed", lambda package: "99.0")
    fresh = Sources.read()
    assert code_version(KMEANS, fresh) != before[KMEANS]
    assert code_version(CPM3C, fresh) == before[CPM3C]
