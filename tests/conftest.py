"""What several folders of tests share; helpers that are not fixtures are in ``tests/_*.py``."""

import signal

import numba
import numpy as np
import pytest
from hypothesis import Phase, settings
from sklearn.datasets import load_digits

settings.register_profile("without deadline", deadline=None)  # other programs may run beside the tests
settings.register_profile("unshrunk", deadline=None, phases=[Phase.generate])  # for tests/promises
settings.load_profile("without deadline")


if numba.config.DISABLE_JIT:
    import _plain_loops

    _plain_loops.install()


def _digits(*classes):
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, classes)
    return X[chosen], y[chosen], X[~chosen]


@pytest.fixture(scope="session", autouse=True)
def ctrl_c():
    """Ctrl-C reaches the tests and the programs they start, even if a script runs the tests in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # shells ignore it there, and every child inherits that
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def pair():
    """Digits 3 and 8, and their classes."""
    return _digits(3, 8)[:2]


@pytest.fixture(scope="session")
def triple():
    """Digits 0, 6 and 9, and their classes."""
    return _digits(0, 6, 9)[:2]


@pytest.fixture(scope="session")
def pair_and_others():
    """Digits 3 and 8, their classes, and all other digits."""
    return _digits(3, 8)


@pytest.fixture(scope="session")
def triple_and_others():
    """Digits 0, 6 and 9, their classes, and all other digits."""
    return _digits(0, 6, 9)


@pytest.fixture
def wide_screen(monkeypatch):
    """A terminal on which no line of output is broken."""
    monkeypatch.setenv("COLUMNS", "250")
