"""The explorer in a real browser: headless Chromium, driven by selenium. Screenshots are left in build/screenshots."""

import csv
import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from widegap import MaxMarginClustering
from widegap.explorer import explore

pytest.importorskip("selenium", reason="needs selenium: make test-browser")
pytest.importorskip("uvicorn", reason="needs the extra explore")
from selenium.common.exceptions import StaleElementReferenceException  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

from _browser import SHOTS, open_browser, shot  # noqa: E402

X, DIGITS = load_digits(return_X_y=True)
NASTY = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>\' & more'


@pytest.fixture(scope="module")
def model():
    return MaxMarginClustering(10, random_state=0).fit(X)


@pytest.fixture
def opened(model, tmp_path):
    names = [f"pixel {i // 8},{i % 8}" for i in range(64)]
    frame = pd.DataFrame({"digit": [f"a {digit} {NASTY if i == 3 else ''}" for i, digit in enumerate(DIGITS)]})
    workspace = explore(model, X, frame, feature_names=names, title="Digits", session=tmp_path / "session.jsonl")
    yield workspace
    workspace.close()


@pytest.fixture
def page(opened, tmp_path):
    driver = open_browser(1440, 900)
    driver.set_script_timeout(30)
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    SHOTS.mkdir(parents=True, exist_ok=True)
    driver.get(opened.address)
    until(driver, lambda: find(driver, "body").get_attribute("data-ahead") == "done")
    yield driver
    driver.quit()


def until(driver, condition):
    # Lists are drawn anew while one looks: what was found and is gone is looked for again.
    wait = WebDriverWait(driver, 60, 0.05, ignored_exceptions=[StaleElementReferenceException])
    return wait.until(lambda _: condition())


def find(driver, selector):
    return driver.find_element(By.CSS_SELECTOR, selector)


def texts(driver, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map((node) => node.innerText)"
    return driver.execute_script(script, selector)


def ask(driver, function):
    """What a function of the page's store and map gives, in place of a person's eyes."""
    return driver.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "Promise.all([import('./store.js'), import('./map.js')])"
        f".then(([{{ store }}, {{ map }}]) => done(({function})(store, map)));"
    )


def complaints(driver):
    """What the console holds, but for what the browser says of drawing by software."""
    return [entry for entry in driver.get_log("browser") if entry["source"] != "rendering"]


def saw(driver, opened):
    """Wait until the page knows all that has happened."""
    until(driver, lambda: ask(driver, "(store) => store.state.number") == opened.number)


def lasso(driver, key):
    """Drag a lasso around the middle of a cluster; a hexagon of 60 pixels."""
    find(driver, "#lasso").click()
    x, y = ask(
        driver,
        f"""(store, map) => {{
          const inside = [...store.keys.keys()].filter((i) => store.keys[i] === {key});
          const sorted = (axis) => inside.map((i) => store.places[2 * i + axis]).sort((a, b) => a - b);
          const middle = (axis) => sorted(axis)[inside.length >> 1];
          return map.view.toPixel(middle(0), middle(1));
        }}""",
    )
    canvas = find(driver, "#points")
    left, top = x - canvas.size["width"] / 2, y - canvas.size["height"] / 2
    corners = [(left + 60 * np.cos(a), top + 60 * np.sin(a)) for a in np.linspace(0, 2 * np.pi, 7)]
    chain = ActionChains(driver, duration=20)
    chain.move_to_element_with_offset(canvas, *map(int, corners[0])).click_and_hold()
    for corner in corners[1:]:
        chain.move_to_element_with_offset(canvas, *map(int, corner))
    chain.release().perform()


def answer(driver):
    """Answer one question by the true classes, with a key."""
    asked = texts(driver, "#question .card b")
    rows = [int(text.split("row ")[1]) - 1 for text in asked]  # people count from 1
    find(driver, "body").send_keys("y" if DIGITS[rows[0]] == DIGITS[rows[1]] else "n")
    until(driver, lambda: texts(driver, "#question .card b") != asked)


def answer_five(page, opened):
    """Answer five questions, fit again, and see that the fit has followed."""
    for n in range(1, 6):
        answer(page)
        until(page, lambda n=n: find(page, "#counter").text.startswith(f"{n} answered"))
    assert len(opened.constraints) == 5
    find(page, "body").send_keys("a")
    until(page, lambda: not opened.working and opened.state.fit > 0)
    saw(page, opened)
    for one in opened.constraints:
        assert (len(set(opened.keys[one["rows"]])) == 1) == (one["kind"] == "together")


def test_a_walk_through(page, opened, tmp_path):
    assert len(texts(page, "#list li")) == 10
    slider = find(page, "#k")
    for _ in range(2):
        slider.send_keys(Keys.ARROW_RIGHT)
    until(page, lambda: opened.k == 12 and len(texts(page, "#list li")) == 12)
    assert find(page, "#kvalue").text == "12"
    find(page, "#undo").click()
    find(page, "#undo").click()
    until(page, lambda: opened.k == 10 and len(texts(page, "#list li")) == 10)
    saw(page, opened)

    lasso(page, 5)
    until(page, lambda: "selected" in find(page, "#selected").text and find(page, "#selected").text[0].isdigit())
    n_selected = int(find(page, "#selected").text.split()[0])
    assert 10 < n_selected < 400
    page.save_screenshot(str(SHOTS / "explorer-lasso.png"))
    find(page, '[data-act="junk"]').click()
    until(page, lambda: texts(page, "#log li")[0].startswith(f"marked {n_selected} rows as junk"))
    find(page, "#exports summary").click()  # what no fit has followed yet is not in the files
    assert find(page, "#unapplied").text == "Corrections not applied yet: 1. Re-cluster to include them in these files."
    page.save_screenshot(str(SHOTS / "explorer-unapplied.png"))
    find(page, "#exports summary").click()
    find(page, "#again").click()
    until(page, lambda: not opened.working and opened.state.fit > 0)
    until(page, lambda: find(page, "#changes").is_displayed())
    assert (opened.labels == -1).sum() == n_selected
    saw(page, opened)
    assert find(page, "#unapplied").get_attribute("hidden")
    page.save_screenshot(str(SHOTS / "explorer-moved.png"))
    find(page, "body").send_keys(Keys.CONTROL + "z")
    until(page, lambda: opened.state.fit == 0)
    saw(page, opened)
    find(page, "#undo").click()
    until(page, lambda: opened.constraints == [])
    saw(page, opened)

    if "together" in opened.supported:  # the estimator takes constraints
        answer_five(page, opened)

    key = int(opened.keys[0])
    page.execute_script(f"document.querySelector('#list li[data-key=\"{key}\"] [data-part=rename]').click()")
    page.switch_to.active_element.send_keys("zeros " + NASTY + Keys.ENTER)
    until(page, lambda: opened.state.names.get(key, "").startswith("zeros"))
    saw(page, opened)

    find(page, "#exports summary").click()
    find(page, '[data-file="assignments.csv"]').click()
    until(page, lambda: (tmp_path / "assignments.csv").exists())
    time.sleep(0.3)
    with open(tmp_path / "assignments.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [int(line["cluster"]) for line in lines] == opened.labels.tolist()
    assert lines[0]["cluster_name"].startswith("zeros ") and lines[5]["digit"].startswith("a 5")

    page.refresh()
    until(page, lambda: find(page, "body").get_attribute("data-ready") == "yes" and len(texts(page, "#list li")))
    assert any(text.startswith("zeros") for text in texts(page, "#list bdi"))
    assert len(texts(page, "#log li")) == max(1, len(opened.constraints))
    assert page.execute_script("return window.hit") is None
    assert complaints(page) == []
    until(page, lambda: find(page, "body").get_attribute("data-ahead") == "done")
    until(page, lambda: find(page, "#map").get_attribute("aria-busy") is None)
    shot(page, "explorer", width=1440)


def test_the_header_and_the_list_follow_the_slider(page, opened, tmp_path):
    shown = set()
    for k in (11, 12, 13):
        find(page, "#k").send_keys(Keys.ARROW_RIGHT)
        until(page, lambda k=k: opened.k == k and len(texts(page, "#list li")) == k)
        saw(page, opened)
        sure = opened.model.agreement_
        assert find(page, "#summary").text.endswith(
            f"{k} clusters by MaxMarginClustering · {100 * sure.mean():.0f} % sure"
        )
        on_map = np.array(ask(page, "(store) => [...store.sure]"))
        np.testing.assert_allclose(on_map / 255, sure, atol=1 / 255)
        shown.add(find(page, "#summary").text.split(" · ")[-1])
    assert len(shown) > 1
    page.save_screenshot(str(SHOTS / "explorer-slid.png"))
    find(page, "#exports summary").click()
    find(page, '[data-file="assignments.csv"]').click()
    until(page, lambda: (tmp_path / "assignments.csv").exists())
    time.sleep(0.3)
    with open(tmp_path / "assignments.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert texts(page, "#list bdi") == [f"Cluster {label}" for label in range(13)]
    assert {(line["cluster"], line["cluster_name"]) for line in lines} == {
        (str(label), f"Cluster {label}") for label in range(13)
    }
    assert complaints(page) == []


def test_the_page_says_that_it_loads(page, opened, monkeypatch):
    from widegap.explorer import _payloads

    assert not find(page, "#busy").is_displayed() and find(page, "body").get_attribute("aria-busy") == "false"
    found, answering = _payloads.profile, threading.Event()

    def slow(workspace, k):
        answering.wait(60)
        return found(workspace, k)

    monkeypatch.setattr(_payloads, "profile", slow)
    page.execute_script("document.getElementById('profilebox').open = true")
    until(page, lambda: find(page, "#busy").is_displayed())
    assert find(page, "[aria-live=polite] #busy").text == "Loading …"
    page.save_screenshot(str(SHOTS / "explorer-loading.png"))
    answering.set()
    until(page, lambda: not find(page, "#busy").is_displayed())
    assert find(page, "body").get_attribute("aria-busy") == "false"
    until(page, lambda: texts(page, "#profile th"))


def test_a_page_whose_rows_are_still_to_be_clustered(tmp_path):
    opened = explore(MaxMarginClustering(10, random_state=0), X, title="Digits")
    driver = open_browser(1440, 900)
    try:
        driver.get(opened.address)
        until(driver, lambda: find(driver, "body").get_attribute("data-ready") == "yes")
        assert not find(driver, "#undo").is_enabled()
        find(driver, "#again").click()
        until(driver, lambda: not opened.working and opened.state.fit > 0)
        saw(driver, opened)
        until(driver, lambda: len(texts(driver, "#list li")) == 10)
        assert not find(driver, "#undo").is_enabled() and not find(driver, "#redo").is_enabled()
        driver.save_screenshot(str(SHOTS / "explorer-fresh.png"))
        find(driver, "body").send_keys(Keys.CONTROL + "z")
        until(driver, lambda: find(driver, "#message").text == "There is nothing to undo.")
        assert opened.state.fit > 0
    finally:
        driver.quit()
        opened.close()


def test_two_tabs_see_the_same(page, opened):
    first = page.current_window_handle
    page.switch_to.new_window("tab")
    page.get(opened.address)
    until(page, lambda: len(texts(page, "#list li")) == 10)
    find(page, "#k").send_keys(Keys.ARROW_LEFT)
    until(page, lambda: opened.k == 9)
    page.switch_to.window(first)
    until(page, lambda: find(page, "#kvalue").text == "9" and len(texts(page, "#list li")) == 9)
    find(page, "#undo").click()
    until(page, lambda: opened.k == 10)
    assert complaints(page) == []


def test_everything_works_with_keys(page, opened):
    canvas = find(page, "#points")
    page.execute_script("arguments[0].focus()", canvas)
    chain = ActionChains(page)
    chain.send_keys(Keys.ARROW_LEFT).key_down(Keys.SHIFT).send_keys(*[Keys.ARROW_LEFT] * 6, *[Keys.ARROW_UP] * 6)
    chain.key_up(Keys.SHIFT).send_keys("b").key_down(Keys.SHIFT)
    chain.send_keys(*[Keys.ARROW_RIGHT] * 5, *[Keys.ARROW_DOWN] * 5).key_up(Keys.SHIFT).send_keys(Keys.ENTER)
    chain.perform()
    until(page, lambda: find(page, "#selected").text[0].isdigit())
    ActionChains(page).send_keys("j").perform()
    until(page, lambda: opened.constraints and opened.constraints[0]["kind"] == "junk")
    saw(page, opened)
    ActionChains(page).send_keys("?").perform()
    until(page, lambda: find(page, "#keys").is_displayed())
    ActionChains(page).send_keys(Keys.ESCAPE).perform()
    outlines = []
    page.execute_script("document.querySelector('.skip').focus()")
    for _ in range(12):
        ActionChains(page).send_keys(Keys.TAB).perform()
        outlines.append(page.execute_script("return getComputedStyle(document.activeElement).outlineStyle"))
    assert set(outlines) == {"solid"}  # the focus can be seen
    assert complaints(page) == []


@pytest.mark.parametrize("kind", ["together", "apart", "junk", "is"])
def test_the_key_that_a_button_names_does_the_same(page, opened, kind):
    assert "Space" not in find(page, "#points").get_attribute("aria-label")
    page.execute_script("import('./store.js').then(({ select }) => select([0, 1]))")
    place = "#assign" if kind == "is" else f"[data-act={kind}]"
    until(page, lambda: find(page, place).is_enabled())
    button = find(page, place)
    ActionChains(page).send_keys(button.get_attribute("title").removeprefix("Key ")).perform()
    until(page, lambda: opened.constraints and opened.constraints[-1]["kind"] == kind)
    assert complaints(page) == []


def test_search_hover_layouts_and_rows(page, opened):
    find(page, "#text").send_keys("a 7" + Keys.ENTER)
    until(page, lambda: find(page, "#found").text.startswith(f"{(DIGITS == 7).sum()} found"))
    find(page, "#selectfound").click()
    assert find(page, "#selected").text.startswith(str((DIGITS == 7).sum()))
    find(page, '#search [type="reset"]').click()
    for layout in ("scores", "columns", "neighbours"):
        page.execute_script(
            "const box = document.getElementById('layout'); box.value = arguments[0];"
            "box.dispatchEvent(new Event('change'))",
            layout,
        )
        until(page, lambda: find(page, "#map").get_attribute("aria-busy") is None)
        page.save_screenshot(str(SHOTS / f"explorer-{layout}.png"))
    x, y = ask(page, "(store, map) => map.view.toPixel(store.places[6], store.places[7])")  # the row with nasty words
    canvas = find(page, "#points")
    find(page, "#pan").click()
    place = int(x - canvas.size["width"] / 2), int(y - canvas.size["height"] / 2)
    ActionChains(page).move_to_element_with_offset(canvas, *place).perform()
    until(page, lambda: find(page, "#tip").is_displayed())
    ActionChains(page).move_to_element_with_offset(canvas, *place).click().perform()
    until(page, lambda: find(page, "#row").is_displayed())
    assert page.execute_script("return window.hit") is None
    for part in ("treebox", "profilebox"):  # the map stays in view beside the lists, and covers nothing below them
        page.execute_script("document.getElementById(arguments[0]).scrollIntoView()", part)
        on_top = """const node = document.querySelector(`#${arguments[0]} summary`), box = node.getBoundingClientRect();
            return node.contains(document.elementFromPoint(box.left + 9, box.top + 9));"""
        assert page.execute_script(on_top, part)
    assert complaints(page) == []


def test_the_page_fits_a_phone_the_dark_and_four_hundred_per_cent(opened):
    driver = open_browser(500, 900, dark=True)
    try:
        for name, width in (("explorer-phone", 390), ("explorer-zoomed", 320)):
            size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": True}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            driver.get(opened.address)
            until(driver, lambda: find(driver, "body").get_attribute("data-ahead") == "done")
            assert driver.execute_script("return document.documentElement.scrollWidth") <= width
            background = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
            assert max(map(int, background[4:-1].split(","))) < 60
            shot(driver, name, width=width)
        assert complaints(driver) == []
    finally:
        driver.quit()
