"""The explorer's server: who may talk to it, what it answers, and that nothing makes it fall over."""

import json
import random
import string
import threading
import time
from urllib.parse import quote

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from widegap import MaxMarginClustering
from widegap.explorer import Workspace
from widegap.forest import _forest_search, _merge_search
from widegap.report import summarize

pytest.importorskip("starlette", reason="needs the extra explore")
httpx = pytest.importorskip("httpx", reason="needs httpx")
import asyncio  # noqa: E402

from widegap.explorer._guard import MAX_BODY, Guard  # noqa: E402
from widegap.explorer._server import make_app  # noqa: E402

TOKEN = "a-token-of-the-test"
POSTS = ("act", "again", "stop", "find")
HOST = "127.0.0.1:8123"
X, _ = make_blobs(160, 3, centers=4, cluster_std=0.6, random_state=0)


class Client:
    """Requests to the application, without a network."""

    def __init__(self, workspace):
        self.workspace = workspace
        app, self.pages = make_app(workspace)
        self.app = Guard(app, TOKEN, [HOST, "localhost:8123"])

    def ask(self, method, path, *, token=TOKEN, headers=(), **given):
        return asyncio.run(self._ask(method, f"/{token}{path}", dict(headers), given))

    async def _ask(self, method, path, headers, given):
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
            return await client.request(method, path, headers=headers, **given)

    def get(self, path, **given):
        return self.ask("GET", path, **given)

    def post(self, path, body, **given):
        return self.ask("POST", path, json=body, **given)


@pytest.fixture(scope="module")
def model():
    return MaxMarginClustering(4, random_state=0).fit(X)


@pytest.fixture
def client(model):
    return Client(Workspace(model, X, title="Blobs <b>&</b>"))


def test_the_page_and_its_parts_are_there(client):
    page = client.get("/")
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    assert "style=" not in page.text and "<script>" not in page.text and "onclick" not in page.text
    for name in ("main.js", "map.js", "points.js", "style.css"):
        assert client.get(f"/{name}").status_code == 200
    assert client.get("/main.js").headers["content-type"].startswith("text/javascript")


def test_every_answer_has_the_strict_headers(client):
    for path in ("/", "/api/state", "/api/nothing", "/api/row?row=-3"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "*" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "%00", "ü"])
@pytest.mark.parametrize("path", ["/", "/api/state", "/main.js"])
def test_without_the_token_nothing_is_found(client, token, path):
    answer = client.get(path, token=token)
    assert answer.status_code == 404 and answer.text == "Not found."


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8123", "127.0.0.1", "127.0.0.1:1", "", "localhost"])
def test_other_hosts_are_refused(client, host):
    assert client.get("/api/state", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://{HOST}", "http://127.0.0.1:9999"])
def test_other_origins_are_refused(client, origin):
    body = {"kind": "k", "data": {"k": 3}, "base": 0}
    assert client.post("/api/act", body, headers={"Origin": origin}).status_code == 403
    assert client.workspace.number == 0
    assert client.post("/api/act", body, headers={"Origin": f"http://{HOST}"}).status_code == 200


def test_posts_from_other_sites_are_refused(client):
    body = {"kind": "k", "data": {"k": 3}, "base": 0}
    assert client.post("/api/act", body, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    plain = client.ask("POST", "/api/act", content=json.dumps(body), headers={"Content-Type": "text/plain"})
    assert plain.status_code == 415
    assert client.workspace.number == 0


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_refused(client, method):
    assert client.ask(method, "/api/act").status_code == 405


def test_large_requests_are_refused(client):
    assert client.ask("POST", "/api/act", content=b" " * (MAX_BODY + 1)).status_code == 413

    async def chunks():
        for _ in range(MAX_BODY // 65536 + 2):
            yield b" " * 65536

    headers = {"Content-Type": "application/json"}
    assert client.ask("POST", "/api/act", content=chunks(), headers=headers).status_code == 413


@pytest.mark.parametrize("path", ["/../pyproject.toml", "/..%2f..%2fetc%2fpasswd", "/_server.py", "/%2e%2e/_guard.py"])
def test_no_other_file_can_be_read(client, path):
    assert client.get(path).status_code == 404


# What it answers


def test_points_labels_and_sureness_are_binary(client, model):
    n = len(X)
    content = client.get("/api/points?layout=scores").content
    assert len(content) == 12 * n
    np.testing.assert_array_equal(np.frombuffer(content[: 4 * n], np.uint32), np.arange(n))
    assert np.isfinite(np.frombuffer(content[4 * n :], np.float32)).all()
    labels = np.frombuffer(client.get("/api/labels?k=4").content, np.int32)
    np.testing.assert_array_equal(labels, model.labels_)
    for k in (3, 4, 5):
        sure = np.frombuffer(client.get(f"/api/sure?k={k}").content, np.uint8)
        np.testing.assert_allclose(sure / 255, model.with_clusters(k).agreement_, atol=1 / 255)
    places = np.frombuffer(client.get("/api/points?layout=columns&x=column 0&y=column 2").content[4 * n :], np.float32)
    np.testing.assert_array_equal(places.reshape(-1, 2), X[:, [0, 2]].astype(np.float32))


def test_the_map_is_that_of_the_report(client, model):
    content = client.get("/api/points?layout=neighbours").content[4 * len(X) :]
    shown = [(point["x"], point["y"]) for point in summarize(model, X)["map"]["points"]]
    np.testing.assert_array_equal(np.frombuffer(content, np.float32).reshape(-1, 2), np.array(shown, np.float32))


def test_actions_and_two_pages_stay_consistent(client):
    first = client.get("/api/state").json()
    second = client.get("/api/state").json()
    told = client.post("/api/act", {"kind": "k", "data": {"k": 3}, "base": first["number"]})
    assert told.status_code == 200 and told.json()["k"] == 3
    late = client.post("/api/act", {"kind": "k", "data": {"k": 5}, "base": second["number"]})
    assert late.status_code == 409 and late.json()["changed"]
    assert client.get("/api/state").json() == told.json()


def test_a_fit_runs_beside_and_is_told(client):
    client.post("/api/act", {"kind": "junk", "data": {"rows": [1, 2]}, "base": 0})
    assert client.post("/api/again", {"base": 0}).status_code == 409
    assert client.post("/api/again", {"base": 1}).json() == {"started": True}
    client.pages.worker.wait(60)
    state = client.get("/api/state").json()
    assert state["number"] == 2 and state["moved"]["total"] == 2 and state["pending"] == 0
    moved = np.frombuffer(client.get("/api/moved").content, np.uint8)
    assert np.flatnonzero(moved).tolist() == [1, 2]


def test_a_fit_can_be_stopped(client, monkeypatch):
    asked = threading.Event()

    def held_back(*arguments, **options):
        asked.wait(60)  # or the fit is done before it is asked to stop
        yield from _merge_search.grow(*arguments, **options)

    monkeypatch.setattr(_forest_search, "grow", held_back)
    client.post("/api/act", {"kind": "junk", "data": {"rows": [1]}, "base": 0})  # which takes a new search
    client.post("/api/again", {"base": 1})
    client.post("/api/stop", {})
    asked.set()
    client.pages.worker.wait(60)
    assert client.get("/api/state").json()["number"] == 1
    assert client.pages.worker.progress["message"].startswith("Stopped")


def test_finding_rows(client):
    low = float(np.median(X[:, 0]))
    answer = client.post("/api/find", {"column": "column 0", "low": low})
    (count,) = np.frombuffer(answer.content[:4], np.uint32)
    found = np.frombuffer(answer.content[4:], np.uint8)
    np.testing.assert_array_equal(found.astype(bool), X[:, 0] >= low)
    assert count == found.sum()


def test_events_tell_of_changes(client):
    async def listen():
        stream = client.pages.broadcast.wait_all(lambda: json.dumps(client.pages.news()))
        first = await anext(stream)
        client.workspace.act("k", {"k": 3})
        second = await asyncio.wait_for(anext(stream), 5)
        await stream.aclose()
        return first, second

    first, second = asyncio.run(listen())
    assert '"number": 0' in first and '"number": 1' in second
    assert len(client.pages.broadcast) == 0


# Malformed requests


def _nonsense(rng):
    """A value that no page sends, of any type."""
    leaves = [None, True, -1, 0, 3, 1e308, -0.5, "", "x" * 300, "\u0000", "new", [], {}, 2**70, "NaN", [1, 2], ["a"]]
    value = rng.choice(leaves)
    for _ in range(rng.randrange(3)):
        value = rng.choice([[value], {"rows": value}, {"k": value}, {"cluster": value, "name": value}])
    return value


def _request(rng):
    gets = "state clusters profile tree row rows questions points labels sure moved".split()
    kinds = "k number rename together apart is junk merge split drop skip undo redo again".split()
    if rng.random() < 0.5:
        names = rng.sample(["k", "row", "rows", "layout", "x", "y", "cluster"], rng.randrange(4))
        text = "".join(rng.choices(string.printable, k=rng.randrange(12)))
        query = {name: rng.choice(["", "-1", "1e9", "99999999999999999999", "3", "neighbours", text]) for name in names}
        return "GET", f"/api/{rng.choice([*gets, quote(text)])}", {"params": query}
    if rng.random() < 0.3:
        content = bytes(rng.randrange(256) for _ in range(rng.randrange(60)))
        return (
            "POST",
            f"/api/{rng.choice(POSTS)}",
            {"content": content, "headers": {"Content-Type": "application/json"}},
        )
    body = _nonsense(rng)
    if rng.random() < 0.8:
        body = {
            "kind": rng.choice([*kinds, "", 7]),
            "data": _nonsense(rng),
            "base": rng.choice([0, -1, None, "0", 10**30]),
        }
    path = rng.choice(["act"] * 6 + ["find", "again", "stop"])
    if path == "again":
        body = {"base": _nonsense(rng)} if rng.random() < 0.9 else body
        if isinstance(body, dict) and body.get("base") == 0:
            body["base"] = None  # fits are tried elsewhere
    return "POST", f"/api/{path}", {"content": json.dumps(body), "headers": {"Content-Type": "application/json"}}


def test_two_thousand_malformed_requests_do_no_harm(client):
    rng = random.Random(0)
    before = client.get("/api/state").json()
    client.pages._places[("neighbours",)] = np.zeros((len(X), 2))  # found once is enough

    async def all_of_them():
        transport = httpx.ASGITransport(app=client.app)
        codes = []
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}/{TOKEN}") as browser:
            for _ in range(2000):
                method, path, given = _request(rng)
                codes.append((await browser.request(method, path, **given)).status_code)
        return codes

    codes = asyncio.run(all_of_them())
    assert max(codes) < 500
    assert sum(code >= 400 for code in codes) > 1000
    after = client.get("/api/state").json()
    while client.workspace.history.can_undo:  # what was legal by chance is undone, and all is as it was
        client.workspace.undo()
    after = client.get("/api/state").json()
    assert {**after, "number": 0, "can_redo": False} == before


def test_a_real_server_answers_and_ends(model):
    from widegap.explorer import explore

    opened = explore(model, X, title="Blobs")
    try:
        assert opened.address.startswith("http://127.0.0.1:")
        with httpx.Client() as browser:
            assert browser.get(opened.address + "api/state").json()["title"] == "Blobs"
            assert browser.get(opened.address[:-10]).status_code == 404
            with browser.stream("GET", opened.address + "api/events") as stream:
                assert json.loads(next(stream.iter_lines())[6:])["number"] == 0
            # A page that is closed in the middle of it leaves the server well.
            assert browser.get(opened.address + "api/state").status_code == 200
    finally:
        began = time.monotonic()
        opened.close()
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "half", [b"", b"GET / HTTP/1.1\r\nHo", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"]
)
def test_half_sent_requests_do_not_lock_the_user_out(model, monkeypatch, half):
    import socket
    from urllib.parse import urlsplit

    from widegap.explorer import explore

    monkeypatch.setattr("widegap.explorer._connections.REQUEST_SECONDS", 0.2)
    opened = explore(model, X)
    place = urlsplit(opened.address)
    idle = []
    try:
        for _ in range(130):
            idle.append(socket.create_connection((place.hostname, place.port)))
            idle[-1].sendall(half)
        for _ in range(600):
            if httpx.get(opened.address + "api/state").status_code == 200:
                break
            time.sleep(0.05)
        else:
            pytest.fail("the server is still busy with requests that never come")
    finally:
        for one in idle:
            one.close()
        opened.close()
