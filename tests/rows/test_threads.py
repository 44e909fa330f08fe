"""Threads: the ordered map (order, when a pool is opened, errors, forks), and the limit on BLAS."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from _representations import table
from widegap import CPM3C, MKC, MaxMarginClustering
from widegap.cutting_plane._hinge import hinge_pass
from widegap.forest import _max_margin
from widegap.forest._forest_search import ForestSearch
from widegap.forest._kept_search import KeptSearch
from widegap.rows import _threads
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks
from widegap.rows._threads import one_blas_thread, ordered_map


@pytest.fixture
def pools(monkeypatch):
    """An empty set of pools for one test; those it opens are closed again."""
    opened = {}
    monkeypatch.setattr(_threads, "_pools", opened)
    yield opened
    for pool in opened.values():
        pool.shutdown()


def test_answers_come_in_the_order_of_the_items(pools):
    def slow_first(i):
        time.sleep(0.02 if i % 3 == 0 else 0)
        return i * i

    assert list(ordered_map(slow_first, range(20), 3)) == [i * i for i in range(20)]
    assert list(pools) == [3]


def test_work_runs_on_several_threads_at_once(pools):
    meeting = threading.Barrier(2, timeout=10)
    list(ordered_map(lambda _: meeting.wait(), range(4), 2))  # two must be inside together, or the barrier breaks


@pytest.mark.parametrize(("n_items", "n_threads"), [(0, 4), (1, 4), (5, 1)])
def test_no_pool_where_there_is_nothing_to_share(pools, n_items, n_threads):
    before = threading.active_count()
    used = list(ordered_map(lambda _: threading.current_thread(), range(n_items), n_threads))
    assert used == [threading.current_thread()] * n_items
    assert not pools
    assert threading.active_count() == before


@pytest.mark.parametrize("block_bytes", [None, 2000], ids=["one_block", "several_blocks"])
def test_data_of_one_block_open_no_pool(pools, monkeypatch, block_bytes):
    if block_bytes:
        monkeypatch.setattr("widegap.rows._sources.BLOCK_BYTES", block_bytes)
    rows = CentredRows(row_blocks(table(300, 4), n_threads=2))
    hinge_pass(rows, np.ones((3, 4)), np.zeros(3), None, all_rivals=False)
    rows.scores(np.ones((3, 4)), np.zeros(3))
    assert list(pools) == ([2] if block_bytes else [])


def test_pools_are_kept(pools):
    list(ordered_map(str, range(3), 2))
    first = pools[2]
    list(ordered_map(str, range(3), 2))
    assert pools == {2: first}


def test_threads_that_ask_at_once_share_one_pool(pools, monkeypatch):
    meeting = threading.Barrier(4, timeout=10)
    original = _threads.ThreadPoolExecutor

    def slow(*args, **options):
        meeting.wait()  # all of them have found no pool
        return original(*args, **options)

    monkeypatch.setattr(_threads, "ThreadPoolExecutor", slow)
    found = []
    threads = [threading.Thread(target=lambda: found.append(_threads._pool(2))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [pools[2]] * 4


def test_few_answers_are_in_flight(pools):
    started = []
    answers = ordered_map(lambda i: started.append(i) or i, range(100), 2)
    assert next(answers) == 0
    time.sleep(0.05)
    assert len(started) <= 4
    answers.close()


def test_an_error_reaches_the_caller_and_cancels_the_rest(pools):
    started, release = [], threading.Event()

    def fail_at_one(i):
        started.append(i)
        if i == 1:
            raise ArithmeticError("block 1")
        if i >= 2:
            release.wait(10)
        return i

    try:
        with pytest.raises(ArithmeticError, match="block 1"):
            list(ordered_map(fail_at_one, range(50), 2))
    finally:
        release.set()
    pools[2].shutdown()
    assert set(started) <= {0, 1, 2, 3}  # two were running; 4 was queued and never began


def test_the_pool_serves_after_an_error(pools):
    def fail(i):
        raise ArithmeticError(str(i))

    with pytest.raises(ArithmeticError, match="0"):
        list(ordered_map(fail, range(9), 2))
    assert list(ordered_map(abs, range(9), 2)) == list(range(9))


def blas_numbers():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_blas_has_one_thread_until_the_last_user_leaves():
    with threadpool_limits(2, user_api="blas"):  # tests begin with one; a library may not follow
        before = blas_numbers()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        assert set(blas_numbers()) == {1}
        first.__exit__(None, None, None)
        assert set(blas_numbers()) == {1}
        second.__exit__(None, None, None)
        assert blas_numbers() == before


def test_the_limit_is_lifted_after_an_error():
    before = threadpool_info()
    with pytest.raises(ArithmeticError), one_blas_thread(openmp=True):
        raise ArithmeticError
    assert threadpool_info() == before


LIMIT_SCRIPT = """
import threading
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_info
from widegap import CPM3C, MKC, MaxMarginClustering
from widegap.rows._threads import one_blas_thread

X, y = load_digits(return_X_y=True)
X = X[y < 3][:200]
for name in ("first", "last"):  # the last to leave need not be the thread that came first
    started, done = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            started.set()
            done.wait(10)

    thread = threading.Thread(target=other)
    before = threadpool_info()
    with one_blas_thread(openmp=True):
        thread.start()
        started.wait(10)
        inside = [library["num_threads"] for library in threadpool_info()]
        assert set(inside) == {1}, inside
        if name == "first":
            done.set()
            thread.join()
    done.set()
    thread.join()
    assert threadpool_info() == before, name

before = threadpool_info()
assert all(library["num_threads"] == 2 for library in before), before

def work(model):
    for _ in range(2):
        model.fit(X)
        for _ in range(20):
            model.predict(X[:50])

models = [MaxMarginClustering(3), MaxMarginClustering(3, n_init=1), CPM3C(3), MKC(3, kernels=["rbf", "cosine"])]
threads = [threading.Thread(target=work, args=(model,)) for model in models]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
after = threadpool_info()
assert after == before, after
print("as before")
"""


def test_fits_and_predictions_side_by_side_leave_the_numbers_of_threads_alone():
    # In a process of its own, because the number of BLAS threads is fixed at its start.
    run = run_script(LIMIT_SCRIPT, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "as before"


def test_all_that_searches_uses_one_blas_thread(monkeypatch):
    monkeypatch.setattr(_max_margin, "FEW_VALUES", 0)  # as if the table were large
    users = []

    def counted(own):
        return lambda *args, **options: users.append(_threads._blas_limit._users) or own(*args, **options)

    steps = (ForestSearch, "run"), (CPM3C, "_prepare"), (KeptSearch, "at"), (MaxMarginClustering, "_follow")
    for owner, name in steps:
        monkeypatch.setattr(owner, name, counted(getattr(owner, name)))
    X = np.vstack([table(30, 4), 9 + table(30, 4)])
    CPM3C(2, random_state=0).fit(X)
    model = MaxMarginClustering(2, random_state=0).fit(X)
    model.cut(3)
    model.with_clusters(3)
    model.refit(known=[0] + 59 * [-1])
    model.update(X)
    assert len(users) >= 6 and min(users) >= 1


def test_predict_never_limits_blas(monkeypatch):
    X = np.vstack([table(30, 4), 9 + table(30, 4)])
    models = [MaxMarginClustering(2, random_state=0).fit(X), MKC(2, kernels=["rbf", "linear"], random_state=0).fit(X)]
    monkeypatch.setattr(_threads, "_blas_limit", None)  # a use would fail
    for model in models:
        assert len(model.predict(X)) == 60


def run_script(script, **environment):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )


FORK_SCRIPT = """
import os, signal, threading
import numpy as np
from widegap import MKC, MaxMarginClustering
from widegap.rows import _threads
from widegap.rows._threads import ordered_map

def names(n):
    return list(ordered_map(lambda i: (i, threading.current_thread().name), range(n), 2))

assert [i for i, _ in names(8)] == list(range(8))
parent_pool = _threads._pools[2]
child = os.fork()
if child == 0:
    signal.alarm(20)  # a child that waits for the parent's threads is killed
    empty = not _threads._pools
    answers = names(8)
    own = _threads._pools[2] is not parent_pool
    good = empty and own and [i for i, _ in answers] == list(range(8)) and answers[0][1].startswith("widegap")
    os._exit(0 if good else 1)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert _threads._pools[2] is parent_pool
assert [i for i, _ in names(8)] == list(range(8))
print("both answered")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on Windows")
def test_a_forked_child_opens_its_own_pool():
    run = run_script(FORK_SCRIPT)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "both answered"
