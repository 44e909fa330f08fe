"""What an action has to say, checked before it counts: values from outside become plain data of known kinds."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from widegap.exceptions import InvalidDataError
from widegap.explorer._fits import typical
from widegap.report._wording import clip

if TYPE_CHECKING:
    from widegap.explorer._workspace import Workspace

MOST_ROWS = 200_000
MOST_CLUSTERS = 1_000
NAME_LENGTH = 80
LEFT = 0.1  # of a cluster's rows: if no more stay than that, the cluster is junk as a whole
SPLIT_ROWS = 2_000  # of a larger cluster a sample is split


def checked(workspace: "Workspace", kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """What an event of this kind holds; refuses what makes no sense."""
    if kind not in CHECKS:
        raise InvalidDataError(f"{kind!r:.40} is no action; there are {', '.join(CHECKS)}.")
    if not isinstance(data, dict):
        raise InvalidDataError(f"An action takes an object, not {data!r:.40}.")
    return CHECKS[kind](workspace, data)


def _rows(workspace: "Workspace", data: dict[str, Any], least: int, most: int = MOST_ROWS) -> list[int]:
    rows = data.get("rows")
    if not isinstance(rows, list) or not all(type(row) is int for row in rows):
        raise InvalidDataError(f"rows={rows!r:.40} must be a list of row numbers.")
    found = sorted(set(rows))
    n = workspace.rows.n_rows
    if found and not (0 <= found[0] and found[-1] < n):
        raise InvalidDataError(f"rows holds {found[0]} to {found[-1]}, but rows are numbered from 0 to {n - 1}.")
    if len(found) < least:
        raise InvalidDataError(f"This needs {least} rows or more; {len(found)} are selected.")
    if len(found) > most:
        raise InvalidDataError(f"This takes {most} rows at most; {len(found)} are selected.")
    return found


def _key(workspace: "Workspace", value: Any) -> int:
    keys = workspace.fit.keys(workspace.k).tolist()
    if type(value) is not int or value not in keys:
        raise InvalidDataError(f"cluster={value!r:.40} is none of the clusters {keys[:20]}.")
    return value


def _together(workspace: "Workspace", data: dict[str, Any]) -> dict[str, Any]:
    return {"rows": _rows(workspace, data, 2), **_asked(data)}


def _apart(workspace: "Workspace", data: dict[str, Any]) -> dict[str, Any]:
    most = max(2, workspace.k)
    if isinstance(data.get("rows"), list) and len(set(map(str, data["rows"]))) > most:
        raise InvalidDataError(
            f"{len(data['rows'])} rows cannot all be in different clusters, as there are {workspace.k}; select two."
        )
    return {"rows": _rows(workspace, data, 2, most), **_asked(data)}


def _asked(data: dict[str, Any]) -> dict[str, Any]:
    return {"asked": True} if data.get("asked") is True else {}


def _is(workspace: "Workspace", data: dict[str, Any]) -> dict[str, Any]:
    rows = _rows(workspace, data, 1)
    if data.get("cluster") != "new":
        return {"rows": rows, "cluster": _key(workspace, data.get("cluster"))}
    return {"rows": rows, "cluster": _new_key(workspace), "new": True}


def _new_key(workspace: "Workspace") -> int:
    """The least key that nothing has."""
    taken = {*workspace.fit.keys(workspace.k).tolist()}
    for said in workspace.state.statements:
        taken |= {said.data.get("cluster"), said.data.get("new"), *said.data.get("clusters", ())}
    return min(set(range(len(taken) + 1)) - taken)


def _junk(workspace: "Workspace", data: dict[str, Any]) -> dict[str, Any]:
    rows = _rows(workspace, data, 1, max(1, workspace.rows.n_rows // 2))
    keys = workspace.keys
    before, after = (np.bincount(part[part >= 0], minlength=1) for part in (keys, np.delete(keys, rows)))
    after = np.pad(after, (0, len(before) - len(after)))
    gone = int(np.count_nonzero((before > 0) & (after < LEFT * before)))
    return {"rows": rows, **({"gone": gone} if gone else {})}


def _merge(workspace: "Workspace", data: dict[str, Any]) -> dict[str, Any]:
    given = data.get("clusters")
    if not isinstance(given, list) or len({str(key) for key in given}) < 2:
        raise InvalidDataError(f"clusters={given!r:.40} must name two clusters or more.")
    keys = sorted({_key(workspace, key) for key in given})
    of_rows = workspace.keys
    rows = [row for key in keys for row in typical(np.flatnonzero(of_rows == key), workspace.fit.sure)]
    return {"clusters": keys, "rows": rows}


def _split(workspace: "Workspace", data: dict[str, Any]) -> dict[str, Any]:
    key = _key(workspace, data.get("cluster"))
    inside = np.flatnonzero(workspace.keys == key)
    if len(inside) < 4:
        raise InvalidDataError(f"This cluster has {len(inside)} rows; splitting needs at least four.")
    parts = [typical(part, None) for part in halves(workspace, inside)]
    return {"cluster": key, "new": _new_key(workspace), "parts": parts}


def _k(workspace: "Workspace", data: dict[str, Any]) -> dict[str, Any]:
    k, numbers = data.get("k"), workspace.fit.numbers
    if type(k) is not int or k not in numbers:
        raise InvalidDataError(f"k={k!r:.40} must be a whole number from {numbers[0]} to {numbers[-1]}.")
    return {"k": k}


def _number(workspace: "Workspace", data: dict[str, Any]) -> dict[str, Any]:
    k, most = data.get("k"), min(MOST_CLUSTERS, workspace.rows.n_rows)
    if type(k) is not int or not 1 <= k <= most:
        raise InvalidDataError(f"k={k!r:.40} must be a whole number from 1 to {most}.")
    return {"k": k}


def _rename(workspace: "Workspace", data: dict[str, Any]) -> dict[str, Any]:
    name = data.get("name")
    if not isinstance(name, str):
        raise InvalidDataError(f"name={name!r:.40} must be a text.")
    return {"cluster": _key(workspace, data.get("cluster")), "name": clip(" ".join(name.split()), NAME_LENGTH)}


def _drop(workspace: "Workspace", data: dict[str, Any]) -> dict[str, Any]:
    number = data.get("statement")
    if type(number) is not int or number not in [said.number for said in workspace.state.statements]:
        raise InvalidDataError(f"statement={number!r:.40} is none of those that were made.")
    return {"statement": number}


def _skip(workspace: "Workspace", data: dict[str, Any]) -> dict[str, Any]:
    return {"rows": _rows(workspace, data, 1, 2)}


def _nothing(workspace: "Workspace", data: dict[str, Any]) -> dict[str, Any]:
    return {}


CHECKS: dict[str, Callable[["Workspace", dict[str, Any]], dict[str, Any]]] = {
    "together": _together,
    "apart": _apart,
    "is": _is,
    "junk": _junk,
    "merge": _merge,
    "split": _split,
    "k": _k,
    "number": _number,
    "rename": _rename,
    "drop": _drop,
    "skip": _skip,
    "undo": _nothing,
    "redo": _nothing,
}


def halves(workspace: "Workspace", rows: Any) -> list[Any]:
    """The rows of a cluster as two parts, found by a fit of them alone."""
    from widegap import MaxMarginClustering

    chosen = rows if len(rows) <= SPLIT_ROWS else np.sort(np.random.default_rng(0).choice(rows, SPLIT_ROWS, False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the two are hardly apart is known to whoever asks for them
        labels = MaxMarginClustering(2, random_state=0).fit_predict(workspace.features[chosen])
    return [chosen[labels == part] for part in (0, 1)]
