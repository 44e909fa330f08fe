"""Public functions beside the estimators, called with odd arguments: an answer, or an error with a reason.

The same rule as for fits (``test_fuzz.py``): a result, or an error of the package, ValueError or TypeError, whose words
say more than a word.
"""

import warnings
from inspect import Parameter, signature

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from test_fuzz import OPTIONS, tables, within

from _counts import tried
from widegap import CPM3C, TableEncoder, describe, image, metrics, persistence, report, selection, universum
from widegap.exceptions import WidegapError
from widegap.selection import _kernel_lists

X = np.vstack([np.random.default_rng(0).normal(size=(8, 2)), 7 + np.random.default_rng(1).normal(size=(8, 2))])
MODEL = CPM3C(2, random_state=0).fit(X)

ODD = [
    None, -1, 0, 1, 2, 3, 17, 10**9, 10**30, -5, 0.5, 1e300, float("nan"), float("inf"), True, "", "auto", "x" * 50,
    b"\0", [], [0], [0, 1], [1, "a"], [[1, 2], [3]], {}, {"a": 1}, (), (1, 2, 3), range(3), object(), np.float32(0.3),
    np.array(3), np.zeros(16, int), np.arange(16) % 2, np.arange(16), np.full(16, -1), np.full(16, 10**12),
    np.zeros(16), np.zeros(0), np.array([None] * 16), np.array(["a", "b"] * 8), X, X[:0], X[:, :1], X.astype(object),
    sp.csr_array(X),
    np.zeros((4, 4, 3)), np.zeros((4, 4, 3), np.uint8), np.zeros((1, 1)), np.zeros((0, 3, 3), np.uint8), MODEL,
    CPM3C(2),
]  # fmt: skip

ENTRIES = {
    "describe.is_fitted_on": describe.is_fitted_on,
    "describe.labels": describe.labels,
    "describe.scores": describe.scores,
    "describe.leads": describe.leads,
    "describe.contrasts": describe.contrasts,
    "describe.margin_bins": describe.margin_bins,
    "describe.margin_profile": describe.margin_profile,
    "describe.spread_sample": describe.spread_sample,
    "describe.layout": describe.layout,
    "image.segment": image.segment,
    "image.pixel_features": image.pixel_features,
    "image.overlay": image.overlay,
    "image.paint": image.paint,
    "universum.rest": universum.rest,
    "universum.random": universum.random,
    "universum.means": universum.means,
    "universum.select": universum.select,
    "universum.boundary": universum.boundary,
    "metrics.clustering_accuracy": metrics.clustering_accuracy,
    "metrics.clustering_error": metrics.clustering_error,
    "metrics.balanced_clustering_error": metrics.balanced_clustering_error,
    "metrics.rand_index": metrics.rand_index,
    "metrics.normalized_mutual_info": metrics.normalized_mutual_info,
    "report.summarize": report.summarize,
    "report.render": report.render,
    "selection.compare_cluster_numbers": selection.compare_cluster_numbers,
    "selection.choose_kernels": _kernel_lists.choose_kernels,
    "selection.sort_records": _kernel_lists.sort_records,
    "persistence.load": persistence.load,
    "TableEncoder.fit": lambda rows: TableEncoder().fit_transform(rows),
}
# A call that works, so that one odd argument among right ones is also tried.
RIGHT = {
    "describe": (MODEL, X, 2),
    "describe.leads": (MODEL.decision_function(X), MODEL.labels_),
    "describe.contrasts": (X, MODEL.labels_, 2),
    "describe.layout": (X, None, np.arange(16)),
    "describe.margin_profile": (np.arange(16.0), [0.0, 5.0, 20.0]),
    "describe.spread_sample": (MODEL.labels_, 4),
    "image": (np.zeros((4, 4, 3), np.uint8) + np.arange(4, dtype=np.uint8)[:, None], np.zeros((4, 4), int)),
    "image.segment": (np.zeros((4, 4, 3), np.uint8) + 60 * np.arange(4, dtype=np.uint8)[:, None], 2),
    "universum": (X, 2, 2),
    "universum.rest": (X, MODEL.labels_, [0]),
    "universum.select": (X, X, 2),
    "universum.boundary": (X, MODEL),
    "metrics": (MODEL.labels_, MODEL.labels_),
    "report": (MODEL, X),
    "selection": (X, [2, 3]),
    "persistence": ("no-such-file",),
    "TableEncoder": (X,),
}


def right_arguments(name):
    """Arguments of a call that works, and how many of them it needs."""
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    found = [each for each in signature(ENTRIES[name]).parameters.values() if each.kind in positional]
    needed = sum(each.default is Parameter.empty for each in found)
    return list(RIGHT.get(name, RIGHT[name.split(".")[0]])[: len(found)]), needed


@st.composite
def calls(draw):
    name = draw(st.sampled_from(sorted(ENTRIES)))
    arguments, needed = right_arguments(name)
    for place in range(len(arguments)):
        if draw(st.booleans()):
            arguments[place] = draw(st.sampled_from(ODD)) if draw(st.integers(0, 3)) else draw(tables())
    return name, arguments[: draw(st.integers(min(needed, len(arguments)), len(arguments)))]


def check(name, arguments):
    with warnings.catch_warnings(), within(30):
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        # pandas overflows where it shows halves of single precision, as our messages do.
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"pandas\.io\.formats")
        try:
            ENTRIES[name](*arguments)
        except (WidegapError, ValueError, TypeError, FileNotFoundError) as error:
            assert len(str(error)) > 12, (name, arguments, repr(error))
        except Exception as error:
            raise AssertionError(f"{name}{tuple(arguments)!r}: {error!r}") from error
    tried("calls of public functions with odd arguments", 1)


@given(calls())
@settings(max_examples=300, **OPTIONS)
def test_functions_with_odd_arguments(call):
    check(*call)


@pytest.mark.slow
@given(calls())
@settings(max_examples=20_000, **OPTIONS)
def test_many_functions_with_odd_arguments(call):
    check(*call)
