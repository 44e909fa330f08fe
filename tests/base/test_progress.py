"""Progress of fits that run at the same time."""

import logging
from contextlib import contextmanager
from threading import Barrier, Thread

import pytest
from sklearn.datasets import make_blobs

from widegap import CPM3C, MKC, DocumentClustering, IterSVR, MaxMarginClustering
from widegap.base._progress import logger, progress_logging

ROWS = make_blobs(60, centers=2, random_state=0)[0]
NOTES = ["the cat and the dog sleep", "a dog chases a cat", "stocks and bonds fell", "bonds rose while stocks fell"] * 4
FITS = {
    "CPM3C": (CPM3C, {}, ROWS),
    "MKC": (MKC, {"kernels": ["linear", "rbf"]}, ROWS),
    "IterSVR": (IterSVR, {}, ROWS),
    "MaxMarginClustering": (MaxMarginClustering, {}, ROWS),
    "by moves": (MaxMarginClustering, {"search": "moves"}, ROWS),
    "DocumentClustering": (DocumentClustering, {}, NOTES),
}
every_fit = pytest.mark.parametrize(("cls", "settings", "X"), FITS.values(), ids=FITS)


@contextmanager
def bare_logger():
    """The logger as in an application that has not set up logging; not a fixture, since pytest adds its own later."""
    kept = logger.propagate, logger.handlers, logger.level
    logger.propagate, logger.handlers = False, []
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.propagate, logger.handlers = kept[:2]
        logger.setLevel(kept[2])


def test_one_handler_while_any_fit_runs():
    with bare_logger():
        first, second = progress_logging(1), progress_logging(1)
        first.__enter__()
        handlers = list(logger.handlers)
        second.__enter__()
        assert logger.handlers == handlers and len(handlers) == 1
        first.__exit__(None, None, None)
        assert logger.handlers == handlers and logger.level == logging.INFO
        second.__exit__(None, None, None)
        assert not logger.handlers and logger.level == logging.WARNING


def test_threads_leave_the_logger_as_it_was():
    with bare_logger():
        barrier = Barrier(8)
        most = []

        def fit():
            barrier.wait()
            for _ in range(50):
                with progress_logging(1):
                    most.append(len(logger.handlers))

        threads = [Thread(target=fit) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(most) == {1}
        assert not logger.handlers and logger.level == logging.WARNING


def test_quiet_fits_touch_nothing():
    with bare_logger():
        with progress_logging(0):
            assert not logger.handlers and logger.level == logging.WARNING


def test_handlers_of_the_application_are_kept():
    with bare_logger():
        own = logging.NullHandler()
        logger.addHandler(own)
        with progress_logging(1):
            assert logger.handlers == [own]
        assert logger.handlers == [own]


def test_an_error_in_the_fit_closes_it():
    with bare_logger():
        with pytest.raises(KeyError), progress_logging(1):
            raise KeyError
        assert not logger.handlers


@every_fit
def test_a_fit_logs_every_record_if_asked_to(cls, settings, X, caplog):
    found = cls(2, random_state=0, verbose=1, **settings).fit(X)  # the level of the logger is raised by the fit itself
    assert found.history_
    assert set(record.line() for record in found.history_) <= set(caplog.messages)
    if cls is DocumentClustering:
        caplog.clear()
        found.refit(universum_documents=["nothing of the kind"])
        assert set(record.line() for record in found.history_) <= set(caplog.messages) != set()


@every_fit
def test_a_fit_logs_nothing_unless_asked_to(cls, settings, X, caplog):
    with caplog.at_level(logging.INFO, logger="widegap"):  # as an application may have set it
        cls(2, random_state=0, **settings).fit(X)
    assert not caplog.messages
