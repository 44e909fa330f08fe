"""Opening a workspace for people: a widget in a notebook, and elsewhere a server on this machine with its page."""

import secrets
import sys
import threading
from collections.abc import Sequence
from typing import Any

from widegap.exceptions import NotSupportedError
from widegap.explorer._addresses import OWN_ADDRESS, Listening
from widegap.explorer._redirect import Redirect
from widegap.explorer._rows import ShownRows
from widegap.explorer._workspace import Workspace


def explore(
    model: Any,
    X: Any,
    frame: Any = None,
    *,
    values: Any = None,
    feature_names: Sequence[str] | None = None,
    title: str = "Rows",
    session: Any = None,
    resume: bool = False,
    port: int = 0,
    browser: bool = False,
) -> Any:
    """Show a clustering on a page, to look at it, correct it and cluster again.

    In a notebook the page is a widget, which needs ``pip install 'widegap[notebook]'`` and talks through the notebook's
    own channel. Elsewhere a server on this machine shows it, which needs ``pip install 'widegap[explore]'``.

    Parameters
    ----------
    model : estimator or pipeline
        Fitted, or still to be fitted on the page.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of str
        Its rows, or documents.
    frame : DataFrame of n_samples rows, default=None
        The rows as people know them, whose cells are shown and searched.
    values : {array-like, sparse matrix}, default=None
        The same rows in the units in which to show them, if X was scaled; may have other columns.
    feature_names : sequence of str, default=None
        Names of the columns of ``values`` (of X without these).
    title : str, default="Rows"
        Title of the page.
    session : path, default=None
        File to save every action in; None keeps them in this process only.
    resume : bool, default=False
        Continue the session in that file.
    port : int, default=0
        Port of the server; 0 takes a free one. With a port there is a server in a notebook, too.
    browser : bool, default=False
        Start the server, in a notebook, too, and open the page in the browser of this machine.

    Returns
    -------
    ExplorerWidget or Opened
        The widget, or what has the ``address`` of the page. ``model``, ``labels`` and ``selected`` of both follow what
        is done on the page; those of the widget are traits. ``workspace`` does the same from Python, ``close()`` ends
        it.
    """
    shown = ShownRows(X, values=values, names=feature_names, frame=frame)
    if in_notebook() and not browser and not port:
        return _widget(model, X, rows=shown, title=title, session=session, resume=resume)
    opened = Opened(model, X, rows=shown, title=title, session=session, resume=resume)
    opened.serve(port=port)
    if browser:
        opened.open_browser()
    return opened


def in_notebook() -> bool:
    """Whether Python runs behind a notebook, which has a channel for widgets; nothing is imported to find out."""
    ipython, marimo = sys.modules.get("IPython"), sys.modules.get("marimo")
    if ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None:
        return True
    return marimo is not None and bool(marimo.running_in_notebook())


def _widget(*rows: Any, **options: Any) -> Any:
    try:
        from widegap.explorer._widget import ExplorerWidget
    except ImportError as error:
        raise NotSupportedError(
            f"In a notebook the page needs {error.name}, which is not installed: pip install 'widegap[notebook]'. With "
            "browser=True it opens in a browser on this machine instead."
        ) from error
    return ExplorerWidget(Workspace(*rows, **options))


class Opened(Workspace):
    """A workspace with a server that shows it, in a thread of its own."""

    address: str
    _server: Any = None
    _redirect: Redirect | None = None

    @property
    def workspace(self) -> Workspace:
        """The workspace itself, under the name that it has in a widget."""
        return self

    def serve(self, *, host: str = OWN_ADDRESS, port: int = 0) -> None:
        """Begin to answer requests.

        Parameters
        ----------
        host : str, default="127.0.0.1"
            Address to listen on; any but this machine's own (127.0.0.1, ::1) lets the network in, 0.0.0.0 and :: on
            all of its addresses.
        port : int, default=0
            0 takes a free one.
        """
        try:
            import uvicorn

            from widegap.explorer._connections import TimedConnection
            from widegap.explorer._guard import MAX_HEADERS, Guard
            from widegap.explorer._server import make_app
        except ImportError as error:
            raise NotSupportedError(
                f"The page needs {error.name}, which is not installed: pip install 'widegap[explore]'."
            ) from error
        token = secrets.token_urlsafe(32)
        listening = Listening(host, port)
        app, self.pages = make_app(self)
        self._guard = Guard(app, token, listening)
        config = uvicorn.Config(
            self._guard, http=TimedConnection, log_level="error", access_log=False, lifespan="off",
            timeout_graceful_shutdown=1, server_header=False, h11_max_incomplete_event_size=MAX_HEADERS,
            limit_concurrency=100,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self.address = f"{listening.address}/{token}/"
        run = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listening.socket]}, name="widegap-explore", daemon=True
        )
        self._thread = run
        run.start()
        self.pages.worker.compute_ahead()

    def open_browser(self) -> None:
        """Open the page in the browser of this machine, without its address in the list of processes."""
        self._redirect = Redirect(self.address)
        self.pages.on_page = self._redirect.remove
        self._redirect.open()

    def wait(self) -> None:
        """Wait until the server ends."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def close(self) -> None:
        """End the server and release the session; the workspace stays usable, but no longer saves."""
        if self._server is not None:
            self.pages.worker.stop()
            self.pages.broadcast.end()
            self._server.should_exit = True
            self._thread.join(5)
        if self._redirect is not None:
            self._redirect.remove()
        super().close()
