"""What a fresh process waits for: imports beside those of scikit-learn, and the first prediction of a model file.

Of an import the processor seconds count: a package is read from the disk once, and from memory ever after. Of several
processes the least is kept, as other programs can only add to it.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs

from benchmarks._measure import Row
from widegap import CPM3C, MKC, MaxMarginClustering, persistence

REPEATS = 5
ESTIMATORS = ("CPM3C", "M2DCU", "MKC", "MaxMarginClustering", "DocumentClustering")
IMPORT = """
import time
began = time.process_time()
import sklearn.cluster
between = time.process_time()
from widegap import {}
print(between - began, time.process_time() - between)
"""
PREDICT = """
import sys, time
import numpy as np
from widegap import persistence
model, _ = persistence.load(sys.argv[1])
row = np.load(sys.argv[2])
began = time.perf_counter()
model.predict(row)
print(time.perf_counter() - began)
"""


def rows() -> Iterator[Row]:
    """All rows of the report, each as soon as it is measured."""
    yield from _imports()
    yield from _predictions()


def _seconds(code: str, *arguments: Path) -> list[float]:
    """The numbers that a fresh process prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return [float(word) for word in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]


def _imports() -> Iterator[Row]:
    for name in ESTIMATORS:
        theirs, ours = np.min([_seconds(IMPORT.format(name)) for _ in range(REPEATS)], axis=0)
        detail = f"import sklearn.cluster {theirs:.2f} s"
        yield Row(f"processor seconds, from widegap import {name} after import sklearn.cluster", ours, 0.3, detail)


def _predictions() -> Iterator[Row]:
    X = make_blobs(2000, n_features=20, centers=5, random_state=0)[0]
    models = {
        "CPM3C": CPM3C(5, random_state=0),
        "CPM3C(kernel='rbf')": CPM3C(5, kernel="rbf", random_state=0),
        "MaxMarginClustering": MaxMarginClustering(5, random_state=0),
        "MKC": MKC(5, random_state=0),
    }
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{i}.widegap" for i in range(len(models))]
        row = Path(folder) / "row.npy"
        np.save(row, X[:1])
        for model, path in zip(models.values(), paths, strict=True):
            persistence.save(model.fit(X), path)
        found = np.min([[_seconds(PREDICT, path, row) for path in paths] for _ in range(REPEATS)], axis=0)
    for name, (seconds,) in zip(models, found, strict=True):
        yield Row(f"seconds, first predict of a process, one row, {name}", seconds, 0.15, f"{1000 * seconds:.0f} ms")
