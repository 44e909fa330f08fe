"""The report in a real browser: headless Chromium, driven by selenium. Screenshots are left in build/screenshots."""

import base64
import json

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_blobs

from widegap import CPM3C, DocumentClustering, MaxMarginClustering
from widegap.report import render, summarize

pytest.importorskip("selenium", reason="needs selenium: make test-browser")
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

from _browser import SHOTS, errors_of, open_browser, shot  # noqa: E402


@pytest.fixture(scope="module")
def desktop():
    driver = open_browser(1200, 1000)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def wine_page(tmp_path_factory):
    wine = load_wine()
    model = MaxMarginClustering(3, search="moves", random_state=0).fit(wine.data)
    items = [f"bottle {i} <b>of</b> 'wine' & \"more\"" for i in range(178)]
    summary = summarize(model, wine.data, feature_names=wine.feature_names, items=items, title="Wine <i>&</i> more")
    return write(tmp_path_factory.mktemp("page") / "wine.html", summary), summary


def write(path, summary):
    path.write_text(render(summary), encoding="utf-8")
    return path.as_uri()


def view_of(driver):
    return driver.execute_script("return document.querySelector('.points').getAttribute('viewBox')")


def visible_points(driver):
    """Numbers of the clusters whose points can be seen."""
    script = "return [...document.querySelectorAll('.points > circle')].filter(c => c.getBoundingClientRect().width).map(c => c.dataset.cluster)"  # noqa: E501
    return driver.execute_script(script)


def test_hover_shows_the_row(desktop, wine_page):
    address, summary = wine_page
    desktop.get(address)
    assert desktop.find_element(By.TAG_NAME, "h1").text == "Wine <i>&</i> more"
    tip = desktop.find_element(By.CLASS_NAME, "tip")
    assert not tip.is_displayed()
    target = summary["clusters"][0]["borderline"][0]["row"]
    dot = desktop.find_element(By.CSS_SELECTOR, f'.points > circle[data-i="{target}"]')
    ActionChains(desktop).move_to_element(dot).perform()
    assert tip.is_displayed()
    name = summary["clusters"][0]["name"]
    assert f"row {target + 1} · {name} · {summary['clusters'][0]['borderline'][0]['depth']}" in tip.text
    assert f"bottle {target} <b>of</b> 'wine' & \"more\"" in tip.text
    SHOTS.mkdir(parents=True, exist_ok=True)
    desktop.save_screenshot(str(SHOTS / "hover.png"))
    ActionChains(desktop).move_to_element(desktop.find_element(By.TAG_NAME, "h1")).perform()
    assert not tip.is_displayed()
    assert errors_of(desktop) == []


def test_charts_have_values_at_their_axes(desktop, wine_page):
    desktop.get(wine_page[0])
    (axis,) = desktop.find_elements(By.CSS_SELECTOR, ".axis")
    high, low = (float(value) for value in axis.text.split())
    reached = [start["objective"] for start in wine_page[1]["search"]["starts"]]
    assert high == pytest.approx(max(reached), rel=1e-3)
    assert low <= min(reached) + 1e-3


def test_a_filter_leaves_one_cluster_visible(desktop, wine_page):
    address, summary = wine_page
    desktop.get(address)
    assert len(visible_points(desktop)) == 178
    desktop.find_element(By.CSS_SELECTOR, '[data-filter="1"]').click()
    size = summary["clusters"][1]["size"]
    assert visible_points(desktop) == ["1"] * size
    cards = [card for card in desktop.find_elements(By.CSS_SELECTOR, ".card") if card.is_displayed()]
    assert [card.get_attribute("data-cluster") for card in cards] == ["1"]
    assert desktop.find_element(By.CSS_SELECTOR, '[data-filter="1"]').get_attribute("aria-pressed") == "true"
    shot(desktop, "filtered")
    desktop.find_element(By.CSS_SELECTOR, '[data-filter="2"]').click()
    assert set(visible_points(desktop)) == {"1", "2"}
    desktop.find_element(By.CSS_SELECTOR, '[data-filter="all"]').click()
    assert len(visible_points(desktop)) == 178
    assert errors_of(desktop) == []


def test_zoom_and_drag_move_the_map(desktop, wine_page):
    desktop.get(wine_page[0])
    map_ = desktop.find_element(By.CLASS_NAME, "points")
    full = view_of(desktop)
    desktop.find_element(By.CSS_SELECTOR, '[data-zoom="in"]').click()
    near = view_of(desktop)
    assert float(near.split()[2]) == pytest.approx(0.6 * float(full.split()[2]))
    ActionChains(desktop).move_to_element(map_).click_and_hold().move_by_offset(60, 30).release().perform()
    moved = view_of(desktop)
    assert float(moved.split()[0]) < float(near.split()[0])
    desktop.find_element(By.CSS_SELECTOR, '[data-zoom="reset"]').click()
    assert view_of(desktop) == full
    assert errors_of(desktop) == []


PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}


def test_the_page_fits_a_phone_and_the_dark(wine_page):
    driver = open_browser(500, 900, dark=True)
    try:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
        driver.get(wine_page[0])
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
        background = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert max(map(int, background[4:-1].split(","))) < 60
        # Dots are large enough to be seen, and buttons to be touched.
        widths = "return [...document.querySelectorAll('.points > circle')].map(c => c.getBoundingClientRect().width)"
        assert min(driver.execute_script(widths)) >= 4
        for button in driver.find_elements(By.CSS_SELECTOR, ".zoom button"):
            assert min(button.size.values()) >= 36
        SHOTS.mkdir(parents=True, exist_ok=True)
        driver.save_screenshot(str(SHOTS / "phone-dark.png"))
        shot(driver, "phone-dark-page", width=390)
        assert errors_of(driver) == []
    finally:
        driver.quit()


def test_the_page_prints_on_white_without_its_buttons(wine_page):
    driver = open_browser(800, 1100)
    try:
        driver.get(wine_page[0])
        dark = [{"name": "prefers-color-scheme", "value": "dark"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": dark})
        colours = driver.execute_script(
            "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]"
        )
        assert colours == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
        for selector in (".tools", ".zoom", ".script"):
            assert not driver.find_element(By.CSS_SELECTOR, selector).is_displayed()
        shot(driver, "print", width=800)
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        pages = driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
        (SHOTS / "print.pdf").write_bytes(base64.b64decode(pages))
        assert driver.find_element(By.TAG_NAME, "details").get_attribute("open")  # settings are on paper too
        assert errors_of(driver) == []
    finally:
        driver.quit()


def test_two_clusters_many_rows_and_documents(desktop, tmp_path):
    X, _ = make_blobs(100_000, 4, centers=6, random_state=0)
    big = MaxMarginClustering(6, random_state=0).fit(X)
    two = CPM3C(2, random_state=0).fit(load_wine().data)
    texts = [
        f"{'bread flour yeast' if i % 2 else 'goal match late'} number {i} <script>document.title='hit'</script>"
        for i in range(40)
    ]  # noqa: E501
    documents = DocumentClustering(2, random_state=0).fit(texts)
    pages = {"big": (big, X), "two": (two, load_wine().data), "documents": (documents, texts)}
    for name, (model, rows) in pages.items():
        desktop.get(write(tmp_path / f"{name}.html", summarize(model, rows, title=name)))
        assert desktop.title == name
        shot(desktop, name)
        assert errors_of(desktop) == []
        assert 0 < len(visible_points(desktop)) <= 3000


def test_hostile_text_does_not_run(desktop, tmp_path):
    X = np.vstack([np.zeros((10, 2)), np.full((10, 2), 5.0)]) + np.arange(40).reshape(20, 2) / 100
    model = CPM3C(2, random_state=0).fit(X)
    nasty = "</script><img src=x onerror=\"window.hit=1\"><script>window.hit=1</script>' onclick='window.hit=1"
    summary = summarize(model, X, title=nasty, items=[nasty] * 20, feature_names=[nasty, nasty], notes=[nasty])
    desktop.get(write(tmp_path / "nasty.html", summary))
    ActionChains(desktop).move_to_element(
        desktop.find_element(By.CSS_SELECTOR, '.points > circle[data-i="0"]')
    ).perform()
    assert nasty in desktop.find_element(By.CLASS_NAME, "tip").text
    assert desktop.execute_script("return window.hit") is None
    assert errors_of(desktop) == []


HOST = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Host</title><style>
body{margin:30px;font:20px/1.2 serif;color:rgb(0,0,120);background:rgb(240,255,240)} main{display:block}
section{padding:3px;border:4px dotted green} table{border:2px solid red;width:auto} th,td{padding:11px}
h1,h2,h3{text-transform:uppercase} button{background:pink} svg{width:40px} .card,.wide,.map,.tip,.off{color:teal}
</style></head><body><main id="before"><h1>A page</h1><section class="card wide"><h2>Part</h2>
<table class="contrast"><tr><th>head</th><td class="num">1</td></tr></table><p class="muted off">text</p>
<button class="chip">press</button><svg viewBox="0 0 10 10"><circle cx="5" cy="5" r="4"/></svg></section></main>
<div id="cell"></div><div id="cell2"></div></body></html>"""
STYLES = """const found = {};
for (const node of [document.documentElement, document.body, ...document.querySelectorAll('#before, #before *')]) {
  const style = getComputedStyle(node);
  found[node.tagName + node.className] = Object.fromEntries([...style].map((name) => [name, style[name]]));
}
return found"""
INSERT = """// What a notebook does with an HTML result: the markup goes into a cell, scripts are made to run.
for (const [id, html] of Object.entries(arguments[0])) {
  const cell = document.getElementById(id);
  cell.innerHTML = html;
  for (const old of cell.querySelectorAll('script')) {
    const script = document.createElement('script');
    for (const { name, value } of old.attributes) script.setAttribute(name, value);
    script.textContent = old.textContent;
    old.replaceWith(script);
  }
}"""


def test_inside_another_page_the_report_leaves_the_page_alone(desktop, wine_page, tmp_path):
    path = tmp_path / "host.html"
    path.write_text(HOST, encoding="utf-8")
    desktop.get(path.as_uri())
    before = desktop.execute_script(STYLES)
    page = render(wine_page[1])
    desktop.execute_script(INSERT, {"cell": page, "cell2": page})
    assert desktop.execute_script("return document.querySelectorAll('.widegap-report').length") == 2
    after = desktop.execute_script(STYLES)
    sizes = {"height", "block-size", "perspective-origin", "transform-origin"}  # the page has become longer
    for node, style in before.items():
        changed = {name for name in style if after[node][name] != style[name]}
        assert changed <= (sizes if node in ("HTML", "BODY") else set()), node
    assert desktop.execute_script("return [document.title, document.documentElement.className]") == ["Host", ""]
    shot(desktop, "inside-another-page")


def test_two_reports_on_a_page_do_not_disturb_each_other(desktop, wine_page, tmp_path):
    path = tmp_path / "host.html"
    path.write_text(HOST, encoding="utf-8")
    desktop.get(path.as_uri())
    page = render(wine_page[1])
    desktop.execute_script(INSERT, {"cell": page, "cell2": page})
    desktop.find_element(By.CSS_SELECTOR, '#cell2 [data-filter="1"]').click()
    count = "return [...document.querySelectorAll(`#${arguments[0]} .points > circle`)].filter(c => c.getBoundingClientRect().width).length"  # noqa: E501
    assert desktop.execute_script(count, "cell") == 178
    assert desktop.execute_script(count, "cell2") == wine_page[1]["clusters"][1]["size"]
    desktop.find_element(By.CSS_SELECTOR, '#cell2 [data-zoom="in"]').click()
    views = "return [...document.querySelectorAll('.points')].map(map => map.getAttribute('viewBox'))"
    first, second = desktop.execute_script(views)
    assert first != second
    # The page's own policy holds for the page; that of the report is ignored there, which the browser says.
    assert [entry for entry in errors_of(desktop) if "Content Security Policy" not in entry["message"]] == []


@pytest.fixture(scope="module")
def profile_page(tmp_path_factory):
    wine = load_wine()
    model = MaxMarginClustering(3, random_state=0).fit(wine.data)
    summary = summarize(model, wine.data, feature_names=wine.feature_names, title="Wine")
    return write(tmp_path_factory.mktemp("profile") / "wine.html", summary), summary


def values_of(driver, column):
    script = (
        "return [...document.querySelectorAll('.profile tbody tr')].map(r => +r.children[arguments[0]].dataset.value)"
    )
    return driver.execute_script(script, column)


def test_the_profile_is_sorted_by_a_click(desktop, profile_page):
    desktop.get(profile_page[0])
    heads = desktop.find_elements(By.CSS_SELECTOR, ".profile .sort")
    for _ in range(2):
        heads[2].click()
    up = values_of(desktop, 2)
    assert up == sorted(up)
    heads[2].click()
    assert values_of(desktop, 2) == up[::-1]
    assert heads[2].find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"
    assert errors_of(desktop) == []


def test_the_profile_is_copied_as_it_stands(desktop, profile_page):
    address, summary = profile_page[:2]
    desktop.get(address)
    desktop.find_element(By.CSS_SELECTOR, "[data-copy]").click()
    assert desktop.find_element(By.CSS_SELECTOR, "[data-copy]").text == "Copied"
    find = desktop.find_element(By.CLASS_NAME, "find")
    find.send_keys(Keys.CONTROL + "v")  # one line takes what was copied, with spaces for its line ends
    lines = summary["profile"]["lines"]
    pasted = find.get_attribute("value")
    assert pasted.startswith("column\tall\t" + "\t".join(cluster["name"] for cluster in summary["clusters"]))
    for line in lines:
        values = [line["value"], *(cell["value"] for cell in line["cells"])]
        assert "\t".join([line["feature"], *(f"{value}" for value in values)]) in pasted


def test_search_fades_what_does_not_match(desktop, profile_page):
    desktop.get(profile_page[0])
    desktop.find_element(By.CLASS_NAME, "find").send_keys("proline 1,")
    missed = desktop.execute_script("return document.querySelectorAll('.points > circle.miss').length")
    assert 0 < missed < 178
    assert f"{178 - missed} of 178 rows on the map" in desktop.find_element(By.CLASS_NAME, "found").text
    desktop.find_element(By.CLASS_NAME, "find").clear()
    desktop.find_element(By.CLASS_NAME, "find").send_keys(" ")
    assert desktop.execute_script("return document.querySelectorAll('.miss').length") == 0


def test_a_new_name_is_kept_in_the_page_that_is_saved(desktop, profile_page, tmp_path):
    desktop.get(profile_page[0])
    nasty = "Reds </script><b>&"
    desktop.execute_script(
        "window.saved = []; const make = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { blob.text().then((text) => saved.push(text)); return make(blob); }"
    )
    desktop.find_element(By.CSS_SELECTOR, '[data-rename="1"]').click()
    field = desktop.find_element(By.CLASS_NAME, "naming")
    field.send_keys(nasty + "\n")  # in place of the old name, which is selected
    named = desktop.execute_script("return [...document.querySelectorAll('[data-name=\"1\"]')].map(n => n.textContent)")
    assert set(named) == {nasty}
    for kind in ("page", "names"):
        desktop.find_element(By.CSS_SELECTOR, f'[data-save="{kind}"]').click()
    (page, names) = desktop.execute_async_script(
        "const done = arguments[0]; const wait = () => saved.length > 1 ? done(saved) : setTimeout(wait, 50); wait()"
    )
    assert json.loads(names)["1"] == nasty
    copy = tmp_path / "copy.html"
    copy.write_text(page, encoding="utf-8")
    desktop.get(copy.as_uri())
    assert desktop.find_element(By.CSS_SELECTOR, '.card [data-name="1"]').text == nasty
    assert len(visible_points(desktop)) == 178
    desktop.find_element(By.CSS_SELECTOR, '[data-filter="1"]').click()  # its script runs under the same policy
    assert set(visible_points(desktop)) == {"1"}
    assert errors_of(desktop) == []


def test_no_other_script_runs_under_the_policy(desktop, profile_page, tmp_path):
    page = render(profile_page[1]).replace("</body>", "<script>window.hit = 1</script></body>")
    path = tmp_path / "injected.html"
    path.write_text(page, encoding="utf-8")
    desktop.get(path.as_uri())
    assert desktop.execute_script("return window.hit") is None
    assert desktop.execute_script("return document.querySelectorAll('.widegap-report.js').length") == 1
    assert errors_of(desktop)  # the browser says that it refused


def test_a_notebook_shows_the_report_in_a_frame(desktop, profile_page, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(
        HOST.replace('<div id="cell">', '<div id="cell">' + profile_page[1]._repr_html_()), encoding="utf-8"
    )
    desktop.get(path.as_uri())
    shot(desktop, "notebook", width=1200)
    desktop.switch_to.frame(desktop.find_element(By.TAG_NAME, "iframe"))
    assert desktop.find_element(By.TAG_NAME, "h1").text == "Wine"
    desktop.find_element(By.CSS_SELECTOR, '[data-filter="1"]').click()
    assert set(visible_points(desktop)) == {"1"}
    desktop.switch_to.default_content()
    assert errors_of(desktop) == []
