"""The explorer as a widget, by messages alone: what a notebook sends, what comes back, and what the traits hold."""

import asyncio
import csv
import json
import logging
import queue
import re
import sys
import types

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

import widegap
from _notebooks import as_in_a_notebook
from widegap import MaxMarginClustering
from widegap.exceptions import NotSupportedError
from widegap.explorer import Workspace
from widegap.explorer._export import EXPORTS

comm = pytest.importorskip("comm", reason="needs the extra notebook")
pytest.importorskip("anywidget", reason="needs the extra notebook")
import traitlets  # noqa: E402

from widegap.explorer._opening import Opened, in_notebook  # noqa: E402
from widegap.explorer._widget import ExplorerWidget  # noqa: E402

X, _ = make_blobs(160, 3, centers=4, cluster_std=0.6, random_state=0)


class Comm:
    """The kernel's end of a channel, and a page of the notebook at the other."""

    def __init__(self, **opened):
        self.comm_id, self.opened = "a comm of the test", opened
        self.sent = queue.Queue()
        self.asked = 0

    def on_msg(self, receive):
        self.receive = receive

    def send(self, data=None, metadata=None, buffers=None):
        self.sent.put((data["content"], buffers or []))

    def close(self, *arguments, **options):
        pass

    def tell(self, content):
        self.receive({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})

    def ask(self, **request):
        """The answer to a request, and the news that came before it."""
        self.asked += 1
        self.tell({"id": f"page {self.asked}", **request})
        news = []
        while True:
            content, buffers = self.sent.get(timeout=60)
            if content.get("id") == f"page {self.asked}":
                return content, buffers, news
            news.append(content["news"])

    def get(self, name, **parameters):
        return _decoded(*self.ask(get=name, query=parameters)[:2])

    def post(self, name, **body):
        return _decoded(*self.ask(post=name, body=body)[:2])

    def error(self, **request):
        content, buffers, _ = self.ask(**request)
        assert buffers == []
        return content["error"]


def _decoded(content, buffers):
    assert "error" not in content, content
    (body,) = buffers
    return json.loads(body) if content["kind"] == "application/json" else body


@pytest.fixture(scope="module")
def model():
    return MaxMarginClustering(4, random_state=0).fit(X)


@pytest.fixture
def opened(monkeypatch):
    """A function that makes a widget, whose channel is one of the test."""
    monkeypatch.setattr(comm, "create_comm", Comm)
    made = []

    def open_widget(model, **options):
        made.append(ExplorerWidget(Workspace(model, X, **options)))
        return made[-1]

    yield open_widget
    for widget in made:
        widget.close()


@pytest.fixture
def widget(opened, model):
    return opened(model, title="Blobs <b>&</b>")


def act(widget, kind, **data):
    return widget.comm.post("act", kind=kind, data=data, base=widget.workspace.number)


def again(widget):
    assert widget.comm.post("again", base=widget.workspace.number) == {"started": True}
    widget._answers.worker.wait(60)


def test_the_walk_of_a_person_by_messages(opened):
    widget = opened(MaxMarginClustering(4, random_state=0))
    assert widget.comm.get("state")["fitted"] is False and set(widget.labels) == {0}
    again(widget)
    np.testing.assert_array_equal(widget.labels, MaxMarginClustering(4, random_state=0).fit(X).labels_)
    assert act(widget, "k", k=5)["k"] == 5
    np.testing.assert_array_equal(widget.labels, widget.model.labels_)
    assert widget.model.n_clusters_ == 5
    act(widget, "junk", rows=[3, 7])
    again(widget)
    assert np.flatnonzero(widget.labels == -1).tolist() == [3, 7]
    assert widget.comm.get("state")["moved"]["total"] >= 2
    for _ in range(2):
        act(widget, "undo")
    assert (widget.labels >= 0).all() and widget.model.n_clusters_ == 5


def test_both_channels_give_the_same_bytes(widget):
    pytest.importorskip("starlette", reason="needs the extra explore")
    httpx = pytest.importorskip("httpx", reason="needs httpx")
    from widegap.explorer._server import make_app

    app, pages = make_app(widget.workspace)
    asked = {"k": "4", "row": "3", "rows": "0,5", "layout": "scores"}

    async def by_http(names):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://a.test") as client:
            return {name: await client.get(f"/api/{name}", params=asked) for name in names}

    assert {*pages.reads} == {*widget._answers.reads}
    for name, answer in asyncio.run(by_http({*pages.reads} - {"about"})).items():  # which names the channel's packages
        content, (body,), _ = widget.comm.ask(get=name, query=asked)
        assert answer.headers["content-type"].startswith(content["kind"]), name
        assert answer.content == body or name == "export/report.html", name  # which says when it was written
    assert {*pages.posts} == {*widget._answers.posts}


@pytest.mark.parametrize("name", EXPORTS)
def test_downloads_come_as_buffers(widget, name):
    content, (body,), _ = widget.comm.ask(get=f"export/{name}", query={})
    assert content["kind"] == EXPORTS[name][1] and isinstance(body, bytes) and len(body) > 100
    if name == "assignments.csv":
        lines = csv.DictReader(body.decode().splitlines())
        assert [int(line["cluster"]) for line in lines] == widget.labels.tolist()


def test_progress_is_told_while_a_fit_runs(opened):
    widget = opened(MaxMarginClustering(4, random_state=0))
    again(widget)
    _, _, news = widget.comm.ask(get="news", query={})
    running = [one["progress"]["running"] for one in news]
    assert running[0] is True and running[-1] is False and sum(running) > 2
    done = [one["progress"]["done"] for one in news if one["progress"]["running"]]
    assert done == sorted(done) and done[-1] > 1
    assert news[-1]["number"] == 1


def test_every_action_is_saved(opened, model, tmp_path):
    first = opened(model, session=tmp_path / "session.jsonl")
    act(first, "k", k=3)
    act(first, "rename", cluster=0, name="small")
    first.close()
    second = opened(model, session=tmp_path / "session.jsonl", resume=True)
    assert second.workspace.number == 2 and second.comm.get("state")["k"] == 3
    np.testing.assert_array_equal(second.labels, first.labels)


# Traits


def test_traits_follow_and_can_be_observed(widget):
    seen = []
    widget.observe(lambda change: seen.append((change.name, widget.model.n_clusters_, len(set(widget.labels)))))
    act(widget, "k", k=3)
    assert sorted(seen) == [("labels", 3, 3), ("model", 3, 3)]  # whoever hears of one finds both
    act(widget, "together", rows=[0, 1])  # which changes nothing before the next fit
    assert len(seen) == 2
    widget.comm.post("select", rows=[5, 2, 5])
    assert widget.selected.tolist() == [2, 5] and seen[2:] == [("selected", 3, 3)]
    widget.comm.post("select", rows=[])
    assert widget.selected.tolist() == []


def test_a_change_tells_the_old_and_the_new_value(widget):
    seen = []
    widget.observe(seen.append, ["labels", "selected"])
    before = widget.labels
    act(widget, "k", k=3)
    widget.comm.post("select", rows=[4])
    labels, selected = seen
    np.testing.assert_array_equal(labels.old, before)
    np.testing.assert_array_equal(labels.new, widget.labels)
    assert selected.old.tolist() == [] and selected.new.tolist() == [4] and selected.owner is widget
    widget.unobserve(seen.append, ["labels", "selected"])
    act(widget, "k", k=5)
    assert len(seen) == 2


def test_a_model_is_made_when_somebody_asks_for_it(widget, monkeypatch):
    made = []
    found = MaxMarginClustering.with_clusters
    monkeypatch.setattr(MaxMarginClustering, "with_clusters", lambda model, k: made.append(k) or found(model, k))
    act(widget, "k", k=3)
    act(widget, "k", k=5)
    assert made == [] and widget.model.n_clusters_ == 5 and made == [5]
    widget.observe(lambda change: None, "model")
    act(widget, "k", k=3)
    assert made == [5, 3]


def test_what_a_script_does_is_followed_and_told(widget):
    widget.workspace.act("k", {"k": 3})
    assert len(set(widget.labels)) == 3
    _, _, news = widget.comm.ask(get="news", query={})
    assert [one["number"] for one in news] == [1]


@pytest.mark.parametrize("name", ["model", "labels", "selected"])
def test_traits_are_read_only(widget, name):
    with pytest.raises(traitlets.TraitError, match="read-only"):
        setattr(widget, name, np.zeros(3))


def test_labels_that_were_read_stay_as_they_are(widget):
    before = widget.labels
    kept = before.copy()
    act(widget, "k", k=3)
    assert len(set(widget.labels)) == 3
    np.testing.assert_array_equal(before, kept)


def test_an_observer_that_fails_does_no_harm(widget, caplog):
    def fail(change):
        raise RuntimeError("the observer's own error")

    widget.observe(fail, "labels")
    with caplog.at_level(logging.ERROR, "widegap"):
        assert act(widget, "k", k=3)["k"] == 3
    assert "an observer of the widget failed" in caplog.text and "the observer's own error" in caplog.text
    assert len(set(widget.labels)) == 3


def test_two_widgets_have_nothing_in_common(opened, model):
    first, second = opened(model), opened(model)
    act(first, "k", k=3)
    first.comm.post("select", rows=[1])
    assert len(set(second.labels)) == 4 and second.selected.tolist() == [] and second.comm.sent.empty()


# Messages that no page sends


@pytest.mark.parametrize(
    "message", [None, 3, "state", [], {}, {"get": "state"}, {"id": 3, "get": "state"}, {"id": "x" * 65, "get": "state"}]
)
def test_messages_without_an_id_are_no_requests(widget, message):
    widget.comm.tell(message)
    assert widget.comm.get("news")["number"] == 0 and widget.comm.sent.empty()


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({}, "There is nothing to get at None."),
        ({"get": "nothing", "query": {}}, "There is nothing to get at 'nothing'."),
        ({"get": ["state"], "query": {}}, "There is nothing to get at"),
        ({"get": "act", "query": {}}, "There is nothing to get at 'act'."),
        ({"post": "state", "body": {}}, "There is nothing to post at 'state'."),
        ({"get": "export/../_widget.py", "query": {}}, "There is nothing to get at"),
        ({"get": "__class__", "query": {}}, "There is nothing to get at"),
        ({"get": "labels", "query": {"k": 4}}, "A query must have texts for values."),
        ({"get": "labels", "query": [1]}, "The request must be an object."),
        ({"get": "labels"}, "The request must be an object."),
        ({"get": "labels", "query": {"k": "99"}}, "k=99 must be from"),
        ({"get": "row", "query": {"row": "1; drop"}}, "row must be a whole number."),
        ({"post": "act", "body": "k"}, "The request must be an object."),
        ({"post": "act", "body": {"kind": "k", "data": {"k": 3}}}, "base must be the number of the last action"),
        ({"post": "act", "body": {"kind": "eval", "data": {}, "base": 0}}, "eval"),
        ({"post": "select", "body": {"rows": [160]}}, "rows are numbered from 0 to 159"),
        ({"post": "select", "body": {"rows": [True]}}, "must be a list of row numbers"),
        ({"post": "select", "body": {}}, "must be a list of row numbers"),
    ],
)
def test_wrong_requests_are_refused_with_a_reason(widget, request_, says):
    assert says in widget.comm.error(**request_)
    assert widget.workspace.number == 0 and widget.selected.tolist() == []


LEAVES = st.sampled_from([None, True, -1, 0, 3, 1e308, "", "new", "k", "\0", "x" * 300, 2**70, "4", [], {}])
NONSENSE = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["rows", "k", "kind"]), inner)
)
READS = ["state", "labels", "row", "rows", "clusters", "tree", "act", "export/reproduce.py", "news", "__init__"]
GETS = st.fixed_dictionaries({"get": st.sampled_from(READS) | NONSENSE}, optional={"query": NONSENSE})
POSTS = st.fixed_dictionaries(
    {"post": st.sampled_from(["act", "find", "select", "stop", "state"]) | NONSENSE},
    optional={"body": NONSENSE | st.fixed_dictionaries({"kind": NONSENSE, "data": NONSENSE, "base": NONSENSE})},
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(GETS | POSTS)
def test_every_request_is_answered_whatever_it_says(widget, request_):
    content, buffers, _ = widget.comm.ask(**request_)
    if "error" in content:
        assert len(content["error"]) > 12 and not content["error"].startswith("The request failed")
    else:
        assert [type(body) for body in buffers] == [bytes]
    assert widget.comm.get("state")["n_rows"] == len(X)


def test_an_action_on_an_older_state_is_refused(widget):
    act(widget, "k", k=3)
    content, _, _ = widget.comm.ask(post="act", body={"kind": "k", "data": {"k": 5}, "base": 0})
    assert content["changed"] is True and "The workspace has changed since" in content["error"]
    assert widget.workspace.k == 3


def test_an_error_of_our_own_is_an_answer(widget):
    def fail(asked):
        raise KeyError("a bug")

    widget._answers.reads["tree"] = fail
    assert widget.comm.error(get="tree", query={}) == "The request failed: 'a bug'"
    assert widget.comm.get("state")["k"] == 4


# Where there is a widget, and where there is a server


def test_explore_gives_a_widget_in_a_notebook(model, monkeypatch):
    monkeypatch.setattr(comm, "create_comm", Comm)
    as_in_a_notebook(monkeypatch)
    widget = widegap.explore(model, X, title="Blobs")
    try:
        assert isinstance(widget, ExplorerWidget) and widget.workspace.title == "Blobs"
        assert widget.comm.opened["data"]["state"]["_esm"].startswith("function openPage(host)")
        assert "application/vnd.jupyter.widget-view+json" in widget._repr_mimebundle_()[0]
    finally:
        widget.close()


@pytest.mark.parametrize("option", ["browser", "port"])
def test_a_notebook_can_have_a_server(model, monkeypatch, option):
    pytest.importorskip("uvicorn", reason="needs the extra explore")
    as_in_a_notebook(monkeypatch)
    visited = []
    monkeypatch.setattr("webbrowser.open", visited.append)
    free = Opened(model, X)
    free.serve()
    port = int(re.search(r":(\d+)/", free.address)[1])
    free.close()
    opened = widegap.explore(model, X, **{option: True if option == "browser" else port})
    try:
        assert isinstance(opened, Opened) and len(visited) == (option == "browser")
    finally:
        opened.close()


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        ({"IPython": None, "marimo": None}, False),
        ({"IPython": types.SimpleNamespace(get_ipython=lambda: None)}, False),
        ({"IPython": types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace())}, False),  # in a terminal
        ({"IPython": None, "marimo": types.SimpleNamespace(running_in_notebook=lambda: True)}, True),
        ({"IPython": None, "marimo": types.SimpleNamespace(running_in_notebook=lambda: False)}, False),
    ],
)
def test_what_counts_as_a_notebook(monkeypatch, modules, expected):
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    assert in_notebook() is expected


def test_a_notebook_without_anywidget_is_told_what_to_install(model, monkeypatch):
    as_in_a_notebook(monkeypatch)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "widegap.explorer._widget")
    says = r"needs anywidget, which is not installed: pip install 'widegap\[notebook\]'.*browser=True"
    with pytest.raises(NotSupportedError, match=says):
        widegap.explore(model, X)


def test_a_widget_needs_no_server(model, monkeypatch):
    as_in_a_notebook(monkeypatch)
    monkeypatch.setattr(comm, "create_comm", Comm)
    for name in ("starlette", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("_widget", "_answers", "_opening"):
        monkeypatch.delitem(sys.modules, f"widegap.explorer.{name}")
    from widegap.explorer._opening import explore

    widget = explore(model, X)
    assert widget.comm.get("state")["k"] == 4
    widget.close()
