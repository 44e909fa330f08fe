"""Models to export, and how exported files are run: each gives a dict of scores, cluster, certainty and outliers."""

import sqlite3
import subprocess
import sys
import warnings
from functools import cache

import numpy as np
from scipy import sparse

import widegap

N_ROWS = 10_000


def blobs(n, d=4, k=3, seed=0, shift=0.0):
    """Rows in k groups, some of them between the groups."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(scale=4, size=(k, d))
    return centres[rng.integers(k, size=n)] + rng.normal(size=(n, d)) + shift


def mixed(n, seed=0):
    """A table of a number, flags of a category and a yes/no, for CodedColumns."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    level = np.where(rng.random(n) < 0.8, group, rng.integers(3, size=n))
    return np.column_stack([rng.normal(group * 3, 1), rng.gamma(2, 1 + group), np.eye(3)[level], rng.random(n) < 0.4])


@cache
def fitted(name):
    """A fitted model by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name]()


def linear_universum():
    return widegap.M2DCU(3, random_state=0).fit(blobs(300), universum=blobs(60, seed=7, shift=2.0))


def words(n, seed=0):
    """Counts of words, most of them 0, in three topics."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(3, size=n)
    rates = np.where(np.arange(30) // 10 == topic[:, None], 0.5, 0.08)
    return rng.poisson(rates).astype(float)


KERNEL_LIST = [
    "linear",
    ("poly", {"degree": 2}),
    ("angle", "cosine", [0, 2]),
    ("some", ("rbf", {"gamma": 0.1}), [3, 1]),
]
MODELS = {
    "forest": lambda: widegap.MaxMarginClustering(3, random_state=0).fit(blobs(400)),
    "forest outliers": lambda: widegap.MaxMarginClustering(3, outliers=0.05, random_state=0).fit(blobs(400)),
    "forest codes": lambda: widegap.MaxMarginClustering(3, columns=[slice(2, 5)], random_state=0).fit(mixed(400)),
    "forest poly": lambda: widegap.MaxMarginClustering(3, kernel="poly", random_state=0).fit(blobs(300)),
    "forest cosine": lambda: widegap.MaxMarginClustering(3, kernel="cosine", random_state=0).fit(blobs(300)),
    "forest linear": lambda: widegap.MaxMarginClustering(3, kernel="linear", random_state=0).fit(blobs(300)),
    "forest far": lambda: widegap.MaxMarginClustering(3, random_state=0).fit(blobs(300, shift=1e5)),
    "one cluster": lambda: widegap.MaxMarginClustering(1).fit(blobs(50)),
    "CPM3C": lambda: widegap.CPM3C(3, random_state=0).fit(blobs(300)),
    "CPM3C rbf": lambda: widegap.CPM3C(3, kernel="rbf", n_components=40, random_state=0).fit(blobs(300)),
    "CPM3C outliers": lambda: widegap.CPM3C(3, outliers=0.05, random_state=0).fit(blobs(300)),
    "M2DCU": linear_universum,
    "MKC": lambda: widegap.MKC(3, n_components=30, random_state=0).fit(blobs(200)),
    "MKC parts": lambda: widegap.MKC(3, kernels=KERNEL_LIST, n_components=25, random_state=0).fit(blobs(200)),
    "forest words": lambda: widegap.MaxMarginClustering(3, random_state=0).fit(sparse.csr_array(words(400))),
    "IterSVR": lambda: widegap.IterSVR(2, random_state=0).fit(blobs(200, k=2)),
    "IterSVR tree": lambda: widegap.IterSVR(4, random_state=0).fit(blobs(300, k=4)),
    "IterLSSVM": lambda: widegap.IterLSSVM(3, random_state=0).fit(blobs(200)),
    "IterSVM": lambda: widegap.IterSVM(2, random_state=0).fit(blobs(200, k=2)),
    "MMC": lambda: widegap.MMC(2).fit(blobs(40, k=2)),
    "GMMC": lambda: widegap.GMMC(2).fit(blobs(40, k=2)),
}


def new_rows(name, n=N_ROWS):
    """Rows that a model has not seen, as its fit saw them."""
    if name == "forest codes":
        return mixed(n, seed=1)
    if name == "forest words":
        return words(n, seed=1)
    two = ("IterSVR", "IterSVM", "MMC", "GMMC")
    k = 2 if name in two else 4 if "tree" in name else 3
    return blobs(n, k=k, seed=1, shift=1e5 if name == "forest far" else 0.0)


def expected(model, X):
    """What the model itself gives."""
    found = {"cluster": model.predict(X), "scores": model.decision_function(X)}
    if hasattr(model, "predict_proba"):
        found["certainty"] = model.predict_proba(X).max(axis=1)
    if hasattr(model, "reject_below_") or hasattr(model, "reject_beyond_"):
        found["cluster_or_outlier"] = model.predict(X, reject=True)
    return found


def same_form(scores, decided):
    """Scores of an exported file in the form of ``decision_function``."""
    if decided.ndim == 2 or scores.shape[1] == 1:
        return scores.reshape(decided.shape)
    return scores[:, 1] - scores[:, 0]


HOOK = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"widegap", "sklearn", "numba", "scipy", "pandas", "pyarrow"}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
"""
RUN = """
import runpy
import numpy as np
rows = np.load(sys.argv[2], allow_pickle=True)
rows = rows if rows.ndim else rows.item()
found = runpy.run_path(sys.argv[1])
out = {"scores": found["scores"](rows), "cluster": found["predict"](rows)}
try:
    out["certainty"] = found["predict_proba"](rows).max(axis=1)
except ValueError as error:
    assert "no probabilities" in str(error)
try:
    out["cluster_or_outlier"] = found["predict"](rows, reject=True)
except ValueError as error:
    assert "outliers" in str(error)
np.savez(sys.argv[3], **out)
"""


def run_python(path, rows, folder):
    """The results of an exported Python file, in a process of its own that has NumPy alone."""
    np.save(folder / "rows.npy", np.asarray(rows) if not isinstance(rows, dict) else np.array(rows, dtype=object))
    command = [sys.executable, "-I", "-c", HOOK + RUN, str(path), str(folder / "rows.npy"), str(folder / "out.npz")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    with np.load(folder / "out.npz") as found:
        return dict(found)


def run_here(path, rows):
    """The same in this process."""
    import runpy

    found = runpy.run_path(str(path))
    out = {"scores": found["scores"](rows), "cluster": found["predict"](rows)}
    if found["_MODEL"]["temperature"] is not None:
        out["certainty"] = found["predict_proba"](rows).max(axis=1)
    if found["_MODEL"]["rejection"] is not None:
        out["cluster_or_outlier"] = found["predict"](rows, reject=True)
    return out


def run_onnx(path, feeds):
    """The results of an ONNX file."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds), strict=True))


def by_names(cells, names):
    """Results of a SELECT with its scores as one table."""
    columns = dict(zip(names, zip(*cells, strict=True), strict=True))
    scores = [name for name in names if name.startswith("score_")]
    found = {name: np.array(columns[name]) for name in names if name not in scores}
    return {**found, "scores": np.array([columns[name] for name in scores], dtype=float).T}


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def run_sqlite(path, table, columns, kinds=None):
    """The results of an SQL file in SQLite, ordered by the column "id", which must be kept."""
    with sqlite3.connect(":memory:") as database:
        names = list(columns)
        declared = ", ".join(f"{quoted(n)} {(kinds or {}).get(n, 'REAL')}" for n in names)
        database.execute(f"CREATE TABLE {quoted(table)} ({declared})")
        rows = list(zip(*(list(columns[n]) for n in names), strict=True))
        database.executemany(f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' * len(names))})", rows)
        cursor = database.execute(path.read_text(encoding="utf-8"))
        cells = sorted(cursor.fetchall(), key=lambda row: row[0])
        return by_names(cells, [entry[0] for entry in cursor.description])


def run_duckdb(path, table, columns, kinds=None):
    """The same in DuckDB."""
    import duckdb
    import pyarrow as pa

    with duckdb.connect(config={"threads": 1}) as database:
        database.register("staged", pa.table({f"c{j}": list(cells) for j, cells in enumerate(columns.values())}))
        picks = ", ".join(f"c{j} AS {quoted(name)}" for j, name in enumerate(columns))
        database.execute(f"CREATE TABLE {quoted(table)} AS SELECT {picks} FROM staged")
        cursor = database.execute(path.read_text(encoding="utf-8"))
        names = [entry[0] for entry in cursor.description]
        return by_names(sorted(cursor.fetchall(), key=lambda row: row[0]), names)


def differing_without_ties(labels, reference, scores):
    """How many labels differ where the two largest scores are apart by more than rounding."""
    if scores.shape[1] == 1:
        return int(np.sum(labels != reference))
    two = np.sort(scores, axis=1)[:, -2:]
    clear = np.subtract(*two.T[::-1]) > 1e-7 * np.ptp(scores)
    return int(np.sum((labels != reference) & clear))


def worst(found, wanted):
    """Largest difference of scores relative to their range."""
    spread = float(np.ptp(wanted)) or 1.0
    return float(np.abs(same_form(found, wanted) - wanted).max()) / spread
