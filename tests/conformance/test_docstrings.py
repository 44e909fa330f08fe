"""Docstrings of the estimators: complete, and every shared text written once."""

import ast
import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

import widegap
from widegap._catalogue import ESTIMATORS
from widegap.base import _docs

# The files of the estimators and of the classes that they inherit from.
CLASSES = {cls for name in ESTIMATORS for cls in getattr(widegap, name).__mro__ if cls.__module__.startswith("widegap")}
FIGURES = Path(inspect.getfile(widegap.plot)).parent.glob("*.py")  # functions that share texts, too
SOURCES = sorted({*(Path(inspect.getfile(cls)) for cls in CLASSES), *FIGURES})
PLACEHOLDER = re.compile(r"^ *<(.+)>$", re.MULTILINE)
ENTRY = re.compile(r"^\w+ : [^\n]*\n(?:    [^\n]+\n?)+", re.MULTILINE)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_help_shows_the_whole_text_of_every_parameter(name):
    cls = getattr(widegap, name)
    shown = inspect.getdoc(cls)
    assert not PLACEHOLDER.search(shown)
    section = shown.partition("Parameters\n----------\n")[2].partition("\nAttributes\n----------\n")[0]
    entries = re.findall(r"^(\w.*?)(?: : .*)?$", section, re.MULTILINE)
    documented = [part.strip() for entry in entries for part in entry.split(",")]
    assert documented == list(inspect.signature(cls).parameters)


def test_shared_texts_stand_in_one_place():
    nodes = [node for path in SOURCES for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    documented = [
        node for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
    ]
    docstrings = [ast.get_docstring(node) for node in documented if isinstance(node, ast.ClassDef)]
    entries = Counter(entry.strip() for text in docstrings for entry in ENTRY.findall(text))
    assert sum(entries.values()) > 100  # the pattern sees them
    assert not [entry for entry, times in entries.items() if times > 1]
    used = Counter(name for node in documented for name in PLACEHOLDER.findall(ast.get_docstring(node)))
    assert {name for name in _docs._TEXTS if used[name] < 2} == set()
