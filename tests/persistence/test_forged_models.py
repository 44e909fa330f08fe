"""Forged model files, with checksums that match: refused when they are read, or they can be used in every way."""

import io
import json
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from _counts import tried
from _model_files import array_bytes, edited, forge, saved_parts, state_of
from widegap import CPM3C, MKC, DocumentClustering, IterSVR, MaxMarginClustering, TableEncoder, persistence, report
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.rows import shards

rng = np.random.default_rng(0)
ROWS = np.vstack([centre + rng.normal(size=(30, 3)) for centre in ([0, 0, 0], [6, 6, 6], [0, 9, 0])])
TEXTS = ["bread flour oven salt", "flour bread dough water", "goal match ball team", "ball goal team referee"] * 6
COUNTS = sparse.csr_array(CountVectorizer().fit_transform(TEXTS))
GRAM = ROWS @ ROWS.T
MODELS = {
    "max margin": lambda: MaxMarginClustering(3, random_state=0, outliers=0.05).fit(ROWS),
    "set aside": lambda: CPM3C(3, random_state=0, outliers=0.05).fit(ROWS),
    "kernels": lambda: MKC(3, kernels=["linear", "rbf"], random_state=0).fit(ROWS),
    "bisections": lambda: IterSVR(3, random_state=0).fit(ROWS),
    "documents": lambda: DocumentClustering(2, random_state=0).fit(TEXTS),
    "counts": lambda: DocumentClustering(2, random_state=0).fit(COUNTS),
    "sparse": lambda: CPM3C(3, kernel="rbf", n_init=1, random_state=0).fit(sparse.csr_array(ROWS)),
    "kernel matrix": lambda: MKC(2, kernels=["precomputed"], n_init=1, random_state=0).fit(GRAM),
}
OTHER_ROWS = {"documents": TEXTS, "counts": COUNTS, "kernel matrix": GRAM}


@pytest.fixture(scope="module", params=MODELS)
def saved(request, tmp_path_factory):
    """The parts of a model file, and rows to use it on."""
    path = tmp_path_factory.mktemp("model") / "m"
    return saved_parts(MODELS[request.param](), path), OTHER_ROWS.get(request.param, ROWS)


def use(model, X):
    """All that can be done with a model that was read from a file."""
    for name in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, name):
            getattr(model, name)(X[:5])
    if "reject" in signature(model.predict).parameters:
        try:
            model.predict(X[:5], reject=True)
        except NotSupportedError as error:
            assert "needs a fit that looked for outliers" in str(error)
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
        assert "is not a model file of widegap, or is damaged" in str(error)
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
    yield values.astype(values.dtype.newbyteorder())


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


# Sparse matrices ---------------------------------------------------------------------------------------------------

HUGE = 10**8


def wrapping(indptr):
    """Bounds that fall by more than an int32 can tell, so that their differences seem to rise."""
    found = indptr.astype(np.int32)
    found[1], found[2:-1] = 2**31 - 1, -(2**31) + 5
    return found


def replaced(values, places, value):
    found = values.copy()
    found[places] = value
    return found


SPARSE = {  # data, indices, indptr
    "seems empty": lambda d, i, p: (d, i, replaced(replaced(p, slice(1, -1), HUGE), -1, 0)),
    "differences wrap": lambda d, i, p: (d, i, wrapping(p)),
    "falls": lambda d, i, p: (d, i, replaced(p, 2, p[1] - 1)),
    "starts late": lambda d, i, p: (d, i, replaced(p, 0, 1)),
    "starts below": lambda d, i, p: (d, i, replaced(p, 0, -1)),
    "ends early": lambda d, i, p: (d, i, replaced(p, -1, p[-2])),
    "ends late": lambda d, i, p: (d, i, replaced(p, -1, HUGE)),
    "column beyond": lambda d, i, p: (d, replaced(i, -1, HUGE), p),
    "column below": lambda d, i, p: (d, replaced(i, 0, -1), p),
    "fewer values": lambda d, i, p: (d[:-1], i, p),
    "fewer rows": lambda d, i, p: (d, i, p[:-1]),
    "two axes": lambda d, i, p: (d, i[:, None], p),
    "floats as places": lambda d, i, p: (d, i.astype(float), p),
    "unsigned bounds": lambda d, i, p: (d, i, p.astype(np.uint64)),
    "values of two axes": lambda d, i, p: (np.column_stack([d, d]), i, p),
    "whole values": lambda d, i, p: (d.astype(np.int64), i, p),
}


@pytest.fixture(scope="module")
def sparse_landmarks(tmp_path_factory):
    """The parts of a model whose landmarks are a sparse matrix, and where that lies in its tree."""
    model = CPM3C(2, kernel="rbf", n_init=1, random_state=0).fit(sparse.csr_array(np.maximum(ROWS - 1, 0)))
    parts = saved_parts(model, tmp_path_factory.mktemp("sparse") / "m")
    return parts, state_of(parts)["kernel_map_"]["state"]["landmarks"]


@pytest.mark.parametrize("forgery", SPARSE)
def test_sparse_matrices_that_would_be_read_out_of_bounds(forgery, sparse_landmarks, tmp_path):
    parts, tree = sparse_landmarks
    names = [f"{part['part']}.npy" for part in tree["parts"]]
    forged = SPARSE[forgery](*(np.load(io.BytesIO(parts[name])) for name in names))
    changed = {name: array_bytes(values) for name, values in zip(names, forged, strict=True)}
    with pytest.raises(InvalidDataError, match="is damaged .*sparse matrix"):
        persistence.load(forge(tmp_path / "m", parts, **changed))


@pytest.mark.parametrize("shape", [[3], [-1, 3], [90, 2], [90.0, 3], [90, None], [90, 3, 1], "90"])
def test_sparse_matrices_of_another_shape(shape, sparse_landmarks, tmp_path):
    parts, _ = sparse_landmarks

    def reshape(document):
        document["model"]["state"]["kernel_map_"]["state"]["landmarks"]["shape"] = shape

    with pytest.raises(InvalidDataError, match="is damaged .*sparse matrix"):
        persistence.load(forge(tmp_path / "m", parts, **{"model.json": edited(parts, reshape)}))


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("forgery", ["seems empty", "differences wrap", "falls", "column beyond", "column below"])
def test_sparse_shards_that_would_be_read_out_of_bounds(kind, forgery, tmp_path):
    X = sparse.csr_array(np.maximum(ROWS, 0)[:, [0, 1, 2, 0, 1, 2]]).asformat(kind)
    data, indices, indptr = SPARSE[forgery](X.data, X.indices, X.indptr)
    np.savez(tmp_path / "X.npz", data=data, indices=indices, indptr=indptr, shape=X.shape, format=kind.encode())
    with pytest.raises(InvalidDataError, match="cannot be read as .npz"):
        shards([tmp_path / "X.npz"])


# Attributes of whole objects ---------------------------------------------------------------------------------------


def test_a_model_that_cannot_reject_is_refused(tmp_path):
    parts = saved_parts(MODELS["max margin"](), tmp_path / "m")
    for change in (
        lambda document: document["model"]["state"].pop("reject_below_"),
        lambda document: document["model"]["state"].update(reject_below_={"$": "float", "value": "nan"}),
    ):
        with pytest.raises(InvalidDataError, match="is damaged .*reject_below_"):
            persistence.load(forge(tmp_path / "forged", parts, **{"model.json": edited(parts, change)}))


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("source", "columns", "the columns of a kernel are not among the 3"),
        ("source", [0, 1, 10**9], "the columns of a kernel are not among the 3"),
        ("transformer", "PCA", "a kernel has a transformer"),
        ("n_features", 2, "a kernel has 2 columns, not 3"),
    ],
)
def test_kernels_that_look_elsewhere(attribute, value, message, tmp_path):
    parts = saved_parts(MODELS["kernels"](), tmp_path / "m")

    def change(document):
        document["model"]["state"]["kernel_map_"]["state"]["kernels"][1]["state"][attribute] = value

    with pytest.raises(InvalidDataError, match=f"is damaged .*{message}"):
        persistence.load(forge(tmp_path / "forged", parts, **{"model.json": edited(parts, change)}))


# Tables ------------------------------------------------------------------------------------------------------------

ODD = [None, True, -1, 10**9, float("nan"), "odd", [], ["odd"], [[1.0]], {}, {"odd": 1}]


def leaves(value, path=()):
    """The places of all values in plain JSON, containers included."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from leaves(item, (*path, key))


def put(document, path, value):
    for key in path[:-1]:
        document = document[key]
    document[path[-1]] = value


@pytest.fixture(scope="module")
def messy():
    """A table with a column of each kind."""
    n = len(ROWS)
    return pd.DataFrame(
        {
            "width": ROWS[:, 0],
            "price": [f"{value:.2f}" if i % 9 else "" for i, value in enumerate(ROWS[:, 1])],
            "member": ["yes" if i % 2 else "no" for i in range(n)],
            "colour": [("red", "blue", "green")[i % 3] for i in range(n)],
            "day": [f"2024-01-{1 + i % 28:02d}" for i in range(n)],
            "at": [f"{i % 24:02d}:30" for i in range(n)],
            "note": [TEXTS[i % len(TEXTS)] for i in range(n)],
        }
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dates", ["elapsed", "parts"])
def test_encoders_with_odd_values(dates, messy, tmp_path):
    encoder = TableEncoder(text_columns=["note"], dates=dates)
    model = make_pipeline(encoder, CPM3C(2, n_init=1, random_state=0)).fit(messy)
    parts = saved_parts(model, tmp_path / "m")
    table = json.loads(parts["model.json"])["table"]
    assert {"number", "yes/no", "category", "date", "time", "text"} <= {c["read_as"] for c in table["columns"]}
    places = [path for path in leaves(table) if path and not (len(path) > 4 and path[-1])]  # the first of long lists
    n_refused = 0
    for number, path in enumerate(places):
        for odd in ODD[number % 2 :: 2]:
            changed = edited(parts, lambda d, p=path, v=odd: put(d["table"], p, v))
            forged = forge(tmp_path / "forged", parts, **{"model.json": changed})
            tried("forged model files", 1)
            try:
                found, _ = persistence.load(forged)
            except InvalidDataError as error:
                assert "is not a model file of widegap, or is damaged" in str(error)
                n_refused += 1
                continue
            try:
                found.predict(messy)
            except InvalidDataError:  # of a table that lacks the columns of the model
                pass
    assert n_refused > 100
