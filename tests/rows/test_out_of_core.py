"""Data larger than the memory that a process may allocate, and the labels of the same rows in memory.

``RLIMIT_DATA`` bounds what is allocated; read-only mappings of files do not count. The imported packages take about
300 MB, which are part of the larger limit and come on top of the smaller one. Files are written in pieces.
"""

import subprocess
import sys
import threading
import weakref
from functools import lru_cache

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from widegap import CPM3C, M2DCU, MKC, MaxMarginClustering
from widegap.rows import RowBlocks, shards
from widegap.rows._sources import ArraySource

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory by RLIMIT_DATA of Linux")

FIT = """
import re, resource, sys
import numpy as np
from widegap import CPM3C, M2DCU, MKC, MaxMarginClustering
from widegap.rows import shards
from widegap.forest import _search_space

limit, method, out, *paths = sys.argv[1:]
if paths[0].endswith(("parquet", "feather")):
    import pyarrow.parquet
warm = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)  # compiled before the limit
CPM3C(3, random_state=0, max_iter=3).fit(warm)
if limit.startswith("+"):
    _search_space.SEARCH_ROWS = 2000  # a search of 10 000 rows takes long, and most of such a limit
    limit = int(limit) + 1024 * int(re.search(r"VmData:\\s+(\\d+)", open("/proc/self/status").read()).group(1))
resource.setrlimit(resource.RLIMIT_DATA, (int(limit), int(limit)))
if paths[0].endswith(".bin"):
    X = np.memmap(paths[0], np.float32, "r").reshape(-1, 50)
else:
    X = shards(paths)
model = eval(method)
model.fit(X)
np.save(out, model.labels_)
"""


def fit_within(limit, method, paths, folder):
    """Labels of a fit in a process that may allocate ``limit`` bytes."""
    out = folder / "found.npy"
    command = [sys.executable, "-W", "ignore", "-c", FIT, str(limit), method, str(out), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return np.load(out)


def piece(n, i, d=50):
    """Float32 rows around three centres."""
    rng = np.random.default_rng(i)
    centres = 6 * np.random.default_rng(0).normal(size=(3, d)).astype(np.float32)
    return centres[rng.integers(0, 3, n)] + rng.standard_normal((n, d), np.float32)


def sparse_piece(n, i, d=50):
    X = piece(n, i, d)
    X[np.random.default_rng(i).random(X.shape) < 0.5] = 0
    return sp.csr_array(X)


def write_npy(folder, n_pieces, n, d=50):
    paths = [folder / f"{i}.npy" for i in range(n_pieces)]
    for i, path in enumerate(paths):
        np.save(path, piece(n, i, d))
    return paths


def write_csr(folder, n_pieces, n, d=50):
    paths = [folder / f"{i}.npz" for i in range(n_pieces)]
    for i, path in enumerate(paths):
        sp.save_npz(path, sparse_piece(n, i, d), compressed=False)
    return paths


def write_parquet(folder, n_pieces, n):
    import pyarrow.parquet as pq

    path = folder / "X.parquet"
    with pq.ParquetWriter(path, schema(), compression="none") as writer:
        for i in range(n_pieces):
            writer.write_table(columns(n, i))
    return [path]


def write_feather(folder, n_pieces, n):
    import pyarrow as pa

    path = folder / "X.feather"
    with pa.ipc.new_file(str(path), schema()) as writer:
        for i in range(n_pieces):
            writer.write_table(columns(n, i))
    return [path]


def schema():
    import pyarrow as pa

    return pa.schema([(f"c{j}", pa.float32()) for j in range(50)])


def columns(n, i):
    """A piece as a table of Arrow."""
    import pyarrow as pa

    return pa.table(list(piece(n, i).T), schema=schema())


def write_bin(folder, n_pieces, n):
    with open(folder / "X.bin", "wb") as file:
        for i in range(n_pieces):
            file.write(piece(n, i).tobytes())
    return [folder / "X.bin"]


WRITERS = {
    "npy": write_npy,
    "csr": write_csr,
    "parquet": write_parquet,
    "feather": write_feather,
    "memmap": write_bin,
}
MODEL = "CPM3C(3, random_state=0, n_init=1, n_jobs=2)"
UNIVERSUM = "M2DCU(3, random_state=0, C_universum=0, n_init=1, n_jobs=2)"
FRONT_DOOR = "MaxMarginClustering(3, random_state=0)"
KERNELS = 'MKC(3, kernels=["linear", "rbf"], n_components=20, tol=0.05, n_init=1, random_state=0, n_jobs=2)'


def check(form, method, folder, n_pieces, n, limit, **columns):
    paths = WRITERS[form](folder, n_pieces, n, **columns)
    size = sum(path.stat().st_size for path in paths)
    try:
        labels = fit_within(limit, method, paths, folder)
    finally:
        for path in paths:  # pytest would keep them
            path.unlink()
    assert len(labels) == n_pieces * n
    assert (np.bincount(labels) > len(labels) / 5).all()
    return size


@pytest.mark.parametrize("form, method", [("npy", MODEL), ("csr", UNIVERSUM), ("parquet", FRONT_DOOR)])
def test_400_mb_within_300(form, method, tmp_path):
    assert check(form, method, tmp_path, 20, 100_000, f"+{300 << 20}") > 400e6 * 0.95


@pytest.mark.slow  # what is held is counted, of fewer rows, by test_a_thread_holds_two_pieces_at_most
def test_400_mb_of_several_kernels_within_300(tmp_path):
    # A table of the features, 40 columns, would take more than the 64 MiB up to which it is held.
    assert check("csr", KERNELS, tmp_path, 20, 25_000, f"+{300 << 20}", d=200) > 400e6 * 0.95


@pytest.mark.parametrize("within", [True, False])
def test_states_of_many_rows_within_80_mb(within, tmp_path):
    # Two labelings and the codes of some planes take more than 9 bytes a row.
    out = f", labels_out={str(tmp_path / 'labels.npy')!r}" if within else ""
    paths = write_npy(tmp_path, 1, 9_000_000, d=2)
    method = f"CPM3C(2, random_state=0, max_iter=10{out})"
    if within:
        assert len(fit_within(f"+{80 << 20}", method, paths, tmp_path)) == 9_000_000
    else:
        with pytest.raises(AssertionError, match="Unable to allocate|MemoryError"):
            fit_within(f"+{80 << 20}", method, paths, tmp_path)


DENSE_AND_SPARSE = [(form, method) for method in (MODEL, UNIVERSUM, FRONT_DOOR, KERNELS) for form in ("memmap", "csr")]


@pytest.mark.slow
@pytest.mark.parametrize("form, method", [*DENSE_AND_SPARSE, ("npy", MODEL), ("parquet", MODEL), ("feather", MODEL)])
def test_4_gb_within_1200_mb(form, method, tmp_path):
    assert check(form, method, tmp_path, 200, 100_000, 1200 << 20) > 4e9 * 0.95


PIECE_ROWS = 1500  # four of them are more than the 5000 rows that starts are chosen on
SMALL = {
    "CPM3C": lambda: CPM3C(3, random_state=0),
    "M2DCU": lambda: M2DCU(3, random_state=0, C_universum=0),
    "MKC": lambda: MKC(3, kernels=["linear", "rbf"], n_components=10, n_init=1, random_state=0),
    "MaxMarginClustering": lambda: MaxMarginClustering(3, search="merge", random_state=0),
}


@lru_cache
def labels_in_memory(name, is_sparse):
    """Labels of all pieces, by the very estimator that the tests give files to."""
    pieces = [(sparse_piece if is_sparse else piece)(PIECE_ROWS, i) for i in range(4)]
    return SMALL[name]().fit(sp.vstack(pieces, format="csr") if is_sparse else np.concatenate(pieces)).labels_


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("name", SMALL)
def test_the_labels_are_those_in_memory(form, name, tmp_path, monkeypatch):
    monkeypatch.setattr("widegap.rows._sources.TABLE_BYTES", 0)  # features of rows in files are not held
    monkeypatch.setattr("widegap.forest._search_space.SEARCH_ROWS", 1000)
    paths = WRITERS[form](tmp_path, 4, PIECE_ROWS)
    given = np.memmap(paths[0], np.float32, "r").reshape(-1, 50) if form == "memmap" else shards(paths)
    assert_array_equal(SMALL[name]().fit(given).labels_, labels_in_memory(name, form == "csr"))


class HeldSource(ArraySource):
    """Knows how many of the pieces that it gave are held at a time."""

    def __init__(self, X, rows):
        super().__init__(X)
        self.in_memory, self._rows, self._lock = False, rows, threading.Lock()
        self.held = self.most = 0

    def spans(self):
        return [(i, min(i + self._rows, len(self.X))) for i in range(0, len(self.X), self._rows)]

    def read(self, start, stop):
        piece = super().read(start, stop).copy()
        with self._lock:
            self.held += 1
            self.most = max(self.most, self.held)
        weakref.finalize(piece, self._release)
        return piece

    def _release(self):
        with self._lock:
            self.held -= 1


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("name", SMALL)
def test_a_thread_holds_two_pieces_at_most(name, n_jobs, monkeypatch):
    monkeypatch.setattr("widegap.rows._sources.TABLE_BYTES", 0)
    monkeypatch.setattr("widegap.forest._search_space.SEARCH_ROWS", 1000)
    source = HeldSource(piece(6000, 0), 250)
    SMALL[name]().set_params(n_jobs=n_jobs).fit(RowBlocks([source]))
    assert 1 <= source.most <= 2 * n_jobs


def test_a_kernel_of_rows_in_files_is_mapped_block_by_block(tmp_path, monkeypatch):
    paths = write_npy(tmp_path, 4, PIECE_ROWS)
    X = np.concatenate([piece(PIECE_ROWS, i) for i in range(4)])
    settings = {"kernel": "rbf", "n_components": 30, "random_state": 0}
    expected = CPM3C(3, **settings).fit(X)
    monkeypatch.setattr("widegap.rows._sources.TABLE_BYTES", 0)
    assert_array_equal(CPM3C(3, **settings).fit(shards(paths)).labels_, expected.labels_)
