"""How fits grow: with rows, columns, clusters, kernels and the tolerance, and out of core.

Processor seconds of one thread: on a shared machine the clock says little, and BLAS threads that wait count as work.
Points are kept in ``benchmarks/scale.json``, from which ``benchmarks/scale_plots.py`` draws the pictures of
``docs/scale.md``.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks._measure import Row, best_cpu_times, exponent
from widegap import CPM3C, MKC
from widegap.cutting_plane._hinge import hinge_pass
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks

POINTS = Path(__file__).with_name("scale.json")
SETTINGS: dict[str, Any] = {"random_state": 0, "n_init": 1, "order": "linearize_first", "n_jobs": 1}
REPEATS = 3
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
LIMIT = 1_500_000_000  # bytes that a fit of ten million rows may allocate


def blobs(n: int, d: int, k: int) -> Any:
    """Float32 rows around k centres that overlap a little."""
    rng = np.random.default_rng(0)
    centres = (8 / np.sqrt(d) * rng.standard_normal((k, d))).astype(np.float32)
    X = rng.standard_normal((n, d), np.float32)
    for start in range(0, n, 1 << 20):
        part = X[start : start + (1 << 20)]
        part += centres[rng.integers(0, k, len(part))]
    return X


def sparse_rows(n: int, d: int, nnz: int, k: int) -> Any:
    """CSR rows with so many entries each, most of them among the columns of their cluster."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, k, n)
    own = labels[:, None] * (d // k) + rng.integers(0, d // k, (n, nnz))
    columns = np.where(rng.random((n, nnz)) < 0.5, own, rng.integers(0, d, (n, nnz)))
    X = sp.csr_array((np.ones(n * nnz, np.float32), columns.ravel(), np.arange(0, n * nnz + 1, nnz)), shape=(n, d))
    X.sum_duplicates()
    return X


def fit_point(size: float, model: Any, X: Any) -> dict[str, float]:
    """Size, processor seconds and passes of a fit: the quickest of some, after one of few rows that compiles."""
    with threadpool_limits(1):
        clone(model).fit(X[:6000])
        (seconds,) = best_cpu_times(lambda: model.fit(X), repeats=REPEATS)
    return {"size": size, "seconds": seconds, "passes": model.history_[-1].passes}


def growth() -> Iterator[tuple[str, list[dict[str, float]]]]:
    """What is varied, and the points."""
    yield (
        "rows",
        [fit_point(n, CPM3C(4, **SETTINGS), blobs(n, 20, 4)) for n in (100_000, 300_000, 1_000_000, 3_000_000)],
    )
    yield "columns", [fit_point(d, CPM3C(4, **SETTINGS), blobs(50_000, d, 4)) for d in (30, 100, 300, 1000)]
    yield (
        "entries a sparse row",
        [fit_point(z, CPM3C(4, **SETTINGS), sparse_rows(50_000, 5000, z, 4)) for z in (10, 30, 100, 300)],
    )
    yield "clusters", [fit_point(k, CPM3C(k, **SETTINGS), blobs(100_000, 40, k)) for k in (2, 4, 8, 16, 32)]
    X = blobs(20_000, 20, 4)
    kernels = [("rbf", {"width": width}) for width in np.geomspace(0.5, 2, 16)]
    settings = {**SETTINGS, "n_components": 30, "tol": 0.03}
    yield "kernels", [fit_point(m, MKC(4, kernels=kernels[:m], **settings), X) for m in (1, 2, 4, 8, 16)]
    X = blobs(100_000, 20, 4)
    yield "1 / tol", [fit_point(1 / t, CPM3C(4, tol=t, **SETTINGS), X) for t in (0.1, 0.03, 0.01, 0.003, 0.001)]


TARGETS = {
    "rows": 1.05,
    "columns": 1.05,
    "entries a sparse row": 1.05,
    "clusters": None,
    "kernels": None,
    "1 / tol": 0.5,
}


def rows() -> Iterator[Row]:
    """Exponents of growth, out of core, and the constants of the cost model."""
    found = _points()
    for name, points in growth():
        found["growth", name] = points
        _keep(found)
        value = exponent([p["size"] for p in points], [p["seconds"] for p in points])
        ends = points[0], points[-1]
        detail = ", ".join(f"{p['size']:g}: {p['seconds']:.2f} s, {p['passes']} passes" for p in ends)
        yield Row(f"exponent in {name}", value, TARGETS.get(name), detail)
    found["model", "constants"] = constants()
    _keep(found)
    yield from _out_of_core(found)


def constants() -> dict[str, float]:
    """What the cost model is made of, measured on at most 100 000 rows."""
    X = blobs(100_000, 20, 4)
    start = fit_point(0, CPM3C(4, **SETTINGS), X[:5000])["seconds"]
    small, large = (_pass_seconds(X[:n]) for n in (1000, 100_000))
    row = (large - small) / 99_000
    wide = _pass_seconds(blobs(20_000, 1000, 10))
    return {"start": start, "pass": small - 1000 * row, "row": row, "wide_bytes_a_second": 20_000 * 4000 / wide}


def _pass_seconds(X: Any) -> float:
    k = 4 if X.shape[1] == 20 else 10
    rows = CentredRows(row_blocks(X))
    W = np.random.default_rng(0).standard_normal((k, X.shape[1])) * 0.1
    with threadpool_limits(1):
        (seconds,) = best_cpu_times(lambda: hinge_pass(rows, W, np.zeros(k), None, all_rivals=False), repeats=7)
    return seconds


OUT_OF_CORE = """
import json, resource, sys
from time import process_time
import numpy as np
from widegap import CPM3C, MaxMarginClustering
from benchmarks.scale import SETTINGS
path, method, limit = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_DATA, (int(limit), int(limit)))
X = np.load(path, mmap_mode="r")
model = CPM3C(4, **SETTINGS) if method == "CPM3C" else MaxMarginClustering(4, random_state=0, n_jobs=1)
model.fit(X[:20000])
seconds = []
for _ in range(3 if method == "CPM3C" else 1):
    began = process_time()
    model.fit(X)
    seconds.append(process_time() - began)
print(json.dumps({"size": len(X), "seconds": min(seconds), "passes": getattr(model.history_[-1], "passes", 0)}))
"""


def _out_of_core(found: dict[Any, Any]) -> Iterator[Row]:
    """A million and ten million rows in a file, in a process that may allocate 1.5 GB."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for n in (1_000_000, 10_000_000):
            paths.append(Path(folder) / f"{n}.npy")
            np.save(paths[-1], blobs(n, 20, 4))
        for method in ("CPM3C", "MaxMarginClustering"):
            points = []
            for path in paths:
                command = [sys.executable, "-W", "ignore", "-c", OUT_OF_CORE, str(path), method, str(LIMIT)]
                done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
                if done.returncode:
                    raise RuntimeError(done.stderr[-2000:])
                points.append(json.loads(done.stdout.splitlines()[-1]))
                found["out of core", method] = points
                _keep(found)
            value = exponent([p["size"] for p in points], [p["seconds"] for p in points])
            detail = ", ".join(f"{p['size']:g} rows: {p['seconds']:.1f} s{_a_pass(p)}" for p in points)
            yield Row(f"exponent in rows, 1M to 10M x 20 from a file, within 1.5 GB, {method}", value, 1.05, detail)


def _a_pass(point: dict[str, float]) -> str:
    """How long a row took in each pass, as the number of passes differs from draw to draw."""
    if not point["passes"]:
        return ""
    nanoseconds = 1e9 * point["seconds"] / point["passes"] / point["size"]
    return f" ({point['passes']} passes, {nanoseconds:.0f} ns a row and pass)"


def _points() -> dict[Any, Any]:
    if not POINTS.exists():
        return {}
    return {
        (part, name): value for part, names in json.loads(POINTS.read_text()).items() for name, value in names.items()
    }


def _keep(found: dict[Any, Any]) -> None:
    parts: dict[str, dict[str, Any]] = {}
    for (part, name), value in found.items():
        parts.setdefault(part, {})[name] = value
    POINTS.write_text(json.dumps(parts, indent=1) + "\n")
