"""Checkpoints: a fit that was killed goes on with the same bits, reads few rows again, and other fits are refused."""

import os
import signal
import time
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from widegap import CPM3C, M2DCU, MKC
from widegap.exceptions import InvalidDataError
from widegap.rows import RowBlocks, _checkpoint
from widegap.rows._blocks import PassSums
from widegap.rows._checkpoint import Checkpoint, CheckpointedRows
from widegap.rows._fingerprints import digest_of_rows
from widegap.rows._sources import ArraySource, row_blocks

N = 800


def rows(n=N):
    return make_blobs(n, 5, centers=4, cluster_std=2.5, random_state=0)[0]


def model(**settings):
    return CPM3C(**{"n_clusters": 4, "random_state": 0, "n_init": 1, "min_cluster_fraction": 0.05, **settings})


class KilledError(Exception):
    """Stands for the end of the process."""


def killer(after):
    """A callback that ends the fit as a kill would, at a given record."""
    count = iter(range(10**6))

    def callback(record):
        if next(count) == after:
            raise KilledError

    return callback


class CountedSource(ArraySource):
    reads = 0

    def read(self, start, stop):
        self.reads += stop - start
        return super().read(start, stop)


GIVEN = np.arange(N) % 4
CASES = {
    "several starts": {},
    "annealing": {"annealing": True, "init": GIVEN, "max_iter": 40},
    "one step": {"order": "one_step", "init": GIVEN},
    "sum": {"loss": "sum", "balance": 0.5, "init": GIVEN % 2, "n_clusters": 2},
    "bound": {"min_cluster_fraction": 0.97, "max_iter": 12, "init": GIVEN},
    "random starts": {"n_clusters": 2, "n_init": "auto"},
}


@dataclass(frozen=True)
class Foreign:
    """A dataclass of another package."""

    x: int = 0


def test_answers_come_back_as_they_were(tmp_path):
    path = tmp_path / "checkpoint"
    sums = PassSums(np.arange(2.0), np.ones((2, 3)), np.zeros(2), np.full(2, 0.5))
    answers = [(0, None), (2, True), (1, 3), (3, -2.5), (1, [np.int64(4), (np.float32(0.5), "x" == "y")]), (0, sums)]
    written = Checkpoint(path, {"method": "none"})
    assert not written.replays
    for answer in answers:
        written.add(answer)
    assert path.read_bytes().partition(b"\n")[0] == b'{"format": 2, "method": "none"}'
    found = Checkpoint(path, {"method": "none"})
    for n_states, total in answers[:5]:
        assert found.replays
        assert found.next() == (n_states, total)
    again = found.next()[1]
    assert isinstance(again, PassSums) and not found.replays
    for name in ("values", "normal", "bias", "uncentred"):
        assert_array_equal(getattr(again, name), getattr(sums, name))


def test_files_hold_no_pickles_and_no_classes_but_records_of_the_package():
    pickled = BytesIO()
    np.savez(pickled, form=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        _checkpoint._decoded(pickled.getvalue())
    for module, name in (("widegap.rows._blocks", "RowBlocks"), (Foreign.__module__, "Foreign"), ("builtins", "int")):
        form = {"class": [module, name], "fields": {}}
        with pytest.raises(ValueError, match=f"it names {module}.{name}, which no fit stores"):
            _checkpoint._value(form, {})
    with pytest.raises(AssertionError):
        _checkpoint._encoded(Foreign())


def test_passes_are_answered_and_their_states_made_when_they_are_needed(tmp_path):
    """Every verb twice: of the rows, and of the file; states that no one asks for are never made."""
    X, path, reads = rows(30), tmp_path / "checkpoint", []

    def doubled(block):
        reads.append(len(block.take(slice(None))))
        return (block.take(slice(None))[:, 0] * 2, block.take(slice(None))[:, 1]), 1.5

    def added(block, a, b):
        return (a + b, a - b), float(a.sum())

    found = []
    for _ in range(2):
        held = CheckpointedRows(row_blocks(X), Checkpoint(path, {"method": "none"}))
        assert (held.shape, held.dtype, held.n_threads, held.in_process) == ((30, 5), np.float64, 1, True)
        reads.clear()
        (first, second), total = held.sweep(doubled)
        (third, fourth), other = held.sweep(added, first, second)
        (fifth,), folded = held.fold(lambda c, n: ((c * n,), int(n.sum())), fourth, held.numbers())
        reduced = held.reduce(lambda block, n: float(n.sum()), held.numbers())
        n_reads = len(reads)
        collected = [held.collect(state) for state in (fifth, third)]
        found.append((total, other, folded, reduced, *collected))
        assert (n_reads, len(reads)) in ((1, 1), (0, 1))
    assert n_reads == 0
    for one, two in zip(*found, strict=True):
        assert_array_equal(one, two)
    assert_array_equal(found[0][4], (2 * X[:, 0] - X[:, 1]) * np.arange(30))
    assert_array_equal(found[0][5], 2 * X[:, 0] + X[:, 1])
    marks = np.full(30, -1)
    marks[[3, 5]] = 0, 1
    assert_array_equal(held.collect(held.mark(np.array([3, 5]))), marks)
    assert_array_equal(held.take(np.array([2, 9])), X[[2, 9]])
    assert_array_equal(held.publish(held.place(np.arange(30))), np.arange(30))


@pytest.mark.filterwarnings("ignore:CPM3C stopped after max_iter")
@pytest.mark.parametrize("case", CASES)
def test_a_fit_goes_on_with_the_same_bits(case, tmp_path):
    X, settings = rows(), CASES[case]
    expected = model(**settings).fit(X)
    n_records = len(expected.history_)
    for i, share in enumerate((0.3, 0.9)):
        path = tmp_path / f"{i}.checkpoint"
        with pytest.raises(KilledError):
            model(checkpoint=path, callback=killer(int(share * n_records)), **settings).fit(X)
        found = model(checkpoint=path, **settings).fit(X)
        assert_array_equal(found.labels_, expected.labels_)
        assert_array_equal(found.coef_, expected.coef_)
        assert [r.objective for r in found.history_] == [r.objective for r in expected.history_]
    again = model(checkpoint=path, **settings).fit(X)  # of a fit that is done
    assert_array_equal(again.labels_, expected.labels_)


def test_what_is_done_is_not_read_again(tmp_path):
    X, path = rows(), tmp_path / "checkpoint"
    source = CountedSource(X)
    expected = model(min_cluster_fraction=0).fit(RowBlocks([source]))
    passes = source.reads / N
    n_records = len(expected.history_)
    with pytest.raises(KilledError):
        model(min_cluster_fraction=0, checkpoint=path, callback=killer(n_records - 1)).fit(RowBlocks([source]))
    source.reads = 0
    found = model(min_cluster_fraction=0, checkpoint=path).fit(RowBlocks([source]))
    assert_array_equal(found.labels_, expected.labels_)
    # The sample and the digest take rows, states are made in one read, and one or two passes were left.
    assert passes > 20
    assert source.reads / N < 6


def test_the_search_on_all_rows_after_one_on_a_sample(tmp_path):
    X, path = rows(5200), tmp_path / "checkpoint"
    expected = model().fit(X)
    with pytest.raises(KilledError):
        model(checkpoint=path, callback=killer(len(expected.history_) - 2)).fit(X)
    assert_array_equal(model(checkpoint=path).fit(X).coef_, expected.coef_)


def test_a_universum(tmp_path):
    X, U, path = rows(), rows(100) * 0.2, tmp_path / "checkpoint"
    expected = M2DCU(2, random_state=0, n_init=1).fit(X, universum=U)
    with pytest.raises(KilledError):
        M2DCU(2, random_state=0, n_init=1, checkpoint=path, callback=killer(len(expected.history_) - 2)).fit(
            X, universum=U
        )
    found = M2DCU(2, random_state=0, n_init=1, checkpoint=path).fit(X, universum=U)
    assert_array_equal(found.coef_, expected.coef_)
    assert found.universum_report_ == expected.universum_report_
    with pytest.raises(InvalidDataError, match="the digest of further rows was"):
        M2DCU(2, random_state=0, n_init=1, checkpoint=path).fit(X, universum=RowBlocks([ArraySource(U + 1)]))


@pytest.mark.filterwarnings("ignore:The objective of")  # no bias beyond 1 costs anything; it takes a pass more
@pytest.mark.parametrize("table_bytes", [64 << 20, 0], ids=["held", "mapped"])
def test_several_kernels(table_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr("widegap.rows._sources.TABLE_BYTES", table_bytes)
    np.save(tmp_path / "X.npy", rows(5200))
    X, path = np.load(tmp_path / "X.npy", mmap_mode="r"), tmp_path / "checkpoint"

    def fit(columns=(0, 3), **settings):
        # Functions are new objects in every process, as here.
        kernels = ["rbf", ("few", "linear", list(columns)), (lambda A, B: (A @ B.T + 1) ** 2)]
        return MKC(3, kernels=kernels, n_components=10, random_state=0, n_init=1, balance=1.5, **settings).fit(X)

    expected = fit()
    with pytest.raises(KilledError):
        fit(checkpoint=path, callback=killer(len(expected.history_) - 2))
    found = fit(checkpoint=path)
    for name in ("labels_", "coef_", "kernel_weights_", "kernel_margins_"):
        assert_array_equal(getattr(found, name), getattr(expected, name))
    with pytest.raises(InvalidDataError, match=r"kernels was \['rbf', \['few', 'linear', .*, and is \['rbf'"):
        fit(columns=(0, 4), checkpoint=path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")
def test_killed_ten_times_at_random_moments(tmp_path):
    X, path = rows(), tmp_path / "checkpoint"
    expected = model(n_jobs=1).fit(X)
    model(n_jobs=1, checkpoint=tmp_path / "whole").fit(X)
    whole = (tmp_path / "whole").stat().st_size
    rng = np.random.default_rng(0)
    moments = np.sort(rng.integers(500, whole - 200, 10))
    for moment in moments:
        child = os.fork()
        if not child:
            try:
                model(n_jobs=1, checkpoint=path).fit(X)
            finally:
                os._exit(0)
        while not path.exists() or path.stat().st_size < moment:
            time.sleep(0.0005)
            assert os.waitpid(child, os.WNOHANG) == (0, 0), "the fit ended before it was killed"
        time.sleep(rng.uniform(0, 0.003))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    found = model(n_jobs=1, checkpoint=path).fit(X)
    assert_array_equal(found.labels_, expected.labels_)
    assert_array_equal(found.coef_, expected.coef_)


@pytest.mark.parametrize("damage", [lambda c: c[:-7], lambda c: c[:-20] + bytes(20), lambda c: c + b"\x05"])
def test_an_unfinished_record_is_cut_off(damage, tmp_path):
    X, path = rows(), tmp_path / "checkpoint"
    expected = model(checkpoint=path).fit(X)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert_array_equal(model(checkpoint=path).fit(X).labels_, expected.labels_)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_a_single_row_that_was_corrected_is_noticed(form, tmp_path):
    X, path = rows(5200), tmp_path / "checkpoint"
    settings = {"init": np.arange(len(X)) % 4, "max_iter": 3, "checkpoint": path}
    with pytest.warns(ConvergenceWarning):
        expected = model(**settings).fit(form(X))
    corrected, swapped = X.copy(), X.copy()
    corrected[1, 4] = np.nextafter(X[1, 4], 9)
    swapped[[1, 2]] = X[[2, 1]]
    for other in (corrected, swapped):
        with pytest.raises(InvalidDataError, match="the digest of the rows was"):
            model(**settings).fit(form(other))
    with pytest.warns(ConvergenceWarning):
        found = model(**settings).fit(form(X))
    assert_array_equal(found.labels_, expected.labels_)


def test_the_digest_of_all_rows_is_that_of_their_values():
    X = rows(300)
    X[np.abs(X) < 1] = 0
    minus = np.where(X == 0, -0.0, X)
    expected = digest_of_rows(row_blocks(X))
    for same in (minus, np.asfortranarray(X), sp.csr_array(X)):
        assert digest_of_rows(row_blocks(same)) == expected
    in_two = RowBlocks([ArraySource(X[:7]), ArraySource(X[7:])], n_threads=2)
    assert digest_of_rows(in_two) == expected
    assert digest_of_rows(row_blocks(X.astype(np.float32).astype(np.float64))) != expected
    others = [X[::-1], X[:-1], X[:, ::-1], X[:, :-1], np.hstack([X, np.zeros((300, 1))]), -X, X * 2]
    assert len({expected, *(digest_of_rows(row_blocks(other)) for other in others)}) == 8


def test_every_byte_of_a_file_is_read_once(tmp_path):
    class Counted(BytesIO):
        n_bytes = 0

        def read(self, size=-1):
            content = super().read(size)
            self.n_bytes += len(content)
            return content

    path = tmp_path / "checkpoint"
    written = Checkpoint(path, {"method": "none"})
    for number in range(50):
        written.add((0, np.full(10, float(number))))
    content = path.read_bytes().partition(b"\n")[2]
    file = Counted(content + (2**60).to_bytes(8, "little") + b"torn")
    assert len(_checkpoint._records(file, len(content) + 12)) == 50
    assert file.tell() == len(content)
    assert file.n_bytes == len(content) + 12


def test_another_fit_is_refused_with_the_reason(tmp_path):
    X, path = rows(), tmp_path / "checkpoint"
    model(checkpoint=path).fit(X)
    for other, reason in (
        (lambda: model(checkpoint=path, tol=0.02).fit(X), "tol was 0.01, and is 0.02"),
        (lambda: model(checkpoint=path).fit(X[1:]), "the number of rows was 800, and is 799"),
        (lambda: model(checkpoint=path).fit(X + 1), "the digest of the rows was"),
        (lambda: M2DCU(4, random_state=0, C_universum=0, checkpoint=path).fit(X), "method was CPM3C, and is M2DCU"),
    ):
        with pytest.raises(InvalidDataError, match=f"checkpoint of another fit: {reason}.*delete the file"):
            other()
    path.write_text("something else\n")
    with pytest.raises(InvalidDataError, match="is not a checkpoint; choose another file name"):
        model(checkpoint=path).fit(X)
    with pytest.raises(InvalidDataError, match="random_state=None; set it to an integer"):
        model(checkpoint=path, random_state=None).fit(X)
    model(checkpoint=path.with_suffix(".new"), n_jobs=2, verbose=0).fit(X)


@pytest.mark.parametrize(
    "answer",
    [b"no archive", _checkpoint._encoded(1.5), _checkpoint._encoded((0, 1, 2))],
    ids=["no archive", "no answer", "too long"],
)
def test_a_record_that_no_fit_wrote_is_refused(answer, tmp_path):
    path = tmp_path / "checkpoint"
    Checkpoint(path, {"method": "none"})
    record = len(answer).to_bytes(8, "little") + _checkpoint._digest(answer) + answer
    path.write_bytes(path.read_bytes() + record)
    with pytest.raises(InvalidDataError, match=r"checkpoint is damaged \(.*\); delete the file to start again"):
        Checkpoint(path, {"method": "none"}).next()


def test_a_head_of_many_brackets_is_refused(tmp_path):
    path = tmp_path / "checkpoint"
    path.write_text("[" * 100_000 + "\n")
    with pytest.raises(InvalidDataError, match="is not a checkpoint; choose another file name"):
        Checkpoint(path, {"method": "none"})
