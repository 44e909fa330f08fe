"""A Python script that repeats a session: the model with its seed, and every action as data."""

import json
from pprint import pformat

from widegap import __version__
from widegap.explorer._fits import PageModel, ShownFit
from widegap.explorer._workspace import Workspace

TEMPLATE = '''\
"""What was done with widegap {version} on {title}: {n_actions} actions, {n_fits} fits.

Run it on the same rows and it ends with the same clusters. {seed}
"""

import json

{imports}

ACTIONS = json.loads(r"""
{actions}
""")  # corrections among them: together, apart, is, junk, merge, split; rows are numbered from 0


def reproduce(X{arguments}):
    """The workspace after all actions; X are the {n_rows} {unit}s, as the model takes them."""
{made}    return Workspace(model, X, events=ACTIONS)


# X: {source}
{loaded}# workspace = reproduce(X{arguments})
# workspace.labels are {k} clusters, -1 for rows in none; workspace.model predicts new rows
'''


def script(workspace: Workspace) -> str:
    """The program as text; all that came from outside stands in it as JSON or as a quoted text."""
    opening = workspace.opening
    name = type(opening.model).__name__
    model = _call(opening.model)
    if isinstance(opening, ShownFit):
        model += ".fit(X)"
    seeded = opening.model.get_params().get("random_state") is not None
    # Corrections in the model file are in its model, and no fit of the rows alone restores them.
    opened = any(event.is_opening for event in workspace.history.events)
    events = [_without_notes(event.to_json()) for event in workspace.history.events]
    return TEMPLATE.format(
        version=__version__,
        title=_quoted(workspace.title),
        n_actions=len(events),
        n_fits=sum(event["kind"] == "again" for event in events) + isinstance(opening, ShownFit),
        seed="The seed is the model's random_state."
        if seeded
        else "The model has no random_state: clusters may differ.",
        imports=f"{'' if opened else _import(opening.model, name)}\nfrom widegap.explorer import Workspace".lstrip(),
        actions=",\n".join(json.dumps(event, ensure_ascii=True).replace('"""', '\\"\\"\\"') for event in events).join(
            "[]"
        ),
        n_rows=workspace.rows.n_rows,
        unit=workspace.rows.unit,
        arguments=", model" if opened else "",
        made="" if opened else f"    model = {model}\n",
        loaded="# model: the clusterer of the model file that was opened, by widegap.persistence.load\n"
        if opened
        else "",
        source=_quoted(workspace.source) if workspace.source else "the rows that were passed to widegap.explore",
        k=workspace.k,
    )


def _import(model: PageModel, name: str) -> str:
    home = "widegap" if type(model).__module__.startswith("widegap.") else type(model).__module__
    return f"from {home} import {name}"


def _call(model: PageModel) -> str:
    """The constructor's call, with the parameters that are not the defaults."""
    fresh = type(model)().get_params(deep=False)
    arguments = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if name not in ("callback", "verbose", "n_jobs") and repr(value) != repr(fresh.get(name))
    }
    return f"{type(model).__name__}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"


def _without_notes(event: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in event.items() if name != "notes"}


def _quoted(text: str) -> str:
    """A text that cannot end the docstring it stands in."""
    return pformat(text, width=10_000).replace('"""', "''").replace("\\", "/")
