"""What clusters and corrections are called on the page and in the files that come from it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from widegap._wording import clip
from widegap.corrections._action import Naming
from widegap.corrections._actions import NAME_LENGTH, in_words
from widegap.corrections._events import Event
from widegap.explorer._fits import NotFitted, ShownFit

if TYPE_CHECKING:
    from widegap.explorer._workspace import Workspace

NOT_SHOWN = "a cluster that is not shown"


def name_of(workspace: "Workspace", key: int, k: int | None = None) -> str:
    """What a cluster is called: by a person, by its terms, or by its number, which files hold as well.

    The number is that of the model for k clusters, None for as many as are shown.
    """
    if key < 0:
        return "none"
    fit, name = workspace.fit, workspace.state.names.get(key)
    if name or not isinstance(fit, ShownFit):
        return name or "All rows"
    return _own_name(fit, key, workspace.k if k is None else k) or NOT_SHOWN


def name_in_move(workspace: "Workspace", key: int) -> str:
    """What a cluster is called after the last fit, or was called before if it is gone."""
    name = name_of(workspace, key, workspace.fit.own)
    if name != NOT_SHOWN or workspace.before_fit is None:
        return name
    former = _own_name(workspace.before_fit[0], key, workspace.before_fit[1])
    return name if former is None else f"former {former}"


def _own_name(fit: ShownFit, key: int, k: int) -> str | None:
    """What a cluster is called without a person's name; None if there is no such cluster at k."""
    number = _number_of(fit, key, k)
    if number is None:
        return None
    topics = getattr(fit.model, "topic_names_", None)
    return f"Cluster {number}" if topics is None else clip(topics.get(number, f"Topic {number}"), NAME_LENGTH)


def _number_of(fit: ShownFit | NotFitted, key: int, k: int) -> int | None:
    keys = fit.keys(k).tolist()
    return int(fit.classes_at(k)[keys.index(key)]) if key in keys else None


def correction_words(workspace: "Workspace", event: Event) -> str:
    """A correction, with the names and numbers that people know: those of its time, where the event has words."""

    def number_of(key: int) -> int:
        found = _number_of(workspace.fit, key, workspace.k)
        return key if found is None else found

    def called(key: int) -> str:
        name = name_of(workspace, key)
        return "a new cluster" if name == NOT_SHOWN and event.data.get("new") else name

    return in_words(event, Naming(workspace.rows.unit, workspace.rows.numbers, called, number_of))


def names_by_key(fit: ShownFit | NotFitted, stored: Mapping[str, str] | None) -> dict[int, str]:
    """Names of a model's own clusters by their keys: those in its file, and the known labels of its clusters."""
    classes: object = getattr(fit.model, "classes_", None)
    labels = fit.classes.tolist()
    of_model = zip(labels, classes, strict=True) if isinstance(classes, list) and len(classes) == len(labels) else ()
    names = {str(label): name for label, name in of_model if isinstance(name, str)} | dict(stored or {})
    return {key: names[str(x)] for x, key in zip(labels, fit.keys(fit.own).tolist(), strict=True) if str(x) in names}
