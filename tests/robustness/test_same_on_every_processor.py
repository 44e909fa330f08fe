"""The same labels on another processor: a child process whose NumPy, BLAS and numba know nothing newer than SSE4."""

import json
import os
import platform
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_wine, make_moons

from widegap import CPM3C, MKC, IterLSSVM, IterSVR, MaxMarginClustering
from widegap.base._fit_fingerprint import processor

OLD_BLAS, OLD_NUMBA = "Nehalem", "generic"  # kernels of 2008, and code for any x86-64


def word_counts():
    """Documents of four subjects with many equal distances: a few words of twenty, each once."""
    rng = np.random.default_rng(0)
    rows = [rng.choice(20, 6, replace=False) + 15 * (i % 4) for i in range(400)]
    return sp.csr_array((np.ones(2400), np.concatenate(rows), np.arange(0, 2401, 6)), shape=(400, 65))


TABLES = {
    "digits": (lambda: load_digits().data, 10),
    "wine": (lambda: load_wine().data, 3),
    "moons": (lambda: make_moons(600, noise=0.07, random_state=0)[0], 2),
    "words": (word_counts, 4),
}
FITS = {
    **{f"{name}, {search}": (name, MaxMarginClustering, {"search": search}) for name in TABLES for search in
       ("agree", "merge", "moves")},
    "digits, two threads": ("digits", MaxMarginClustering, {"n_jobs": 2}),
    "digits, single precision": ("digits", MaxMarginClustering, {}),
    "wine, auto": ("wine", MaxMarginClustering, {"n_clusters": "auto"}),
    **{f"wine, {cls.__name__}": ("wine", cls, {}) for cls in (CPM3C, MKC, IterSVR, IterLSSVM)},
}  # fmt: skip
SEEDS = range(2)


def all_labels():
    """Labels of every fit, and the processor that they were found with."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for fit, (name, cls, settings) in FITS.items():
            make, k = TABLES[name]
            X = make().astype(np.float32) if "single" in fit else make()
            for seed in SEEDS:
                estimator = cls(**{"n_clusters": k, "random_state": seed, **settings})
                found[f"{fit}, {seed}"] = estimator.fit(X).labels_.tolist()
    return {"labels": found, "processor": processor(), "numpy": enabled_features()}


def enabled_features():
    """What NumPy uses of this processor beyond its baseline."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory, request):
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip(f"{platform.machine()} has no older kernels to choose")
    variables = {
        "OPENBLAS_CORETYPE": OLD_BLAS,
        "NUMBA_CPU_NAME": OLD_NUMBA,
        "NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("generic")),
        "NPY_DISABLE_CPU_FEATURES": " ".join(enabled_features()),
    }
    script = "import json, test_same_on_every_processor as here; print(json.dumps(here.all_labels()))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=request.path.parent, capture_output=True, text=True,
        env={**os.environ, **variables},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    blas = [kernels for name, kernels in found["processor"].items() if name.startswith("BLAS")]
    if not all("openblas" in kernels for kernels in blas):
        pytest.skip(f"{', '.join(blas)}: only OpenBLAS lets one choose its kernels")
    assert len(blas) >= 2 and all(OLD_BLAS in kernels for kernels in blas)  # those of NumPy and of SciPy
    assert found["processor"]["numba CPU"] == OLD_NUMBA
    assert found["numpy"] == []
    return found


@pytest.fixture(scope="module")
def here():
    return all_labels()


def test_this_processor_is_another_one(elsewhere, here):
    if here["processor"] == elsewhere["processor"]:
        pytest.skip(f"this processor is itself as old as {OLD_BLAS}")
    assert here["processor"]["numba CPU"] != OLD_NUMBA


@pytest.mark.parametrize("fit", FITS)
def test_labels_are_the_same(fit, elsewhere, here):
    for seed in SEEDS:
        name = f"{fit}, {seed}"
        np.testing.assert_array_equal(elsewhere["labels"][name], here["labels"][name], err_msg=name)


def test_threads_change_no_label(here):
    for seed in SEEDS:
        assert here["labels"][f"digits, two threads, {seed}"] == here["labels"][f"digits, agree, {seed}"]
