"""Forged model files, with checksums that match: refused when they are read, or they can be used in every way."""

import io

import numpy as np
import pytest

from _counts import tried
from _model_files import array_bytes, edited, forge, saved_parts, state_of
from widegap import CPM3C, MKC, DocumentClustering, IterSVR, MaxMarginClustering, persistence, report
from widegap.exceptions import InvalidDataError, NotSupportedError

rng = np.random.default_rng(0)
ROWS = np.vstack([centre + rng.normal(size=(30, 3)) for centre in ([0, 0, 0], [6, 6, 6], [0, 9, 0])])
TEXTS = ["bread flour oven salt", "flour bread dough water", "goal match ball team", "ball goal team referee"] * 6
MODELS = {
    "max margin": lambda: MaxMarginClustering(3, random_state=0, outliers=0.05).fit(ROWS),
    "set aside": lambda: CPM3C(3, random_state=0, outliers=0.05).fit(ROWS),
    "kernels": lambda: MKC(3, kernels=["linear", "rbf"], random_state=0).fit(ROWS),
    "bisections": lambda: IterSVR(3, random_state=0).fit(ROWS),
    "documents": lambda: DocumentClustering(2, random_state=0).fit(TEXTS),
}


@pytest.fixture(scope="module", params=MODELS)
def saved(request, tmp_path_factory):
    """The parts of a model file, and rows to use it on."""
    path = tmp_path_factory.mktemp("model") / "m"
    return saved_parts(MODELS[request.param](), path), TEXTS if request.param == "documents" else ROWS


def use(model, X):
    """All that can be done with a model that was read from a file."""
    for name in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, name):
            getattr(model, name)(X[:5])
    for call in (lambda: model.cut(2), lambda: model.with_clusters(2), lambda: model.questions(2)):
        with pytest.raises((NotSupportedError, AttributeError), match="model file|has no attribute"):
            call()
    if hasattr(model, "tree_"):
        model.tree_.to_linkage()
    try:
        report.render(report.summarize(model, X))
    except InvalidDataError as error:  # fewer labels are those of other rows
        assert "labels has" in str(error)


def refused_or_usable(path, X):
    tried("forged model files", 1)
    try:
        model, _ = persistence.load(path)
    except InvalidDataError as error:
        assert "is no model file of widegap, or a damaged one" in str(error)
        return True
    use(model, X)
    return False


def variants(values):
    """What may stand in the place of an array."""
    yield values * np.nan if values.dtype.kind == "f" else -values - 1
    yield values[:-1]
    yield values[:0]
    yield values[::-1]
    yield values.T
    yield values * 0 + 10**6
    yield np.zeros(values.shape, "U3")
    yield values.astype(np.float32)


@pytest.mark.filterwarnings("ignore")  # of numbers that make no sense
def test_arrays_that_were_changed(saved, tmp_path):
    parts, X = saved
    n_refused = 0
    for name in [name for name in parts if name.endswith(".npy")]:
        for values in variants(np.load(io.BytesIO(parts[name]))):
            path = forge(tmp_path / "m", parts, **{name: array_bytes(np.ascontiguousarray(values))})
            n_refused += refused_or_usable(path, X)
    assert n_refused > 10


@pytest.mark.filterwarnings("ignore")
def test_attributes_that_are_missing(saved, tmp_path):
    parts, X = saved
    n_refused = sum(
        refused_or_usable(
            forge(tmp_path / "m", parts, **{"model.json": edited(parts, lambda d, n=name: d["model"]["state"].pop(n))}),
            X,
        )
        for name in state_of(parts)
        if name.endswith("_") or name.startswith("_")
    )
    assert n_refused > 3


@pytest.mark.parametrize(
    "merges",
    [
        [[0, 10**9], [1, 2]],  # beyond the array that a compiled loop writes to
        [[0, -5], [1, 3]],
        [[0, 3], [1, 2]],  # a group that is not made yet
        [[0, 1], [0, 2]],  # one that is gone
        [[0, 1]],
    ],
)
def test_trees_that_are_none(merges, tmp_path):
    parts = saved_parts(MODELS["max margin"](), tmp_path / "m")
    tree = state_of(parts)["tree_"]["state"]
    names = {key: f"{tree[key]['part']}.npy" for key in ("merges", "margins", "sizes", "leaf_sizes")}
    small = {
        names["merges"]: np.array(merges),
        names["margins"]: np.ones(2),
        names["sizes"]: np.array([20, 30]),
        names["leaf_sizes"]: np.array([10, 10, 10]),
    }
    path = forge(tmp_path / "forged", parts, **{name: array_bytes(values) for name, values in small.items()})
    with pytest.raises(InvalidDataError, match="its tree"):
        persistence.load(path)
