"""What clusters and statements are called on the page and in the files that come from it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from widegap._wording import clip
from widegap.corrections._action import Words
from widegap.corrections._corrections import CORRECTIONS
from widegap.corrections._events import Statement
from widegap.explorer._fits import Fit, NotFitted

if TYPE_CHECKING:
    from widegap.explorer._workspace import Workspace

LONGEST = 80  # characters of a name


def name_of(workspace: "Workspace", key: int) -> str:
    """What a cluster is called: by a person, by its terms, or by its key."""
    if key < 0:
        return "none"
    given = workspace.state.names.get(key)
    if given:
        return given
    fit = workspace.fit
    names = getattr(fit.model, "topic_names_", None)
    if names is not None:
        place = dict(zip(workspace.cluster_keys, fit.classes.tolist(), strict=True))
        return clip(names.get(place.get(key), f"Topic {key}"), LONGEST)
    return f"Cluster {key}" if isinstance(fit, Fit) else "All rows"


def in_words(workspace: "Workspace", said: Statement) -> str:
    """What a person said, with the names and numbers that people know."""
    words = Words(workspace.rows.unit, workspace.rows.numbers, lambda key: name_of(workspace, key))
    return CORRECTIONS[said.kind].words(said.data, words)


def names_by_key(fit: Fit | NotFitted, given: Mapping[str, str] | None) -> dict[int, str]:
    """Names of a model's own clusters by their keys: those in its file, and known labels that they carry."""
    classes: Any = getattr(fit.model, "classes_", None)
    carried = enumerate(classes) if isinstance(classes, list) else ()
    names = {str(label): name for label, name in carried if isinstance(name, str)} | dict(given or {})
    labels = fit.classes.tolist()
    return {key: names[str(x)] for x, key in zip(labels, fit.keys(fit.own).tolist(), strict=True) if str(x) in names}
