"""Engines that raise, answer nonsense or answer nothing: the next one is asked, and then one error tells of all."""

import sys

import daqp
import numpy as np
import piqp
import pytest
from sklearn.datasets import make_blobs

from widegap import CPM3C, GMMC, MMC
from widegap.cutting_plane import _qp
from widegap.cutting_plane._qp import solve_qp
from widegap.exceptions import SolverError

GRAM = np.array([[2.0, 0.5], [0.5, 1.0]])
PROBLEM = GRAM, np.ones(2), np.zeros(2, np.int64), np.array([10.0])
X = make_blobs(30, centers=2, n_features=3, random_state=0)[0]


def raising(error):
    def engine(*arguments, **options):
        raise error

    return engine


FAULTS = {
    "raises RuntimeError": raising(RuntimeError("daqp: out of luck")),
    "raises MemoryError": raising(MemoryError()),
    "raises SystemError": raising(SystemError("no result")),
    "of another length": lambda *a, **k: (np.zeros(7), 0.0, 1, {"lam": np.zeros(9)}),
    "not numbers": lambda *a, **k: (np.full(2, np.nan), 0.0, 1, {"lam": np.full(3, np.inf)}),
    "nothing": lambda *a, **k: None,
    "no multipliers": lambda *a, **k: (np.zeros(2), 0.0, 1, {}),
    "huge": lambda *a, **k: (np.full(2, 1e308), 0.0, 1, {"lam": np.full(3, -1e308)}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_next_engine_is_asked(fault, monkeypatch):
    expected = solve_qp(*PROBLEM)
    monkeypatch.setattr(daqp, "solve", FAULTS[fault])
    found = solve_qp(*PROBLEM)
    assert (expected.solver, found.solver) == ("daqp", "piqp")
    np.testing.assert_allclose(found.multipliers, expected.multipliers, atol=1e-8)


class BrokenSolver:
    """Looks like PIQP's."""

    def __init__(self):
        raise RuntimeError("piqp: no licence to solve")


def test_one_error_tells_of_all_engines(monkeypatch):
    monkeypatch.setattr(daqp, "solve", FAULTS["raises RuntimeError"])
    monkeypatch.setattr(piqp, "DenseSolver", BrokenSolver)
    message = (
        r"The test with m = 2 multipliers was not solved \(daqp: RuntimeError: daqp: out of luck; piqp: RuntimeError"
    )
    with pytest.raises(SolverError, match=message):
        solve_qp(*PROBLEM, phase="test")


@pytest.mark.parametrize("engine", ["daqp", "piqp"])
def test_an_engine_that_cannot_be_imported_is_an_error(engine, monkeypatch):
    if engine == "piqp":
        monkeypatch.setattr(daqp, "solve", FAULTS["raises RuntimeError"])
    monkeypatch.setitem(sys.modules, engine, None)
    with pytest.raises(ImportError, match=rf"{engine}, which solves the test, cannot be imported .*reinstall {engine}"):
        solve_qp(*PROBLEM, phase="test")


def test_interrupts_are_no_failure_of_an_engine(monkeypatch):
    monkeypatch.setattr(daqp, "solve", raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        solve_qp(*PROBLEM)


def test_a_fit_goes_on_with_the_other_engine(monkeypatch):
    expected = CPM3C(2, random_state=0).fit(X).labels_
    monkeypatch.setattr(daqp, "solve", FAULTS["raises RuntimeError"])
    np.testing.assert_array_equal(CPM3C(2, random_state=0).fit(X).labels_, expected)


def test_the_error_of_a_fit_names_phase_and_size(monkeypatch):
    monkeypatch.setattr(_qp, "_solve_daqp", FAULTS["raises RuntimeError"])
    monkeypatch.setattr(_qp, "_solve_piqp", FAULTS["raises RuntimeError"])
    with pytest.raises(SolverError, match=r"The master problem of the cutting planes with m = \d+ multipliers"):
        CPM3C(2, random_state=0).fit(X)
    with pytest.raises(SolverError, match=r"The objective of some labels with m = 30 multipliers"):
        GMMC(2).fit(X)


class _SCS:
    """Looks like SCS."""

    answer: object = None

    def __init__(self, *arguments, **options):
        pass

    def solve(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [ValueError("ScsWork allocation error!"), None, {"x": np.zeros(3), "y": np.zeros(2), "info": {}}, {"x": "?"}],
    ids=str,
)
def test_scs_that_fails(answer, monkeypatch):
    scs = pytest.importorskip("scs")
    monkeypatch.setattr(_SCS, "answer", answer)
    monkeypatch.setattr(scs, "SCS", _SCS)
    with pytest.raises(SolverError, match=r"The semidefinite program with 496 unknowns was not solved \(scs: "):
        MMC(2).fit(X)
