"""The explorer as a widget of a real JupyterLab, in headless Chromium. Screenshots are left in build/screenshots."""

import csv
import json
import os
import secrets
import socket
import subprocess
import sys
import time
from urllib.error import URLError
from urllib.request import Request, urlopen

import numpy as np
import pytest

pytest.importorskip("selenium", reason="needs selenium: make test-browser")
pytest.importorskip("jupyterlab", reason="needs jupyterlab: make test-browser")
pytest.importorskip("anywidget", reason="needs the extra notebook")
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

from _browser import SHOTS, errors_of, open_browser  # noqa: E402

NASTY = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'
OPEN = f"""
import json
import widegap
from sklearn.datasets import load_digits

X, y = load_digits(return_X_y=True)
X, y = X[y < 5], y[y < 5]
changes = []
widget = widegap.explore(
    widegap.MaxMarginClustering(5, random_state=0), X, title="Digits", session="session.jsonl", resume=False,
    feature_names=['''{NASTY}''', *map(str, range(63))],
)
widget.observe(lambda change: changes.append(change.name))
widget"""
READ = """
model = widget.model
found = {"labels": widget.labels.tolist(), "selected": widget.selected.tolist(), "changes": changes}
print(json.dumps({**found, "fitted": bool(hasattr(model, "labels_") and len(model.labels_))}))"""
SECOND = """
second = widegap.explore(widegap.MaxMarginClustering(3, random_state=0).fit(X), X, title="Three")
second"""
RESUME = OPEN.replace("resume=False", "resume=True")
CELLS = [OPEN, READ, SECOND, RESUME]
SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},  # all cells are there, whether they are in view or not
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab that knows nothing of the user's own, with its token and folder."""
    folder, home = tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("jupyter")
    for name, settings in SETTINGS.items():
        place = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(settings), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_urlsafe(16)
    environment = {
        **os.environ,
        **{f"JUPYTERLAB_{name}_DIR": str(home / name.lower()) for name in ("SETTINGS", "WORKSPACES")},
        **{f"JUPYTER_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")},
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"]
    command += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}", "--ServerApp.port_retries=0"]
    with open(home / "log", "w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                asked(f"{address}/api/status", token)
                break
            except URLError:
                assert server.poll() is None, (home / "log").read_text()
                time.sleep(0.2)
        yield address, token, folder
    finally:
        server.terminate()
        server.wait(60)


def asked(address, token, method="GET"):
    with urlopen(Request(address, method=method, headers={"Authorization": f"token {token}"})) as answer:
        return json.loads(answer.read() or "null")


@pytest.fixture
def notebook(lab, tmp_path):
    """A notebook that is open in a browser, its cells not run yet."""
    address, token, folder = lab
    (folder / "session.jsonl").unlink(missing_ok=True)
    cells = [
        {
            "cell_type": "code",
            "id": f"c{i}",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": text.strip(),
        }
        for i, text in enumerate(CELLS)
    ]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    content = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (folder / "digits.ipynb").write_text(json.dumps(content), encoding="utf-8")
    SHOTS.mkdir(parents=True, exist_ok=True)
    driver = open_browser(1600, 1300)
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    driver.get(f"{address}/lab/tree/digits.ipynb?token={token}&reset")
    until(driver, lambda: len(driver.find_elements(By.CSS_SELECTOR, ".jp-CodeCell .cm-content")) == len(CELLS))
    until(driver, lambda: "Idle" in driver.find_element(By.TAG_NAME, "body").text)
    yield driver
    driver.quit()
    for kernel in asked(f"{address}/api/kernels", token):
        asked(f"{address}/api/kernels/{kernel['id']}", token, "DELETE")


def until(driver, condition):
    gone = [StaleElementReferenceException, NoSuchElementException]  # lists are drawn anew while one looks
    return WebDriverWait(driver, 90, 0.1, ignored_exceptions=gone).until(lambda _: condition())


def run(driver, number):
    """Run a cell, as a person does, and give what it prints."""
    cell = driver.find_elements(By.CSS_SELECTOR, ".jp-CodeCell")[number]
    prompt = lambda: cell.find_element(By.CSS_SELECTOR, ".jp-InputPrompt").text  # noqa: E731
    before = prompt()
    driver.execute_script("arguments[0].focus()", cell.find_element(By.CSS_SELECTOR, ".cm-content"))
    ActionChains(driver).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()
    until(driver, lambda: prompt() != before and prompt()[1:-2].isdigit())
    assert not cell.find_elements(By.CSS_SELECTOR, '[data-mime-type*="error"], [data-mime-type*="stderr"]'), cell.text
    return "".join(node.text for node in cell.find_elements(By.CSS_SELECTOR, '[data-mime-type$="stdout"]'))


class Page:
    """The widget below a cell; its elements are behind a shadow root."""

    def __init__(self, driver, number):
        self.driver, self.number = driver, number
        until(driver, lambda: self.frame.get_attribute("data-ready") == "yes")

    @property
    def frame(self):
        cell = self.driver.find_elements(By.CSS_SELECTOR, ".jp-CodeCell")[self.number]
        return cell.find_element(By.CSS_SELECTOR, "[data-lm-suppress-shortcuts]")

    def find(self, selector):
        return self.frame.shadow_root.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        script = "return [...arguments[0].shadowRoot.querySelectorAll(arguments[1])].map((node) => node.innerText)"
        return self.driver.execute_script(script, self.frame, selector)

    def sizes(self):
        """Sizes of the clusters in the list."""
        return [int(text.split(" ")[0].replace(",", "")) for text in self.texts("#list .size")]

    def press(self, selector):
        self.driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", self.find(selector))
        self.find(selector).click()

    def until(self, condition):
        return until(self.driver, condition)

    def again(self):
        """Fit, and wait for the end of it."""
        self.press("#again")
        self.until(lambda: self.find("#message").text.startswith("Done in"))


@pytest.fixture
def page(notebook):
    run(notebook, 0)
    return Page(notebook, 0)


def read(page):
    return json.loads(run(page.driver, 1))


def test_the_walk_fit_slide_correct_cluster_again_and_read_the_labels(page):
    before = read(page)
    assert set(before["labels"]) == {0} and not before["fitted"] and before["changes"] == []

    page.again()
    page.until(lambda: len(page.sizes()) == 5)
    fitted = read(page)
    assert sorted(np.bincount(fitted["labels"])) == sorted(page.sizes()) and fitted["fitted"]
    assert set(fitted["changes"]) == {"model", "labels"}

    page.find("#k").send_keys(Keys.ARROW_RIGHT)
    page.until(lambda: page.find("#kvalue").text == "6" and len(page.sizes()) == 6)
    page.until(lambda: page.find("#undo").is_enabled())
    slid = read(page)
    assert np.bincount(slid["labels"]).tolist() == page.sizes()

    page.press('#list li:nth-child(2) [data-part="select"]')
    page.until(lambda: page.find("#selected").text.startswith(f"{page.sizes()[1]} selected"))
    page.driver.save_screenshot(str(SHOTS / "notebook-selected.png"))
    selected = read(page)["selected"]
    assert selected == np.flatnonzero(np.array(slid["labels"]) == 1).tolist()
    page.press('[data-act="junk"]')
    page.until(lambda: page.texts("#log li")[0].startswith(f"marked {len(selected)} rows as junk"))
    page.again()
    page.until(lambda: page.find("#changes").is_displayed())
    corrected = read(page)
    assert np.flatnonzero(np.array(corrected["labels"]) == -1).tolist() == selected and corrected["selected"] == []
    assert page.driver.execute_script("return window.hit") is None
    assert errors_of(page.driver) == []
    page.driver.execute_script("arguments[0].scrollIntoView()", page.frame)
    page.driver.save_screenshot(str(SHOTS / "notebook.png"))


def test_a_notebook_that_is_opened_again_shows_the_present_state(page):
    page.again()
    page.find("#k").send_keys(Keys.ARROW_RIGHT)
    page.until(lambda: len(page.sizes()) == 6 and page.find("#undo").is_enabled())
    sizes = page.sizes()
    find(page.driver, '[data-jp-item-name="save"] *').click()
    page.until(lambda: not page.driver.find_elements(By.CSS_SELECTOR, ".jp-mod-dirty"))
    page.driver.refresh()
    until(page.driver, lambda: page.driver.find_elements(By.CSS_SELECTOR, ".jp-CodeCell .cm-content"))
    reopened = Page(page.driver, 0)
    reopened.until(lambda: reopened.sizes() == sizes)
    reopened.find("#undo").click()
    reopened.until(lambda: len(reopened.sizes()) == 5)


def test_questions_keys_and_downloads(page, tmp_path):
    cells = len(page.driver.find_elements(By.CSS_SELECTOR, ".jp-Cell"))
    page.again()
    page.until(lambda: page.texts("#question .card b"))
    page.driver.execute_script("arguments[0].focus()", page.find("#points"))
    keys = ActionChains(page.driver)
    for key in "ydd00bm":  # in JupyterLab's own meaning: code, delete, restart, below, Markdown
        keys.send_keys(key)
    keys.perform()
    page.until(lambda: page.find("#counter").text.startswith("1 answered"))
    assert len(page.driver.find_elements(By.CSS_SELECTOR, ".jp-Cell")) == cells
    assert not page.driver.find_elements(By.CSS_SELECTOR, ".jp-Dialog")
    ActionChains(page.driver).send_keys("a").perform()
    page.until(lambda: page.find("#again").text == "Re-cluster" and page.find("#changes").is_displayed())
    page.press("#exports summary")
    page.press('[data-file="assignments.csv"]')
    page.until(lambda: (tmp_path / "assignments.csv").exists())
    with open(tmp_path / "assignments.csv", newline="", encoding="utf-8") as file:
        clusters = [int(line["cluster"]) for line in csv.DictReader(file)]
    assert clusters == read(page)["labels"]
    assert errors_of(page.driver) == []


STYLES = """
const styles = (node) => JSON.stringify([...getComputedStyle(node)].map((name) => getComputedStyle(node)[name]));
const nodes = [...document.querySelectorAll(".jp-Toolbar button, body, h1, h2, input, select")];
return nodes.filter((node) => !node.closest(".jp-Cell")).map(styles);
"""


def test_two_widgets_and_the_notebook_leave_each_other_alone(page):
    page.again()
    page.until(lambda: len(page.sizes()) == 5)
    before = page.driver.execute_script(STYLES)
    run(page.driver, 2)
    second = Page(page.driver, 2)
    assert page.driver.execute_script(STYLES) == before and len(before) > 3
    assert second.find("#title").text == "Three" and page.find("#title").text == "Digits"
    second.find("#k").send_keys(Keys.ARROW_RIGHT)
    second.until(lambda: len(second.sizes()) == 4)
    assert len(page.sizes()) == 5 and page.find("#kvalue").text == "5"
    second.driver.execute_script("arguments[0].focus()", second.find("#points"))
    ActionChains(second.driver).key_down(Keys.CONTROL).send_keys("z").key_up(Keys.CONTROL).perform()
    second.until(lambda: len(second.sizes()) == 3)
    assert np.bincount(read(page)["labels"]).tolist() == page.sizes()
    page.driver.save_screenshot(str(SHOTS / "notebook-two.png"))
    assert errors_of(page.driver) == []


def test_a_restarted_kernel_is_told_and_the_session_goes_on(page, lab):
    folder = lab[2]
    page.again()
    page.until(lambda: len(page.sizes()) == 5)
    page.press("#points")
    choose(page.driver, "Kernel", "Restart Kernel…")
    find(page.driver, ".jp-Dialog .jp-mod-accept").click()
    page.until(lambda: page.find("#trouble").is_displayed())
    assert "Run the cell again" in page.find("#trouble").text
    page.driver.save_screenshot(str(SHOTS / "notebook-restarted.png"))
    saved = (folder / "session.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(saved) == 2 and json.loads(saved[1])["kind"] == "again"
    run(page.driver, 3)
    resumed = Page(page.driver, 3)
    resumed.until(lambda: len(resumed.sizes()) == 5)
    assert np.bincount(read(page)["labels"]).tolist() == resumed.sizes()


def test_a_dark_notebook_has_a_dark_widget(page):
    assert page.frame.get_attribute("data-scheme") == "light"
    choose(page.driver, "Settings", "Theme", "JupyterLab Dark")
    page.until(lambda: page.frame.get_attribute("data-scheme") == "dark")
    colour = page.driver.execute_script("return getComputedStyle(arguments[0]).backgroundColor", page.frame)
    assert max(map(int, colour[4:-1].split(","))) < 60
    time.sleep(1)
    page.driver.save_screenshot(str(SHOTS / "notebook-dark.png"))


def find(driver, selector):
    return until(driver, lambda: driver.find_element(By.CSS_SELECTOR, selector))


def choose(driver, *names):
    """Open menu after menu, and click on the last item."""
    for place, name in enumerate(names):
        items = ".lm-MenuBar-item" if place == 0 else ".lm-Menu-item"
        found = until(driver, lambda items=items, name=name: item(driver, items, name))
        if place in (0, len(names) - 1):
            found.click()
        else:
            ActionChains(driver).move_to_element(found).perform()


def item(driver, selector, name):
    labels = driver.find_elements(By.CSS_SELECTOR, f"{selector} > [class$=-itemLabel]")
    return next((node for node in labels if node.text == name), None)
