"""A model file predicts where the compiler and the solvers of a fit cannot be imported."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from widegap import CPM3C, MaxMarginClustering, TableEncoder, persistence

ALONE = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"numba", "llvmlite", "daqp", "piqp"}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import numpy as np
import pandas as pd
from scipy import sparse
from widegap import persistence
model, _ = persistence.load(sys.argv[1])
kind, path = sys.argv[2:4]
rows = pd.read_csv(path) if kind == "table" else np.loadtxt(path, delimiter=",")
np.save(sys.argv[4], model.predict(sparse.csr_array(rows) if kind == "sparse" else rows))
assert not {"numba", "llvmlite", "daqp", "piqp"} & set(sys.modules)
"""


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(3, size=n)[:, None] * 5.0 + rng.normal(size=(n, 3))


def frame(n, seed=0):
    found = rows(n, seed)
    kinds = np.where(found[:, 0] > 3, "new", "used")
    return pd.DataFrame({"price": found[:, 0], "weight": found[:, 1], "kind": kinds})


MODELS = {
    "MaxMarginClustering": ("dense", lambda: MaxMarginClustering(3, random_state=0).fit(rows(150))),
    "CPM3C": ("dense", lambda: CPM3C(3, random_state=0).fit(rows(150))),
    "CPM3C of CSR rows": ("sparse", lambda: CPM3C(3, random_state=0).fit(sparse.csr_array(rows(150)))),
    "pipeline": (
        "table",
        lambda: make_pipeline(TableEncoder(), MaxMarginClustering(3, random_state=0)).fit(frame(150)),
    ),
    "pipeline of CPM3C": ("table", lambda: make_pipeline(TableEncoder(), CPM3C(3, random_state=0)).fit(frame(150))),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_file_predicts_without_compiler_and_solvers(name, tmp_path):
    kind, fit = MODELS[name]
    model = fit()
    persistence.save(model, tmp_path / "m.widegap")
    new = frame(500, 1) if kind == "table" else rows(500, 1)
    if kind == "table":
        new.to_csv(tmp_path / "rows.csv", index=False)
    else:
        np.savetxt(tmp_path / "rows.csv", new, delimiter=",", fmt="%.17g")
    command = [sys.executable, "-c", ALONE, tmp_path / "m.widegap", kind, tmp_path / "rows.csv", tmp_path / "out.npy"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    expected = model.predict(sparse.csr_array(new) if kind == "sparse" else new)
    assert len(set(expected)) == 3
    assert (np.load(tmp_path / "out.npy") == expected).all()
