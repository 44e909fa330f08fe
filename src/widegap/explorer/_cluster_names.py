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


def name_of(workspace: "Workspace", key: int) -> str:
    """What a cluster is called: by a person, by its terms, or by its key."""
    if key < 0:
        return "none"
    name = workspace.state.names.get(key)
    if name:
        return name
    fit = workspace.fit
    names = getattr(fit.model, "topic_names_", None)
    if names is not None:
        place = dict(zip(workspace.cluster_keys, fit.classes.tolist(), strict=True))
        return clip(names.get(place.get(key), f"Topic {key}"), NAME_LENGTH)
    return f"Cluster {key}" if isinstance(fit, ShownFit) else "All rows"


def correction_words(workspace: "Workspace", event: Event) -> str:
    """A correction, with the names and numbers that people know."""
    return in_words(event, Naming(workspace.rows.unit, workspace.rows.numbers, lambda key: name_of(workspace, key)))


def names_by_key(fit: ShownFit | NotFitted, stored: Mapping[str, str] | None) -> dict[int, str]:
    """Names of a model's own clusters by their keys: those in its file, and the known labels of its clusters."""
    classes: object = getattr(fit.model, "classes_", None)
    of_model = enumerate(classes) if isinstance(classes, list) else ()
    names = {str(label): name for label, name in of_model if isinstance(name, str)} | dict(stored or {})
    labels = fit.classes.tolist()
    return {key: names[str(x)] for x, key in zip(labels, fit.keys(fit.own).tolist(), strict=True) if str(x) in names}
