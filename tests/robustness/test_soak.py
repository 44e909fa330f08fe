"""Many fits, after each other and at once: the answers of one fit alone, no memory kept, BLAS threads as before."""

import multiprocessing
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from _counts import tried
from widegap import CPM3C, GMMC, MKC, IterLSSVM, IterSVM, IterSVR, MaxMarginClustering

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ESTIMATORS = [CPM3C, IterSVM, IterSVR, GMMC, IterLSSVM, MKC, MaxMarginClustering]
N_TASKS = 14
MOST_GROWTH = 8 * 2**20


def labels_of(task):
    """The labels of the fit with this number: estimator, table and seed follow from it."""
    rng = np.random.default_rng(task)
    X = rng.normal(size=(60, 4)) + 4.0 * rng.integers(2, size=(60, 1))
    return ESTIMATORS[task % len(ESTIMATORS)](2, random_state=task % 3).fit(X).labels_


@pytest.fixture(scope="module")
def serial():
    return [labels_of(task) for task in range(N_TASKS)]


def blas_threads():
    return sorted((info["filepath"], info["num_threads"]) for info in threadpool_info())


@pytest.fixture(autouse=True)
def two_blas_threads():
    """A number that a fit has to restore: `make test` begins with one thread."""
    with threadpool_limits(2, user_api="blas"):
        yield


def check_threads(serial, n_fits):
    before, wrong = blas_threads(), []

    def work(first):
        for task in range(first, first + n_fits):
            if not np.array_equal(labels_of(task % N_TASKS), serial[task % N_TASKS]):
                wrong.append(task)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert blas_threads() == before
    tried("fits in 8 threads at once", 8 * n_fits)


def check_processes(serial, way, n_rounds):
    before = blas_threads()
    with multiprocessing.get_context(way).Pool(4) as pool:
        found = pool.map(labels_of, list(range(N_TASKS)) * n_rounds, chunksize=1)
    for task, labels in enumerate(found):
        np.testing.assert_array_equal(labels, serial[task % N_TASKS], err_msg=f"task {task}")
    assert blas_threads() == before
    tried("fits in 4 processes at once", len(found))


def test_fits_in_eight_threads_are_those_of_one(serial):
    check_threads(serial, 3)


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_fits_in_four_processes_are_those_of_one(serial):
    check_processes(serial, "fork", 1)


@pytest.mark.slow
def test_many_fits_in_threads_and_processes(serial):
    check_threads(serial, 5 * N_TASKS)
    check_processes(serial, "spawn", 10)


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_five_hundred_fits_keep_no_memory():
    for task in range(100):  # pools, caches and the allocator's own reserves
        labels_of(task)
    before = resident_bytes()
    for task in range(500):
        labels_of(task)
    growth = resident_bytes() - before
    assert growth < MOST_GROWTH, growth
    tried("fits after each other, with flat memory", 500)
