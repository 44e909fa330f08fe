"""What comes with the package: it loads anywhere, and its documentation names every parameter."""

import inspect

import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits as load_sklearn_digits

from widegap import datasets

LOADERS = [datasets.load_digits, datasets.load_docstrings]


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv("WIDEGAP_DATA", raising=False)


def test_all_loaders_are_tried_here():
    found = [value for name, value in vars(datasets).items() if name.startswith("load_")]
    assert [value for value in found if value.__module__ == datasets.__name__] == LOADERS


def test_digits():
    X, y = load_sklearn_digits(return_X_y=True)
    bunch = datasets.load_digits()
    assert_array_equal(bunch.data, X)
    assert_array_equal(bunch.target, y)
    assert_array_equal(datasets.load_digits(return_X_y=True)[0], X)


def test_docstrings_come_in_a_fixed_order():
    first, second = datasets.load_docstrings(), datasets.load_docstrings()
    assert first.data == second.data == sorted(set(first.data))
    assert sorted(set(first.target)) == ["files", "internet", "numbers", "threads"]
    assert len(first.data) == len(first.target) > 500
    assert min(len(text.split()) for text in first.data) >= 12


@pytest.mark.parametrize("loader", LOADERS, ids=lambda loader: loader.__name__)
def test_bunches_say_what_they_hold(loader):
    bunch = loader()
    assert loader.__name__ == f"load_{bunch.name}"
    assert bunch.description
    data, target = loader(return_X_y=True)
    assert len(data) == len(target) == len(bunch.target)


@pytest.mark.parametrize("loader", LOADERS, ids=lambda loader: loader.__name__)
def test_every_parameter_is_documented(loader):
    for parameter in inspect.signature(loader).parameters:
        assert f"\n{parameter} : " in inspect.getdoc(loader)
    assert "\nReturns\n-------\n" in inspect.getdoc(loader)
