"""Long work beside the page: one fit at a time in a thread of its own, with progress, which can be stopped."""

from collections.abc import Callable
from threading import Event as Flag
from threading import Lock, Thread
from time import monotonic
from typing import Any

from widegap.base._progress import logger
from widegap.explorer._workspace import StoppedError, Workspace


class Worker:
    """Runs fits and what is computed ahead; ``progress`` says how far it is."""

    def __init__(self, workspace: Workspace, tell: Callable[[], None] = lambda: None):
        self.workspace, self._tell = workspace, tell
        self._stop, self._lock = Flag(), Lock()
        self._fitting: Thread | None = None
        self._ahead: Thread | None = None
        self.progress: dict[str, Any] = {"running": False}

    @property
    def running(self) -> bool:
        return self._fitting is not None and self._fitting.is_alive()

    def again(self, base: int | None = None) -> None:
        """Begin a fit; it is an error if one is running, or if ``base`` is not the last event."""
        with self._lock:
            self.workspace.check_ready(base)
            self._stop.clear()
            self.progress = {"running": True, "done": 0, "of": self._expected(), "seconds": 0.0}
            self._fitting = Thread(target=self._fit, name="widegap-fit", daemon=True)
            self._fitting.start()
        self._tell()

    def stop(self) -> None:
        """Ask the fit to end; it does so with its next record."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the fit has ended."""
        if self._fitting is not None:
            self._fitting.join(seconds)

    def compute_ahead(self) -> None:
        """Find the cuts at all numbers, those near the present one first, so that sliding need not wait."""
        with self._lock:
            if self._ahead is None or not self._ahead.is_alive():
                self._ahead = Thread(target=self._cuts, name="widegap-cuts", daemon=True)
                self._ahead.start()

    def _expected(self) -> int | None:
        expected = getattr(self.workspace.fit.model, "_expected_records", lambda n_rows: None)
        return expected(self.workspace.rows.n_rows)

    def _fit(self) -> None:
        began = monotonic()

        def watch(record: Any) -> bool:
            done = self.progress["done"] + 1
            self.progress = {**self.progress, "done": done, "seconds": round(monotonic() - began, 2)}
            self._tell()
            return self._stop.is_set()

        message = None
        try:
            self.workspace.again(watch)
        except StoppedError:
            message = "Stopped; the clusters did not change."
        except Exception as error:  # whatever it is, the page shows it and goes on
            logger.debug("fit failed", exc_info=True)
            message = f"The fit failed: {error}"
        self.progress = {"running": False, "message": message, "seconds": round(monotonic() - began, 2)}
        self._tell()
        self.compute_ahead()

    def _cuts(self) -> None:
        done = None
        while done is not self.workspace.fit:  # a new fit may have come while the cuts of another were found
            done = fit = self.workspace.fit
            for k in sorted(fit.numbers, key=lambda k: abs(k - fit.own)):
                with self.workspace.lock:
                    fit.keys(k)
                if self.workspace.fit is not fit:
                    break
