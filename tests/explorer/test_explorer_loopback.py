"""Who reaches the explorer, and with what: real servers, files and programs, and requests over loopback."""

import os
import platform
import re
import socket
import stat
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from widegap import CPM3C
from widegap.cli._main import main
from widegap.exceptions import InvalidDataError
from widegap.explorer import Workspace, explore

httpx = pytest.importorskip("httpx", reason="needs httpx")
pytest.importorskip("uvicorn", reason="needs the extra explore")
from widegap.explorer._addresses import Listening, is_own  # noqa: E402
from widegap.explorer._guard import MAX_BODY, MOST_POSTS  # noqa: E402
from widegap.explorer._opening import Opened  # noqa: E402
from widegap.explorer._redirect import Redirect  # noqa: E402
from widegap.explorer._server import MAX_REQUEST_DEPTH  # noqa: E402

X = np.random.default_rng(0).normal(size=(60, 2)) + 9 * (np.arange(60) % 2)[:, None]
UNIX = pytest.mark.skipif(sys.platform == "win32", reason="modes of files")
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def model():
    return CPM3C(2, random_state=0).fit(X)


@pytest.fixture
def opened(model):
    workspace = explore(model, X)
    yield workspace
    workspace.close()


def served(model, host):
    workspace = Opened(model, X)
    try:
        workspace.serve(host=host)
    except InvalidDataError as error:
        if host != "127.0.0.1" and "Cannot assign" in str(error):
            pytest.skip(f"{host} is no address of this machine")
        raise
    return workspace


def status(address, *, host=None, **given):
    headers = given.pop("headers", {})
    return httpx.get(address, headers={**headers, **({"Host": host} if host else {})}, **given).status_code


# Addresses


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("::1", "[::1]"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "[::1]"),
    ],
)
def test_the_address_that_is_shown_is_answered(model, host, shown):
    workspace = served(model, host)
    try:
        assert workspace.address.startswith(f"http://{shown}:")
        assert status(workspace.address) == status(f"{workspace.address}api/state") == 200
        port = urlsplit(workspace.address).port
        own = {"origin": workspace.address.rpartition("/")[0].rpartition("/")[0]}
        body = {"kind": "k", "data": {"k": 2}, "base": 0}
        assert httpx.post(f"{workspace.address}api/act", json=body, headers=own).status_code == 200
        for other in ("evil.example", f"evil.example:{port}", f"{shown}:{port + 1}", f"[::1]evil:{port}", ""):
            assert httpx.get(workspace.address, headers={"Host": other}).status_code == 403, other
        others = {"origin": f"http://evil.example:{port}"}
        assert httpx.post(f"{workspace.address}api/act", json=body, headers=others).status_code == 403
    finally:
        workspace.close()


def test_all_addresses_of_the_machine_are_names_only_where_all_are_listened_to(model):
    for host, code in (("0.0.0.0", 200), ("127.0.0.1", 403)):
        workspace = served(model, host)
        try:
            port = urlsplit(workspace.address).port
            for name in ("203.0.113.7", "[2001:db8::7]"):  # of a host whose ports lead into a container
                assert status(workspace.address, host=f"{name}:{port}") == code
        finally:
            workspace.close()


def test_browsers_leave_out_port_80():
    listening = Listening("127.0.0.1", 0)
    listening.socket.close()
    assert "127.0.0.1" not in listening
    listening._port = 80
    assert all(host in listening for host in ("127.0.0.1", "127.0.0.1:80", "LOCALHOST", "[::1]"))
    assert not any(host in listening for host in ("127.0.0.1:8", "evil", "[::1", "::1", "a@localhost", "localhost:80/"))


@pytest.mark.parametrize("host", ["", "fe80::1%lo", "no-such-name.invalid", "203.0.113.7"])
def test_addresses_that_no_browser_can_open_are_refused(model, host):
    with pytest.raises(InvalidDataError, match=r"is not an address that a browser can open|another address of this"):
        Opened(model, X).serve(host=host)


def test_which_addresses_are_this_machine_s_own(tmp_path, monkeypatch, capsys):
    assert all(map(is_own, ["127.0.0.1", "127.8.0.1", "localhost", "::1"]))
    assert not any(map(is_own, ["0.0.0.0", "::", "192.168.1.5", "", "0", "localhost.evil.example"]))
    monkeypatch.chdir(tmp_path)
    np.savetxt("t.csv", X, delimiter=",", header="x,y", comments="")
    for host in ("0.0.0.0", "::", "192.168.1.5"):
        assert main(["explore", "t.csv", "--no-browser", "--host", host]) == 2
        assert f"--host {host} would let other machines reach the page" in capsys.readouterr().err


# The token and the files


def test_the_page_is_opened_by_a_private_file_that_is_deleted(opened, monkeypatch):
    seen = []
    monkeypatch.setattr("webbrowser.open", lambda address: seen.append(address) or True)
    opened.open_browser()
    (address,) = seen
    token = urlsplit(opened.address).path.strip("/")
    assert address.startswith("file://") and token not in address
    path = Path(httpx.URL(address).path)
    text = path.read_text(encoding="utf-8")
    assert re.findall(r'content="0; url=([^"]*)"', text) == [opened.address] == re.findall(r'href="([^"]*)"', text)
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert status(f"{opened.address}api/state") == 200 and path.exists()  # the page itself has not been asked for
    assert status(opened.address) == 200
    assert not path.exists() and not path.parent.exists()
    opened.open_browser()
    again = Path(httpx.URL(seen[1]).path)
    assert again.exists()
    opened.close()  # before any browser has come
    assert not again.parent.exists()


def test_without_a_browser_no_file_is_left(monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    redirect = Redirect("http://127.0.0.1:1/token/")
    redirect.open()
    assert not redirect.path.parent.exists()


@UNIX
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_private_files_do_not_depend_on_the_umask(model, tmp_path, umask):
    before = os.umask(umask)
    try:
        redirect = Redirect("http://127.0.0.1:1/token/")
        workspace = Workspace(model, X, session=tmp_path / "s.jsonl")
    finally:
        os.umask(before)
    assert stat.S_IMODE(redirect.path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "s.jsonl").stat().st_mode) == 0o600
    redirect.remove()
    workspace.close()


BROWSER = """
import os, sys, time
assert sys.argv[1].startswith("file://")
with open(f"{sys.argv[0]}.new", "w") as file:
    file.write(str(os.getpid()))
os.replace(f"{sys.argv[0]}.new", f"{sys.argv[0]}.seen")
time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="reads /proc")
def test_no_program_has_the_token_among_its_arguments(tmp_path):
    np.savetxt(tmp_path / "t.csv", X, delimiter=",", header="x,y", comments="")
    browser = tmp_path / "browser.py"  # stays, as a browser does
    browser.write_text(f"#!{sys.executable}\n{BROWSER}", encoding="utf-8")
    browser.chmod(0o700)
    command = [sys.executable, "-m", "widegap", "explore", str(tmp_path / "t.csv"), "-k", "2"]
    env = {**os.environ, "BROWSER": f"{browser} %s &", "TMPDIR": str(tmp_path)}
    seen = Path(f"{browser}.seen")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
    try:
        address = process.stdout.readline().strip()
        token = urlsplit(address).path.strip("/")
        assert len(token) > 40
        while not seen.exists():
            assert process.poll() is None
            time.sleep(0.05)
        arguments = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if _is_there(path)]
        assert any(str(browser).encode() in found for found in arguments)
        assert not any(token.encode() in found for found in arguments)
        assert status(address) == 200
        assert [path for path in tmp_path.iterdir() if path.name.startswith("widegap-explore-")] == []
    finally:
        if seen.exists():
            os.kill(int(seen.read_text(encoding="utf-8")), 15)
        process.terminate()
        process.communicate(timeout=30)


def _is_there(path):
    try:
        return bool(path.read_bytes())
    except OSError:
        return False


def test_a_session_is_not_written_through_a_link_that_somebody_laid(model, tmp_path):
    (tmp_path / "s.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidDataError, match="is a link to a file that does not exist; choose another"):
        Workspace(model, X, session=tmp_path / "s.jsonl")
    assert not (tmp_path / "elsewhere").exists()


def test_a_session_never_takes_a_file_that_appeared_meanwhile(model, tmp_path, monkeypatch):
    place = tmp_path / "s.jsonl"
    monkeypatch.setattr(Path, "exists", lambda path: False)  # when it was looked for
    place.write_bytes(b"of somebody else\n")
    workspace = Workspace(model, X, session=place)
    workspace.act("k", {"k": 2})
    assert "Not saved" in workspace.autosave.trouble and workspace.number == 1
    assert place.read_bytes() == b"of somebody else\n"
    workspace.close()


# Sizes


def raw(opened, request):
    """The status of what was sent as it is; 0 if the connection was closed without an answer."""
    place = urlsplit(opened.address)
    with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
        try:
            connection.sendall(request)
            answer = connection.recv(65536)
        except ConnectionError:
            return 0
    return int(answer.split()[1]) if answer else 0


def test_long_headers_are_refused(opened):
    place = urlsplit(opened.address)
    end = f"HTTP/1.1\r\nHost: {place.netloc}\r\nConnection: close\r\n"
    begin = f"GET {place.path}api/state {end}"
    assert raw(opened, f"{begin}\r\n".encode()) == 200
    assert raw(opened, f"{begin}X: {'x' * 20_000}\r\n\r\n".encode()) in (400, 431)
    assert raw(opened, begin.encode() + b"A: b\r\n" * 5_000 + b"\r\n") in (400, 431)
    for length in (9_000, 20_000):
        assert raw(opened, f"GET {place.path}{'x' * length} {end}\r\n".encode()) == 404
    assert status(opened.address) == 200


def test_large_bodies_are_refused(opened):
    place = urlsplit(opened.address)
    begin = f"POST {place.path}api/act HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
    for length in (MAX_BODY + 1, 10**30):
        assert raw(opened, f"{begin}Content-Length: {length}\r\n\r\n".encode()) in (400, 413)
    for length in ("-1", "x", "1, 2"):
        assert raw(opened, f"{begin}Content-Length: {length}\r\n\r\n".encode()) in (400, 413)

    def chunks():
        for _ in range(MAX_BODY // 65536 + 2):
            yield b" " * 65536

    answer = httpx.post(f"{opened.address}api/act", content=chunks(), headers=JSON)
    assert answer.status_code == 413 and "at most 4 MiB" in answer.text
    assert opened.number == 0


@pytest.mark.parametrize("depth", [MAX_REQUEST_DEPTH, MAX_REQUEST_DEPTH + 1, 100_000])
def test_deep_requests_are_refused(opened, depth):
    levels = depth - 1
    body = '{"kind": "\\"[", "data": ' + "[" * levels + "]" * levels + ', "base": 0}'
    answer = httpx.post(f"{opened.address}api/act", content=body, headers=JSON)
    assert answer.status_code == 400
    assert (f"nested {MAX_REQUEST_DEPTH} deep" in answer.text) == (depth > MAX_REQUEST_DEPTH)


@pytest.mark.parametrize(
    "body", [b"\xff\xfe{}", b"{", b'"\\"' * 100_000, b'{"a": "' + b'\\"' * 100_000, b"[" * MAX_BODY]
)
def test_what_is_no_json_is_refused(opened, body):
    assert httpx.post(f"{opened.address}api/act", content=body, headers=JSON).status_code == 400


def test_posts_in_flight_are_limited(opened):
    place = urlsplit(opened.address)
    held = []
    try:
        for _ in range(MOST_POSTS):
            held.append(HTTPConnection(place.hostname, place.port))
            held[-1].putrequest("POST", f"{place.path}api/act")
            held[-1].putheader("Content-Type", "application/json")
            held[-1].putheader("Content-Length", "2")
            held[-1].endheaders(b"{")
        for _ in range(200):  # until the last of them is there
            answer = httpx.post(f"{opened.address}api/act", content=b"{}", headers=JSON)
            if answer.status_code == 429:
                break
            time.sleep(0.02)
        assert answer.status_code == 429 and "wait for their answers" in answer.text
        assert status(f"{opened.address}api/state") == 200  # who only reads goes on
        for connection in held:
            connection.send(b"}")
            assert connection.getresponse().status == 400
    finally:
        for connection in held:
            connection.close()
    assert httpx.post(f"{opened.address}api/act", content=b"{}", headers=JSON).status_code == 400


def test_connections_are_limited(opened):
    streams, codes = [], []
    place = urlsplit(opened.address)
    try:
        for _ in range(110):
            streams.append(HTTPConnection(place.hostname, place.port))
            streams[-1].request("GET", f"{place.path}api/events")
            codes.append(streams[-1].getresponse().status)
    finally:
        for stream in streams:
            stream.close()
    assert codes[:32] == [200] * 32 and set(codes[32:]) <= {429, 503}


# What it tells of itself


def test_versions_are_told_to_the_page_and_to_nobody_else(opened):
    found = httpx.get(f"{opened.address}api/about").json()
    expected = ["widegap", "numpy", "scipy", "scikit-learn", "numba", "starlette", "uvicorn"]
    assert found == {"Python": platform.python_version(), **{name: version(name) for name in expected}}
    for address in (opened.address, opened.address[:-3] + "/"):
        headers = httpx.get(address).headers
        assert "server" not in headers
        assert not any(word in str(headers).lower() for word in ("uvicorn", "starlette", "python", "widegap/"))


def test_errors_inside_tell_nothing_of_the_program(opened, monkeypatch):
    def fail(asked):
        raise RuntimeError("a secret of the program")

    monkeypatch.setitem(opened.pages.reads, "state", fail)
    workspace = Opened(opened.model, X)
    workspace.serve()
    try:
        monkeypatch.setattr("widegap.explorer._payloads.overview", fail)
        answer = httpx.get(f"{workspace.address}api/state")
        assert answer.status_code == 500
        assert "secret" not in answer.text and "Traceback" not in answer.text
    finally:
        workspace.close()


def test_no_request_is_answered_after_the_end(model):
    workspace = explore(model, X)
    workspace.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(workspace.address)
    assert not [thread for thread in threading.enumerate() if thread.name == "widegap-explore" and thread.is_alive()]
