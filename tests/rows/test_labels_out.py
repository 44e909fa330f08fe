"""Labels written to a file: the same as in memory, nothing of length n in memory meanwhile, and no harm to copies."""

import pickle
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widegap import CPM3C, M2DCU, MKC, MaxMarginClustering, persistence
from widegap._atomic import replacing
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.rows import _state_files, shards
from widegap.rows._state_files import StateFolder

X = make_blobs(12_000, 6, centers=4, cluster_std=2.0, random_state=0)[0].astype(np.float32)
MODELS = {
    "CPM3C": CPM3C(4, random_state=0),
    "one cluster": CPM3C(1),
    "bound": CPM3C(4, random_state=0, min_cluster_fraction=0.999, n_init=1, max_iter=5),
    "M2DCU": M2DCU(4, random_state=0, C_universum=0),
    "MKC": MKC(4, kernels=["linear", "rbf"], n_components=10, n_init=1, random_state=0),
    "MaxMarginClustering": MaxMarginClustering(4, random_state=0, search="merge"),
    "moves": MaxMarginClustering(4, random_state=0, search="moves", n_init=2),
}


@pytest.mark.filterwarnings("ignore:CPM3C stopped after max_iter")
@pytest.mark.parametrize("name", MODELS)
def test_labels_are_those_in_memory(name, tmp_path):
    path = tmp_path / "labels.npy"
    expected = clone(MODELS[name]).fit(X).labels_
    model = clone(MODELS[name]).set_params(labels_out=path).fit(X)
    assert isinstance(model.labels_, np.memmap) and not model.labels_.flags.writeable
    assert model.labels_.dtype == expected.dtype
    assert_array_equal(model.labels_, expected)
    assert_array_equal(np.load(path), expected)
    assert [child.name for child in tmp_path.iterdir()] == ["labels.npy"]


def test_states_lie_in_files(tmp_path, monkeypatch):
    made = []

    def counted(self, shape, dtype):
        made.append(shape)
        return original(self, shape, dtype)

    original = StateFolder.__call__
    monkeypatch.setattr(StateFolder, "__call__", counted)
    np.save(tmp_path / "X.npy", X)
    rows = shards([tmp_path / "X.npy"])
    for model in (MODELS["CPM3C"], MODELS["MaxMarginClustering"]):
        made.clear()
        clone(model).set_params(labels_out=tmp_path / "labels.npy").fit(rows)
        assert made and {shape[0] for shape in made} == {len(X)}


@pytest.mark.parametrize("cls", [CPM3C, MaxMarginClustering])
def test_the_file_is_written_once_with_a_label_for_every_row(cls, tmp_path, monkeypatch):
    path, written = tmp_path / "labels.npy", []

    @contextmanager
    def counted(target):
        with replacing(target) as temporary:
            yield temporary
            written.append(np.load(temporary).shape)

    monkeypatch.setattr(_state_files, "replacing", counted)
    rows, weights = X[:400], np.ones(400)
    weights[[0, 7, 9]] = 0
    model = cls(4, random_state=0, outliers=0.05, labels_out=path).fit(rows, sample_weight=weights)
    assert written == [(400,)]
    expected = cls(4, random_state=0, outliers=0.05).fit(rows, sample_weight=weights).labels_
    assert_array_equal(model.labels_, expected)
    assert_array_equal(np.load(path), expected)


def test_a_fit_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "labels.npy"
    np.save(path, np.arange(3))

    def fail(self, X, labels):
        raise RuntimeError("no rejection")

    monkeypatch.setattr(CPM3C, "_note_outliers", fail)
    with pytest.raises(RuntimeError, match="no rejection"):
        CPM3C(4, random_state=0, outliers=0.05, labels_out=path).fit(X[:400])
    assert_array_equal(np.load(path), np.arange(3))


def test_another_fit_leaves_the_labels_of_the_first(tmp_path):
    path = str(tmp_path / "labels.npy")
    first = CPM3C(4, random_state=0, labels_out=path).fit(X)
    before = np.array(first.labels_)
    second = clone(first).set_params(n_clusters=3).fit(X)
    assert_array_equal(first.labels_, before)
    assert_array_equal(np.load(path), second.labels_)


def test_copies_and_model_files_hold_the_labels(tmp_path):
    model = CPM3C(4, random_state=0, labels_out=tmp_path / "labels.npy").fit(X)
    assert_array_equal(pickle.loads(pickle.dumps(model)).labels_, model.labels_)
    persistence.save(model, tmp_path / "model")
    loaded, _ = persistence.load(tmp_path / "model")
    assert loaded.labels_out is None
    assert_array_equal(loaded.labels_, model.labels_)
    assert_array_equal(loaded.predict(X), model.predict(X))


def test_in_a_pipeline(tmp_path):
    path = tmp_path / "labels.npy"
    found = make_pipeline(StandardScaler(), CPM3C(4, random_state=0, labels_out=path)).fit_predict(X)
    assert_array_equal(found, np.load(path))


def test_a_checkpoint_does_not_mind(tmp_path):
    settings = {"random_state": 0, "checkpoint": tmp_path / "checkpoint"}
    expected = CPM3C(4, **settings).fit(X).labels_
    assert_array_equal(CPM3C(4, labels_out=tmp_path / "labels.npy", **settings).fit(X).labels_, expected)


def test_names_that_cannot_be(tmp_path):
    with pytest.raises(InvalidDataError, match=r"labels\.csv' must end in \.npy; rename it"):
        CPM3C(4, labels_out=tmp_path / "labels.csv").fit(X)
    with pytest.raises(InvalidDataError, match="the folder .* does not exist; create it"):
        CPM3C(4, labels_out=tmp_path / "none" / "labels.npy").fit(X)


def test_rows_of_dask_keep_lazy_labels(tmp_path):
    da = pytest.importorskip("dask.array")
    with pytest.raises(NotSupportedError, match="write the labels by Dask, such as dask.array.to_npy_stack"):
        CPM3C(4, labels_out=tmp_path / "labels.npy").fit(da.from_array(X, chunks=(4000, -1)))
