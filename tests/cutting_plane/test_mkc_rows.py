"""MKC on rows that are not in memory: the same answer in every form, what is held and what is read again."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import rbf_kernel

from widegap import MKC
from widegap.constraints import _side_information as _say
from widegap.exceptions import InvalidDataError, KernelWarning
from widegap.features import _kernel_stack
from widegap.features._kernel_specs import TableColumns, read_specs
from widegap.rows import RowBlocks, shards
from widegap.rows._sources import ArraySource, row_blocks

N, D = 6000, 8
KERNELS = ["linear", "poly", ("left", "rbf", slice(0, 5)), ("own", lambda A, B: rbf_kernel(A, B, gamma=0.02), [0, 6])]


def rows(n=N, d=D):
    X = make_blobs(n, d, centers=3, cluster_std=3.0, random_state=0)[0]
    X[np.abs(X) < 2] = 0
    return X


def model(k=3, **settings):
    return MKC(k, **{"kernels": KERNELS, "n_components": 20, "random_state": 0, **settings})


def as_columns(X):
    import pyarrow as pa

    return pa.table({f"c{j}": column for j, column in enumerate(X.T)})


def write_parquet(X, folder):
    import pyarrow.parquet as pq

    pq.write_table(as_columns(X), folder / "X.parquet", row_group_size=700)
    return shards([folder / "X.parquet"])


def write_feather(X, folder):
    from pyarrow import feather

    feather.write_feather(as_columns(X), folder / "X.feather", compression="uncompressed", chunksize=900)
    return shards([folder / "X.feather"])


def write_memmap(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def write_shards(X, folder):
    for i, part in enumerate(np.split(X, [1, 2500])):
        np.save(folder / f"{i}.npy", part)
    return shards([folder / f"{i}.npy" for i in range(3)])


def write_csr(X, folder):
    for i, part in enumerate(np.split(X, [1, 2500])):
        sp.save_npz(folder / f"{i}.npz", sp.csr_array(part))
    return shards([folder / f"{i}.npz" for i in range(3)])


FORMS = {
    "memmap": write_memmap,
    "npy": write_shards,
    "csr": write_csr,
    "parquet": write_parquet,
    "feather": write_feather,
}


@pytest.fixture(scope="module")
def expected():
    return model().fit(rows())


@pytest.mark.parametrize("held", [True, False], ids=["held", "mapped"])
@pytest.mark.parametrize("form", FORMS)
def test_the_answer_is_that_of_the_same_rows_in_memory(form, held, expected, tmp_path, monkeypatch):
    monkeypatch.setattr("widegap.rows._sources.TABLE_BYTES", (64 << 20) * held)
    monkeypatch.setattr("widegap.rows._sources.BLOCK_BYTES", 30_000)  # several pieces of a span
    X = rows()
    found = model().fit(FORMS[form](X, tmp_path))
    assert_array_equal(found.labels_, expected.labels_)
    for name in ("kernel_weights_", "kernel_margins_", "kernel_ranks_", "coef_"):
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-6, atol=1e-9)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    assert len(found.history_) == len(expected.history_)
    assert_array_equal(found.predict(FORMS[form](X, tmp_path)), expected.predict(X))


class CountedSource(ArraySource):
    """Rows as in a file, which count how often they are read."""

    def __init__(self, X):
        super().__init__(X)
        self.in_memory, self.reads = False, 0

    def read(self, start, stop):
        self.reads += stop - start
        return super().read(start, stop)


def test_features_are_held_where_their_table_is_small_and_made_in_every_pass_otherwise(monkeypatch):
    X = rows()
    width = sum(model().fit(X).kernel_map_.sizes)
    reads = {}
    for limit in (N * width * 8, N * width * 8 - 1):
        monkeypatch.setattr("widegap.rows._sources.TABLE_BYTES", limit)
        source = CountedSource(X)
        found = model().fit(RowBlocks([source]))
        reads[limit] = source.reads / N
    held, mapped = reads.values()
    assert held <= 4  # landmarks, sample, features
    assert mapped >= held + found.history_[-1].passes - 1


def test_what_is_held_grows_by_labels_and_codes_alone(monkeypatch):
    monkeypatch.setattr("widegap.rows._sources.TABLE_BYTES", 0)
    monkeypatch.setattr("widegap.rows._sources.BLOCK_BYTES", 1 << 18)
    X = rows(80_000).astype(np.float32)
    peaks = []
    for n in (20_000, 80_000):
        tracemalloc.start()
        found = MKC(3, kernels=["linear", "rbf"], n_components=40, random_state=0, n_jobs=1, n_init=1).fit(
            RowBlocks([CountedSource(X[:n])])
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    a_row = (peaks[1] - peaks[0]) / 60_000
    assert sum(found.kernel_map_.sizes) * 4 > 180
    # Three labelings of 4 bytes and the codes of up to 24 cuts, one of them being made; features take 190 bytes.
    assert a_row < 3 * 4 + 26


@pytest.mark.parametrize("views", [False, True], ids=["table", "views"])
def test_features_of_rows_in_memory_are_formed_once(views, monkeypatch):
    formed, original = [], _kernel_stack._settled
    monkeypatch.setattr(_kernel_stack, "_settled", lambda *args: formed.append(args[1]) or original(*args))
    X = rows(200)
    stack, features = _kernel_stack.fit_kernel_stack(
        {"x": X} if views else row_blocks(X),
        read_specs(["linear", "rbf"], ["x"] if views else TableColumns(D, None)),
        n_components=30,
        normalize=True,
        n_threads=1,
        rng=np.random.default_rng(0),
    )
    assert np.shares_memory(formed[0].sources[0].X, features.sources[0].X)
    expected = stack.transform({"x": X} if views else X)
    assert_allclose(features.take(np.arange(200)), expected, rtol=1e-9, atol=1e-12)


def test_side_information_is_read_once(monkeypatch):
    calls = []
    original = _say.read_constraints
    monkeypatch.setattr(_say, "read_constraints", lambda *a, **k: calls.append(a) or original(*a, **k))
    model().fit(rows(300), must_link=[(0, 1)])
    assert len(calls) == 1


def test_a_precomputed_kernel_in_a_file(tmp_path, monkeypatch):
    X = rows(900)
    K = rbf_kernel(X, gamma=0.02)
    expected = MKC(3, kernels=["precomputed"], random_state=0).fit(K)
    monkeypatch.setattr("widegap.rows._sources.TABLE_BYTES", 0)
    found = MKC(3, kernels=["precomputed"], random_state=0).fit(write_memmap(K, tmp_path))
    assert_array_equal(found.labels_, expected.labels_)
    assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-9)
    with pytest.raises(InvalidDataError, match=r"shape \(900, 8\); in fit it must be square"):
        MKC(3, kernels=["precomputed"]).fit(write_shards(X[:900], tmp_path))


def test_transformers_see_all_rows_that_may_be_held_and_a_sample_of_others(tmp_path, monkeypatch):
    class Recorded(PCA):
        seen = 0

        def fit(self, X, y=None):
            Recorded.seen = len(X)
            return super().fit(X)

    kernels = ["rbf", ("two", Recorded(2), slice(0, 4))]
    X = rows()
    expected = model(kernels=kernels).fit(X)
    files = write_shards(X, tmp_path)
    found = model(kernels=kernels).fit(files)
    assert Recorded.seen == N
    assert_array_equal(found.labels_, expected.labels_)
    assert_allclose(found.kernel_weights_, expected.kernel_weights_, rtol=1e-6)
    monkeypatch.setattr("widegap.rows._sources.TABLE_BYTES", 0)
    found = model(kernels=kernels).fit(files)
    assert Recorded.seen == 5000
    assert (found.labels_ != expected.labels_).mean() < 0.01


@pytest.mark.parametrize("place", [0, N - 1])
def test_rows_in_files_that_are_not_finite(place, tmp_path):
    X = rows()
    X[place, 3] = np.nan
    with pytest.raises(InvalidDataError, match="X contains NaN, infinity, .*impute, drop or rescale"):
        model().fit(write_shards(X, tmp_path))


def test_a_kernel_that_is_constant_on_all_rows_has_no_columns(tmp_path, monkeypatch):
    monkeypatch.setattr("widegap.rows._sources.TABLE_BYTES", 0)
    X = np.hstack([rows(), np.full((N, 1), 3.0)])
    kernels = [("same", "linear", [D]), ("rest", "linear", slice(0, D))]
    with pytest.warns(KernelWarning, match="'same' is constant"):
        found = model(kernels=kernels).fit(write_shards(X, tmp_path))
    assert found.kernel_weights_[0] == 0
    assert found.coef_.shape == (3, D)
    assert_array_equal(found.labels_, model(kernels=kernels[1:]).fit(rows()).labels_)
