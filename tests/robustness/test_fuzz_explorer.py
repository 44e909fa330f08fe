"""The explorer under odd actions, saved events and requests: an answer, or an error with a reason and nothing changed.

A chain of actions mixes right values with odd ones. Whatever it came to, all views can still be shown, and a workspace
that replays the saved events is in the same state.
"""

import asyncio
import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_fuzz import OPTIONS, within

from _counts import tried
from widegap import CPM3C, MaxMarginClustering
from widegap.corrections._actions import ACTIONS
from widegap.exceptions import WidegapError
from widegap.explorer import Workspace
from widegap.explorer import _payloads as _views
from widegap.explorer._workspace import ChangedError

pytest.importorskip("starlette", reason="needs the extra explore")
httpx = pytest.importorskip("httpx", reason="needs httpx")
from widegap.explorer._server import make_app  # noqa: E402

N = 24
X = np.random.default_rng(0).normal(size=(N, 2)) + 7 * (np.arange(N) % 3)[:, None]
MODELS = [
    MaxMarginClustering(3, random_state=0).fit(X),
    CPM3C(3, random_state=0).fit(X),
    MaxMarginClustering(3, random_state=0),  # still to be fitted
]
ODD = [
    None, True, -1, 0, 1, 3, 7, 10**6, 2**70, -0.5, 1e308, float("nan"), "", "new", "x" * 300, "\0", "\ud800", [], {},
    [0], [0, 1], [1, 1], [0, "1"], [None], [2**70], [[0]], {"rows": [0]}, list(range(N)), list(range(N // 2)),
]  # fmt: skip
ROWS = st.lists(st.integers(0, N - 1), min_size=1, max_size=5)
KEY = st.sampled_from([0, 1, 2, 3, "new"])
RIGHT = {
    "rows": ROWS, "cluster": KEY, "clusters": st.lists(KEY, max_size=3), "k": st.integers(1, 6),
    "name": st.text(max_size=9), "statement": st.integers(1, 6), "asked": st.booleans(),
}  # fmt: skip
FIELDS = {
    "together": ("rows", "asked"), "apart": ("rows",), "is": ("rows", "cluster"), "junk": ("rows",),
    "merge": ("clusters",), "split": ("cluster",), "k": ("k",), "number": ("k",), "rename": ("cluster", "name"),
    "drop": ("statement",), "skip": ("rows",),
}  # fmt: skip


@st.composite
def actions(draw):
    """A kind and its data, mostly right ones."""
    kind = draw(st.sampled_from([*ACTIONS, "nonsense"]))
    data = {name: draw(RIGHT[name]) for name in FIELDS.get(kind, ())}
    if draw(st.integers(0, 2)) == 0 and data:
        data[draw(st.sampled_from(sorted(data)))] = draw(st.sampled_from(ODD))
    return kind, draw(st.sampled_from(ODD)) if draw(st.integers(0, 9)) == 0 else data


def do(workspace, kind, data):
    """One action, as the page lets a person do it."""
    return workspace.again() if kind == "again" else workspace.act(kind, data)


def with_reason(error, *about):
    assert len(str(error)) > 12, (about, repr(error))


def check_views(workspace):
    """All that a page asks for can be said in JSON."""
    k = workspace.k
    found = [_views.overview(workspace), _views.clusters(workspace, k), _views.profile(workspace, k)]
    found += [_views.tree(workspace), _views.row(workspace, 0), _views.moved(workspace)]
    json.dumps(found, allow_nan=False)


def check_chain(model, chain):
    workspace = Workspace(model, X)
    with warnings.catch_warnings(), within(60):
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        for kind, data in chain:
            before = workspace.number
            try:
                do(workspace, kind, data)
            except (WidegapError, ValueError, TypeError) as error:
                with_reason(error, kind, data)
                assert workspace.number == before and not workspace.working
            else:
                assert workspace.number == before + 1
            tried("actions in the explorer", 1)
        check_views(workspace)
        events = json.loads(json.dumps([event.to_json() for event in workspace.history.events]))
        again = Workspace(model, X, events=events)
        assert again.state == workspace.state
        np.testing.assert_array_equal(again.labels, workspace.labels)


CHAINS = st.lists(actions(), min_size=1, max_size=6)


@given(st.sampled_from(MODELS), CHAINS)
@settings(max_examples=60, **OPTIONS)
def test_chains_of_odd_actions(model, chain):
    check_chain(model, chain)


@pytest.mark.slow
@given(st.sampled_from(MODELS), CHAINS)
@settings(max_examples=5_000, **OPTIONS)
def test_many_chains_of_odd_actions(model, chain):
    check_chain(model, chain)


# Saved events that somebody has edited


@st.composite
def edited_events(draw):
    """A session that was saved, with one thing changed."""
    workspace = Workspace(MODELS[0], X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, data in (("junk", {"rows": [1]}), ("again", None), ("merge", {"clusters": [0, 1]}), ("undo", None)):
            do(workspace, kind, data)
    events = [event.to_json() for event in workspace.history.events]
    at = draw(st.integers(0, len(events) - 1))
    if draw(st.booleans()):
        events[at][draw(st.sampled_from(sorted(events[at])))] = draw(st.sampled_from(ODD))
    else:
        events[at] = draw(st.sampled_from([*ODD, *({"number": at + 1, "kind": kind, "at": ""} for kind in ACTIONS)]))
    return events


def check_edited(events):
    with warnings.catch_warnings(), within(60):
        warnings.simplefilter("ignore")
        try:
            workspace = Workspace(MODELS[0], X, events=events)
            check_views(workspace)
        except (WidegapError, ValueError, TypeError) as error:
            with_reason(error, events)
    tried("edited sessions of the explorer", 1)


@given(edited_events())
@settings(max_examples=60, **OPTIONS)
def test_edited_sessions(events):
    check_edited(events)


@pytest.mark.slow
@given(edited_events())
@settings(max_examples=3_000, **OPTIONS)
def test_many_edited_sessions(events):
    check_edited(events)


# Requests

GETS = "state exports clusters profile tree row rows questions points labels sure moved".split()
TEXTS = ["", "-1", "0", "2", "3", "1,2", "1e9", "9" * 30, "scores", "column 0", "\0"]
QUERY = {name: st.sampled_from(TEXTS) for name in ("k", "row", "rows", "layout", "x", "y", "cluster")}
FIND = {name: st.sampled_from([*ODD, "column 1", 0.5]) for name in ("text", "column", "low", "high", "clusters")}


@st.composite
def requests(draw):
    """Method, path and what goes with it; the base is the last action that there was, mostly."""
    path = draw(st.sampled_from([*GETS, "act", "act", "act", "act", "find", "find", "stop"]))
    if path in GETS:
        return "GET", path, {"params": draw(st.fixed_dictionaries({}, optional=QUERY))}
    if path == "find":
        return "POST", path, draw(st.fixed_dictionaries({}, optional=FIND))
    kind, data = draw(actions())
    body = {"kind": kind, "data": data, "base": draw(st.sampled_from(["now"] * 6 + ODD))}
    return "POST", path, draw(st.sampled_from(ODD)) if draw(st.integers(0, 9)) == 0 else body


async def answered(workspace, chain):
    """Answers to requests, one after the other."""
    app, _ = make_app(workspace)
    found = []
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1") as browser:
        for method, path, body in chain:
            if isinstance(body, dict) and body.get("base") == "now":
                body["base"] = workspace.number
            given = body if method == "GET" else {"content": json.dumps(body)}
            headers = {} if method == "GET" else {"Content-Type": "application/json"}
            found.append(await browser.request(method, f"/api/{path}", headers=headers, **given))
    return found


def check_requests(model, chain):
    workspace = Workspace(model, X)
    with warnings.catch_warnings(), within(60):
        warnings.simplefilter("ignore")
        for answer in asyncio.run(answered(workspace, chain)):
            assert answer.status_code in (200, 400, 409), (chain, answer.status_code, answer.text)
            if answer.status_code != 200:
                assert len(answer.json()["error"]) > 12, (chain, answer.text)
            tried("requests to the explorer", 1)
        check_views(workspace)


REQUESTS = st.lists(requests(), min_size=1, max_size=8)


@given(st.sampled_from(MODELS), REQUESTS)
@settings(max_examples=60, **OPTIONS)
def test_chains_of_odd_requests(model, chain):
    check_requests(model, chain)


@pytest.mark.slow
@given(st.sampled_from(MODELS), REQUESTS)
@settings(max_examples=5_000, **OPTIONS)
def test_many_chains_of_odd_requests(model, chain):
    check_requests(model, chain)


def test_an_action_on_an_older_state_changes_nothing():
    workspace = Workspace(MODELS[0], X)
    workspace.act("k", {"k": 2})
    with pytest.raises(ChangedError, match="you saw action 0"):
        workspace.act("k", {"k": 3}, base=0)
    assert workspace.number == 1
