"""Small data sets that every installation has: no download, no folder.

A loader returns a :class:`sklearn.utils.Bunch` with ``data``, ``target`` (the known classes, for scoring only),
``name`` and ``description``.
"""

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.datasets import load_digits as load_sklearn_digits
from sklearn.utils import Bunch

_CHAPTERS = {
    "numbers": ("decimal", "fractions", "math", "cmath", "statistics", "random"),
    "internet": ("email.message", "ftplib", "http.client", "http.cookiejar", "imaplib", "smtplib", "urllib.request"),
    "threads": ("asyncio", "concurrent.futures", "threading", "multiprocessing.pool", "queue"),
    "files": ("os", "os.path", "pathlib", "shutil", "tarfile", "zipfile", "tempfile"),
}
_LEAST_WORDS = 12  # shorter docstrings hold hardly a word that tells their chapter


def load_digits(*, return_X_y: bool = False) -> Any:
    """Handwritten digits bundled with scikit-learn: 1797 x 64, float64 in 0..16, 10 classes.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of the bunch.

    Returns
    -------
    bunch : Bunch
        With ``data``, ``target``, ``name``, ``description``.
    """
    digits = load_sklearn_digits()
    origin = "UCI repository, Optical Recognition of Handwritten Digits, optdigits.tes, from scikit-learn"
    return _answer(digits.data, digits.target, "digits", origin, return_X_y)


def load_docstrings(*, return_X_y: bool = False) -> Any:
    """Docstrings of Python's standard library: some hundred texts, four chapters of its reference as rough classes.

    Which texts there are depends a little on the version of Python.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of the bunch.

    Returns
    -------
    bunch : Bunch
        With ``data`` (a list of str), ``target``, ``name``, ``description``.
    """
    chapter_of: dict[str, str] = {}
    for chapter, modules in _CHAPTERS.items():
        for member in (member for name in modules for member in _documented(import_module(name))):
            text = inspect.getdoc(member) or ""
            if len(text.split()) >= _LEAST_WORDS:
                chapter_of.setdefault(text, chapter)
    texts = sorted(chapter_of)
    target = np.array([chapter_of[text] for text in texts])
    return _answer(texts, target, "docstrings", "Docstrings of Python's standard library", return_X_y)


def _documented(owner: Any) -> Iterator[Any]:
    """Functions and classes of a module, with the methods of the classes."""
    for _, member in inspect.getmembers(owner):
        if inspect.isroutine(member) or inspect.isclass(member):
            yield member
            if inspect.isclass(member) and inspect.ismodule(owner):
                yield from _documented(member)


def _answer(data: Any, target: Any, name: str, description: str, return_X_y: bool) -> Any:
    """The bunch, or its data and target."""
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, name=name, description=description)
