"""What a fresh process waits for: imports, the first prediction of a model file, and fits without compiled code.

Of an import the processor seconds count: a package is read from the disk once, and from memory ever after. Of several
processes the least is kept, as other programs can only add to it.

Of a first fit, or command, all processor seconds of its process count, imports and compiling as well. The folder for
compiled code is empty at its start. Compiling has no other side to be compared with, so these figures are seconds of
one machine; beside them are those of the same process when it finds the code of the first.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_blobs

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
FIT = """
import sys
import numpy as np, scipy.sparse as sp
from widegap import {0}
path = sys.argv[1]
{0}({1}, random_state=0).fit(sp.load_npz(path) if path.endswith("npz") else np.load(path))
"""
FIRST_FITS = 2  # processes each: a first fit takes seconds, and about as long every time


def rows() -> Iterator[Row]:
    """All rows of the report, each as soon as it is measured."""
    yield from _imports()
    yield from _predictions()
    yield from _first_fits()


def _seconds(code: str, *arguments: Path) -> list[float]:
    """The numbers that a fresh process prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return [float(word) for word in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]


def _imports() -> Iterator[Row]:
    for name in ESTIMATORS:
        theirs, ours = np.min([_seconds(IMPORT.format(name)) for _ in range(REPEATS)], axis=0)
        detail = f"import sklearn.cluster {theirs:.2f} s"
        yield Row(f"processor seconds, from widegap import {name} after import sklearn.cluster", ours, 0.3, detail)


def _processor_seconds(command: list[str], code_folder: Path) -> float:
    """All processor seconds of a process that keeps compiled code in a folder."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(code_folder)}
    subprocess.run([sys.executable, *command], capture_output=True, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _first_fits() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        for (what, target), command in _first_commands(Path(name)).items():
            folders = [Path(name) / f"code of {what} {turn}" for turn in range(FIRST_FITS)]
            pairs = [[_processor_seconds(command, folder) for _ in range(2)] for folder in folders]
            first, second = np.min(pairs, axis=0)
            detail = f"{second:.1f} s with compiled code"
            yield Row(f"processor seconds of a first process, {what}", float(first), target, detail)


def _first_commands(folder: Path) -> dict[tuple[str, float], list[str]]:
    """Arguments of Python by what they do and how many seconds it may take; the files are written to the folder."""
    digits = load_digits(return_X_y=True)[0]
    np.save(folder / "digits.npy", digits)
    np.save(folder / "large.npy", make_blobs(20_000, n_features=50, centers=10, cluster_std=6, random_state=0)[0])
    sp.save_npz(folder / "digits.npz", sp.csr_array(digits))
    np.savetxt(folder / "digits.csv", digits, fmt="%g", delimiter=",")
    forest = ["-c", FIT.format("MaxMarginClustering", 10)]
    cluster = ["cluster", str(folder / "digits.csv"), "-k", "10", "-o", str(folder / "labels.csv")]
    return {
        ("MaxMarginClustering, digits", 5): [*forest, str(folder / "digits.npy")],
        ("MaxMarginClustering, 20,000 x 50", 5): [*forest, str(folder / "large.npy")],
        ("MaxMarginClustering, digits as CSR", 5): [*forest, str(folder / "digits.npz")],
        ("CPM3C, digits", 3): ["-c", FIT.format("CPM3C", 10), str(folder / "digits.npy")],
        ("widegap cluster, digits", 6): ["-m", "widegap", *cluster],
    }


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
