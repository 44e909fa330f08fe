"""What a fresh process imports before it answers, and the labels that few rows get without compiled code."""

import json
import pickle
import subprocess
import sys
from threading import Barrier, Thread

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs

from widegap import CPM3C, MKC, MaxMarginClustering, _jit, persistence
from widegap.rows._blocks import Scorer
from widegap.rows._few_rows import FEW_PREDICTED, certain_labels, largest
from widegap.rows._sources import row_blocks
from widegap.rows.loops import _passes

HEAVY = {"clarabel", "daqp", "dask", "distributed", "llvmlite", "matplotlib", "numba", "pandas", "piqp", "pyarrow"}
HEAVY |= {"rich", "scs", "typer"}
RUN = """
import json, sys
import sklearn.cluster
before = {{name.partition(".")[0] for name in sys.modules}}
{code}
print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}} - before)))
"""


def imported_by(code, *arguments):
    """Packages that some code imports in a fresh process, beyond those of scikit-learn's clustering."""
    command = [sys.executable, "-c", RUN.format(code=code), *map(str, arguments)]
    return set(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def test_estimators_are_imported_without_compilers_and_solvers():
    names = "CPM3C, DocumentClustering, GMMC, IterSVM, M2DCU, MKC, MMC, MaxMarginClustering"
    found = imported_by(f"import widegap.persistence\nfrom widegap import {names}")
    assert "widegap" in found
    assert not found & HEAVY


PREDICT = """
import numpy as np, scipy.sparse as sp
from widegap import persistence
row = np.load(sys.argv[1])
for path in sys.argv[2:]:
    model = persistence.load(path)[0]
    assert model.predict(row) == model.labels_[0]
    assert model.predict(sp.csr_array(row)) == model.labels_[0]
"""


def test_a_model_file_predicts_one_row_without_compilers(tmp_path):
    X = make_blobs(80, n_features=4, centers=3, random_state=0)[0]
    models = [CPM3C(3), CPM3C(3, kernel="rbf"), MaxMarginClustering(3), MKC(3)]
    paths = [tmp_path / f"{i}.widegap" for i in range(len(models))]
    for model, path in zip(models, paths, strict=True):
        persistence.save(model.set_params(random_state=0).fit(X), path)
    np.save(tmp_path / "row.npy", X[:1])
    assert not imported_by(PREDICT, tmp_path / "row.npy", *paths) & HEAVY


def block_of(X):
    rows = row_blocks(X)
    return next(rows._read(rows._spans[0]))


@given(st.integers(0, 10_000), st.booleans(), st.booleans(), st.sampled_from([0, 1e3, 1e7]))
@settings(deadline=None, max_examples=60)
def test_certain_labels_are_those_of_the_loops(seed, is_sparse, is_single, offset):
    rng = np.random.default_rng(seed)
    d, k = rng.integers(1, 40), rng.integers(1, 6)
    X = (offset + rng.normal(size=(rng.integers(1, FEW_PREDICTED + 1), d))).astype(
        np.float32 if is_single else np.float64
    )
    W, mean = rng.normal(size=(k, d)), np.full(d, float(offset))
    block = block_of(sp.csr_array(X) if is_sparse else X)
    scorer = Scorer(W, rng.normal(size=k), mean)
    found = certain_labels(block, scorer)
    if found is None:  # only because of rounding, of which float64 leaves little here
        assert is_single or (is_sparse and offset)
        return
    assert found.dtype == np.int32
    assert_array_equal(found, largest(block.scores(scorer)))


@pytest.mark.parametrize(
    "X", [np.zeros((2, 3)), np.full((1, 3), np.nan), np.full((1, 3), 1e308), np.ones((FEW_PREDICTED + 1, 3))]
)
def test_ties_numbers_that_are_none_and_many_rows_are_left_to_the_loops(X):
    scorer = Scorer(1e6 * np.array([[1.0, 0, 0], [-1.0, 0, 0]]), np.zeros(2), np.zeros(3))
    assert certain_labels(block_of(X), scorer) is None
    assert_array_equal(certain_labels(block_of(np.eye(3)[:1]), scorer), [0])


def test_rows_between_two_clusters_are_labelled_as_by_fit():
    X = np.repeat([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]], 9, axis=0)
    model = CPM3C(2, random_state=0).fit(X)
    assert_array_equal([model.predict(X[i : i + 1])[0] for i in range(len(X))], model.labels_)


def test_loops_are_compiled_once_by_whoever_comes_first(monkeypatch):
    made, both = [], Barrier(2)
    monkeypatch.setattr(_jit._Loop, "_compile", lambda loop: made.append(loop) or loop.py_func)
    double = _jit.jit(lambda x: 2 * x)
    threads = [Thread(target=lambda: (both.wait(), double(1))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_loops_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(_passes.scores_csr)) is _passes.scores_csr
