"""Types of the public surface: all annotated, as ``typing_example.py`` says, which ``make lint`` has mypy check."""

import inspect
from importlib import resources

import pytest
import typing_example

import widegap
from widegap._catalogue import ESTIMATORS

METHODS = ("fit", "predict", "fit_predict", "decision_function")
FUNCTIONS = [
    (module, name)
    for module in sorted(set(widegap.__all__) - set(ESTIMATORS))
    for name in getattr(getattr(widegap, module), "__all__", ())
    if inspect.isfunction(getattr(getattr(widegap, module), name))
]


def missing(function):
    """Parts of a signature without a type."""
    signature = inspect.signature(function)
    found = [name for name, part in signature.parameters.items() if part.annotation is part.empty and name != "self"]
    return found + (["return"] if signature.return_annotation is signature.empty else [])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_methods_have_types(name):
    assert {method: missing(getattr(getattr(widegap, name), method)) for method in METHODS} == dict.fromkeys(
        METHODS, []
    )


@pytest.mark.parametrize(("module", "name"), FUNCTIONS)
def test_functions_have_types(module, name):
    assert missing(getattr(getattr(widegap, module), name)) == []


def test_the_package_says_that_it_has_types():
    assert resources.files("widegap").joinpath("py.typed").is_file()


def test_the_example_runs(tmp_path):
    typing_example.use(str(tmp_path / "model"))
    with pytest.raises(TypeError, match="unexpected keyword argument 'clusters'"):
        typing_example.misuse(widegap.MaxMarginClustering())
