"""What a real browser makes of the explorer's guard: the private file that opens it, frames, and the page's About."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest

from widegap import CPM3C
from widegap.explorer import explore

pytest.importorskip("selenium", reason="needs selenium: make test-browser")
pytest.importorskip("uvicorn", reason="needs the extra explore")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

from _browser import errors_of, open_browser  # noqa: E402

X = np.random.default_rng(0).normal(size=(80, 2)) + 9 * (np.arange(80) % 2)[:, None]


@pytest.fixture
def opened():
    workspace = explore(CPM3C(2, random_state=0).fit(X), X, title="Private")
    yield workspace
    workspace.close()


@pytest.fixture
def driver():
    driver = open_browser(1200, 800)
    yield driver
    driver.quit()


def until(driver, condition):
    return WebDriverWait(driver, 60, 0.05).until(lambda _: condition())


def is_ready(driver):
    return driver.find_element(By.CSS_SELECTOR, "body").get_attribute("data-ready") == "yes"


def test_the_private_file_leads_to_the_page_and_is_gone_then(opened, driver, monkeypatch):
    seen = []
    monkeypatch.setattr("webbrowser.open", lambda address: seen.append(address) or True)
    opened.open_browser()
    driver.get(seen[0])
    until(driver, lambda: driver.current_url == opened.address and is_ready(driver))
    assert driver.title == "Private · widegap"
    assert not Path(unquote(urlsplit(seen[0]).path)).exists()
    assert driver.execute_script("return document.referrer") == ""
    assert errors_of(driver) == []
    driver.refresh()  # the address itself stays in the browser
    until(driver, lambda: is_ready(driver))


def test_about_names_the_versions(opened, driver):
    driver.get(opened.address)
    until(driver, lambda: is_ready(driver))
    dialog = driver.find_element(By.ID, "about")
    assert not dialog.is_displayed()
    driver.find_element(By.ID, "aboutopen").click()
    until(driver, dialog.is_displayed)
    names, versions = ([node.text for node in dialog.find_elements(By.TAG_NAME, tag)] for tag in ("dt", "dd"))
    shown = dict(zip(names, versions, strict=True))
    for name in ("widegap", "numpy", "scikit-learn", "starlette", "uvicorn"):
        assert shown[name] == version(name)
    before = opened.number
    driver.find_element(By.TAG_NAME, "body").send_keys("a")  # keys of the page rest while it is open
    dialog.find_element(By.TAG_NAME, "button").click()
    until(driver, lambda: not dialog.is_displayed())
    assert opened.number == before and not opened.pages.worker.running
    assert errors_of(driver) == []


def test_no_other_page_frames_it(opened, driver):
    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f'<p>other</p><iframe id="frame" src="{opened.address}"></iframe>'.encode())

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        driver.get(f"http://127.0.0.1:{server.server_port}/")
        until(driver, lambda: any("frame-ancestors" in entry["message"] for entry in driver.get_log("browser")))
        driver.switch_to.frame("frame")
        assert driver.find_elements(By.ID, "page") == []
    finally:
        server.shutdown()
        server.server_close()
    assert len(opened.pages.broadcast) == 0
