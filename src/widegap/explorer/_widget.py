"""The page as a widget of a notebook: requests come as messages through the notebook's own channel, and so do answers.

A message names what it asks for, as an address does: ``{"id", "get", "query"}`` or ``{"id", "post", "body"}``. Its
answer has the same id, the media type and one buffer of bytes, or an error. Reads are answered by threads beside the
kernel's own, so that a map that takes seconds holds no cell back; posts in the kernel's own, in the order in which they
come.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anywidget
import traitlets

from widegap.base._progress import logger
from widegap.explorer._answers import REFUSED, Answers, BadRequestError, encoded, refusal
from widegap.explorer._bundle import bundled
from widegap.explorer._workspace import Workspace

READERS = 4  # threads that answer reads: a page asks for labels and sureness at once, while a map is being laid out
LONGEST_ID = 64  # characters: those of the page have about fifteen


class OfWorkspace(traitlets.Any):
    """A trait that the workspace has, too: it is found when somebody asks, as a model for k clusters takes its time."""

    def get(self, obj: Any, cls: Any = None) -> Any:
        return getattr(obj.workspace, str(self.name))


class ExplorerWidget(anywidget.AnyWidget):
    """A workspace in a notebook.

    Parameters
    ----------
    workspace : Workspace
        What is shown.

    Attributes
    ----------
    model : estimator
        Fitted for the number of clusters that is shown; before the first fit as it was given.
    labels : ndarray of shape (n_samples,)
        Cluster of every row as ``model`` numbers them; -1 for rows in none.
    selected : ndarray of int
        Rows of X that are selected on the map, from 0.
    workspace : Workspace
        What the page works on: ``act``, ``again``, ``undo``, ``constraints``.
    """

    _esm = bundled()
    model, labels, selected = (OfWorkspace(read_only=True) for _ in range(3))
    _watches_model = False

    def __init__(self, workspace: Workspace):
        self.workspace = workspace
        self._seen: tuple[object, ...] = (workspace.state.fit, workspace.k, workspace.selected)
        self._reported: dict[str, object] = {"labels": workspace.labels, "selected": workspace.selected}
        self._answers = Answers(workspace, self._tell, served_by=("anywidget", "ipywidgets"))
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="widegap-answer")
        super().__init__()
        self._watches_model = False  # what ipywidgets itself observes does not count
        workspace.listen(self._follow)
        self.on_msg(self._receive)
        self._answers.worker.compute_ahead()

    def close(self) -> None:
        """Remove the widget, stop a fit that is running and release the session; ``workspace`` stays usable."""
        self._answers.worker.stop()
        self._readers.shutdown(wait=False)
        self.workspace.close()
        super().close()

    # Messages

    def _receive(self, widget: object, message: object, buffers: object) -> None:
        """Answer a message, now or from a thread; one without an id is from no page of ours."""
        if not isinstance(message, dict):
            return
        number = message.get("id")
        if not isinstance(number, str) or len(number) > LONGEST_ID:
            return
        try:
            answer = self._asked(message)
        except BadRequestError as error:
            self.send({"id": number, **refusal(error)})
            return
        if "post" in message:
            self._send_answer(number, answer)
        else:
            self._readers.submit(self._send_answer, number, answer)

    def _asked(self, message: dict[str, Any]) -> Callable[[], object]:
        """What gives the answer; a message has to be one that the page would send."""
        method = "post" if "post" in message else "get"
        table: dict[str, Callable[[Any], object]]
        table = {**self._answers.posts} if method == "post" else {**self._answers.reads, "news": self._news}
        name, given = message.get(method), message.get("body" if method == "post" else "query")
        if not isinstance(name, str) or name not in table:
            raise BadRequestError(f"There is nothing to {method} at {name!r:.40}.")
        if not isinstance(given, dict):
            raise BadRequestError("The request must be an object.")
        if method == "get" and not all(isinstance(text, str) for part in given.items() for text in part):
            raise BadRequestError("A query must have texts for values.")
        return lambda: table[name](given)

    def _send_answer(self, number: str, answer: Callable[[], object]) -> None:
        try:
            content = encoded(answer())
        except REFUSED as error:
            self.send({"id": number, **refusal(error)})
        except Exception as error:  # whatever it is, the page shows it and goes on
            logger.debug("request failed", exc_info=True)
            self.send({"id": number, "error": f"The request failed: {error}"[:600]})
        else:
            self.send({"id": number, "kind": content.kind}, [content.body])

    def _news(self, asked: object = None) -> dict[str, object]:
        return self._answers.news()

    def _tell(self) -> None:
        self.send({"news": self._news()})

    # Traits

    def observe(self, handler: Any, names: Any = traitlets.All, type: Any = "change") -> None:
        """Call a function after changes, as with all widgets."""
        self._watches_model |= names is traitlets.All or "model" in ([names] if isinstance(names, str) else names)
        super().observe(handler, names, type)

    def _follow(self) -> None:
        """Tell observers what has changed; may be called from any thread."""
        workspace = self.workspace
        with workspace.lock:
            before, self._seen = self._seen, (workspace.state.fit, workspace.k, workspace.selected)
            changed = ["model"] * self._watches_model + ["labels"] if self._seen[:2] != before[:2] else []
            changed += ["selected"] if self._seen[2] is not before[2] else []
            new = {name: getattr(self, name) for name in changed}
            old, self._reported = self._reported, {**self._reported, **new}
            try:
                for name in changed:
                    change = {"name": name, "old": old.get(name), "new": new[name], "owner": self, "type": "change"}
                    self.notify_change(traitlets.Bunch(change))
            except Exception:  # of an observer: what the user did is done, and the page goes on
                logger.exception("an observer of the widget failed")
