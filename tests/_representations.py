"""One table in every form in which rows can arrive. A test that takes ``make_blocks`` runs on all of them.

Each maker takes a table and a folder and returns RowBlocks over the same numbers: keep the entries representable in
float32 (``table`` does) and all forms hold the very same rows.
"""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from widegap.rows import shards
from widegap.rows._sources import row_blocks


def table(n_rows, n_columns, seed=0, density=0.7):
    """Numbers in steps of 1/64, some columns off centre, some entries and the second row zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)) + 2 * (np.arange(n_columns) % 3 == 0)
    X[rng.random(X.shape) > density] = 0
    X[1:2] = 0
    return np.round(X * 64) / 64


def _read_only(X, folder):
    X = X.copy()
    X.flags.writeable = False
    return row_blocks(X)


def _memmap(X, folder):
    held = np.memmap(folder / "table.bin", np.float64, "w+", shape=X.shape)
    held[:] = X
    held.flush()
    return row_blocks(np.memmap(folder / "table.bin", np.float64, "r", shape=X.shape))


def _csr_long_indices(X, folder):
    held = sp.csr_array(X)
    held.indices, held.indptr = held.indices.astype(np.int64), held.indptr.astype(np.int64)
    return row_blocks(held)


def _parts(X):
    """Three unequal pieces; fewer when there are fewer rows."""
    cuts = sorted({0, len(X) // 5, len(X) // 2, len(X)})
    return [X[start:stop] for start, stop in zip(cuts, cuts[1:], strict=False)]


def _save_dense(path, X):
    np.savez(path, X=X)


def _save_csr(path, X):
    sp.save_npz(path, sp.csr_array(X))


def _shards(X, folder, writers):
    paths = []
    for i, part in enumerate(_parts(X)):
        suffix, write = writers[i % len(writers)]
        paths.append(folder / f"part{i}.{suffix}")
        write(paths[-1], part)
    return shards(paths)


def _frame(X):
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


def _save_parquet(path, X):
    _frame(X).to_parquet(path, row_group_size=max(1, len(X) // 2))


def _save_feather(path, X):
    _frame(X).to_feather(path, chunksize=max(1, len(X) // 2))


NPY, NPZ, CSR_NPZ = ("npy", np.save), ("npz", _save_dense), ("npz", _save_csr)

REPRESENTATIONS = {
    "c_order": lambda X, folder: row_blocks(np.ascontiguousarray(X)),
    "f_order": lambda X, folder: row_blocks(np.asfortranarray(X)),
    "float32": lambda X, folder: row_blocks(X.astype(np.float32)),
    "read_only": _read_only,
    "memmap": _memmap,
    "csr": lambda X, folder: row_blocks(sp.csr_array(X)),
    "csr_float32": lambda X, folder: row_blocks(sp.csr_array(X.astype(np.float32))),
    "csr_long_indices": _csr_long_indices,
    "npy_shards": lambda X, folder: _shards(X, folder, [NPY]),
    "npz_shards": lambda X, folder: _shards(X, folder, [NPZ]),
    "csr_shards": lambda X, folder: _shards(X, folder, [CSR_NPZ]),
    "parquet_shards": lambda X, folder: _shards(X, folder, [("parquet", _save_parquet)]),
    "feather_shards": lambda X, folder: _shards(X.astype(np.float32), folder, [("feather", _save_feather)]),
    "mixed_shards": lambda X, folder: _shards(X, folder, [NPY, CSR_NPZ, NPZ]),
}
SPARSE = ("csr", "csr_float32", "csr_long_indices", "csr_shards")

every_representation = pytest.mark.parametrize("make_blocks", REPRESENTATIONS.values(), ids=REPRESENTATIONS.keys())


def rounding(blocks):
    """Relative accuracy to expect from sums over rows of this dtype."""
    return 1e-5 if blocks.dtype == np.float32 else 1e-11
