"""Data sets of numbers, by name: "digits/3-8" are two classes, "letter/all" all of them."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn import datasets as bundled

from experiments import loaders
from experiments.cells import TASKS, Task, task

TEST_DIGITS = slice(60_000, None)
HALF, CORNER = 600, 30  # rows of each half of "corner", and how many of the second lie apart
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ADULT_SIZES = {"a5a": 6414, "a6a": 11_220, "a7a": 16_100}  # not obtainable; METHODS of the papers need their sizes


def _classes(X: Any, y: Any, chosen: str) -> Task:
    """Rows of the classes named as "3-8"; "all" keeps every row."""
    if chosen == "all":
        return Task(X, y)
    rows = np.isin(y.astype(str), chosen.split("-"))
    return Task(X[rows], y[rows])


def _in_classes(name: str, load: Callable[..., Any]) -> None:
    task(name)(lambda chosen: _classes(*load(return_X_y=True), chosen))


def _as_stored(name: str, load: Callable[..., Any], is_counted: bool = False) -> None:
    """What stands behind the slash, if anything does, is the loader's argument."""

    @task(name)
    def run(chosen: str) -> Task:
        X, y = load(*filter(None, [chosen]), return_X_y=True)
        return Task(X, y, counts=X if is_counted else None)


_in_classes("digits", bundled.load_digits)  # the test digits of UCI, which scikit-learn has
_in_classes("optdigits", loaders.load_optdigits)  # the training digits of UCI
_in_classes("letter", loaders.load_letter)
_in_classes("satimage", loaders.load_satimage)
_in_classes("segment", loaders.load_segment)
_in_classes("mnist", loaders.load_mnist)  # all 70000 digits
_as_stored("svmguide1", loaders.load_svmguide1)
_as_stored("w1a", loaders.load_w1a)
_as_stored("fcps", loaders.load_fcps)
# tf-idf of title words, a stand-in for the abstracts of the Cora papers, which cannot be had
_as_stored("cora-titles", loaders.load_cora_titles, is_counted=True)
_as_stored("cora-bow", loaders.load_cora_bow, is_counted=True)
_as_stored("rcv1", loaders.load_rcv1, is_counted=True)


@task("mnist-test")
def mnist_test(chosen: str) -> Task:
    """The 10000 test digits."""
    X, y = loaders.load_mnist(return_X_y=True)
    return _classes(X[TEST_DIGITS], y[TEST_DIGITS], chosen)


@task("mnist-14")
def mnist_14(chosen: str) -> Task:
    """Training digits at 14 x 14 pixels, the size of the MKC paper: means of 2 x 2 pixels."""
    X, y = loaders.load_mnist(return_X_y=True)
    X = X[:60_000].reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4), dtype=np.float32).reshape(-1, 196)
    return _classes(X, y[:60_000], chosen)


@task("ionosphere")
def ionosphere(_: str) -> Task:
    """Without its constant column, as the papers count 33 features."""
    X, y = loaders.load_ionosphere(return_X_y=True)
    return Task(np.delete(X, 1, axis=1), y)


@task("ringnorm")
def ringnorm(_: str) -> Task:
    """The 7000 rows of the papers: the test part of the first realisation."""
    X, y = loaders.load_ringnorm(return_X_y=True)
    return Task(X[400:], y[400:])


@task("image")
def image(chosen: str) -> Task:
    """The 1010 rows of the papers (the test part of the first realisation), or "all" 2310."""
    X, y = loaders.load_image(return_X_y=True)
    return Task(X, y) if chosen == "all" else Task(X[1300:], y[1300:])


@task("adult")
def adult(size: str) -> Task:
    """The nested subsets; a5a to a7a are a4a and further rows of a8a, drawn at random, of the original sizes."""
    if size not in ADULT_SIZES:
        return Task(*loaders.load_adult(size, return_X_y=True))
    X, y = loaders.load_adult("a8a", return_X_y=True)
    core = loaders.load_adult("a4a").data.shape[0]
    further = np.random.default_rng(0).choice(np.arange(core, len(y)), ADULT_SIZES[size] - core, replace=False)
    rows = np.concatenate([np.arange(core), np.sort(further)])
    return Task(X[rows], y[rows])


@task("sklearn")
def sklearn_bundled(name: str) -> Task:
    return Task(*getattr(bundled, f"load_{name}")(return_X_y=True))


@task("thinned")
def thinned(name: str) -> Task:
    """ "digits-5" keeps a fifth of the rows of every other class, beginning with the second."""
    family, _, share = name.rpartition("-")
    whole = TASKS[family]("all")
    rng = np.random.default_rng(0)
    kept = []
    for i, c in enumerate(np.unique(whole.y)):
        members = np.flatnonzero(whole.y == c)
        kept.append(rng.choice(members, len(members) // int(share), replace=False) if i % 2 else members)
    rows = np.sort(np.concatenate(kept))
    return Task(whole.X[rows], whole.y[rows])


@task("corner")
def corner(number: str) -> Task:
    """A draw of two Gaussian halves that touch; 30 of the 600 rows of the second lie together far from all others.

    The best cut between the halves leaves 1.2 % of the rows on the wrong side. Where the corner becomes a cluster of
    its own, 52.5 % of the rows are right.
    """
    rng = np.random.default_rng(int(number))
    X = rng.standard_normal((2 * HALF, 2)) * np.repeat([[1.0], [0.3]], [2 * HALF - CORNER, CORNER], axis=0)
    X += np.repeat([[-2.25, 0.0], [2.25, 0.0], [9.0, 9.0]], [HALF, HALF - CORNER, CORNER], axis=0)
    rows = rng.permutation(len(X))
    return Task(X[rows], np.repeat([0, 1], HALF)[rows])


@lru_cache
def drawn_letter_pairs(n_pairs: int) -> tuple[str, ...]:
    """Some of the 325 pairs of letters, drawn once without replacement with seed 0, in the order of the alphabet."""
    every = pairs("letter", LETTERS)
    return tuple(every[i] for i in np.sort(np.random.default_rng(0).choice(len(every), n_pairs, replace=False)))


@lru_cache
def pairs(family: str, classes: str = "0123456789") -> tuple[str, ...]:
    """Names of all pairs of classes of a data set."""
    return tuple(f"{family}/{a}-{b}" for i, a in enumerate(classes) for b in classes[i + 1 :])
