"""The map of the explorer in headless Chromium: rows from before an update, and fewer points while it moves."""

import numpy as np
import pytest

from widegap import CPM3C, MaxMarginClustering
from widegap.explorer import explore

pytest.importorskip("selenium", reason="needs selenium: make test-browser")
pytest.importorskip("uvicorn", reason="needs the extra explore")
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

from _browser import SHOTS, errors_of, open_browser  # noqa: E402
from _updated import rows_of  # noqa: E402

MANY = 25_000  # more points than a moving map draws
PIXELS = """
const done = arguments[arguments.length - 1];
import('./map.js').then(async ({ draw, map }) => {
  const canvas = document.getElementById('points'), gl = canvas.getContext('webgl2');
  draw();
  await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
  const found = new Uint8Array(4 * canvas.width * canvas.height);
  gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, found);
  let inked = 0, grey = 0, green = 0;
  for (let i = 0; i < found.length; i += 4) {
    if (!found[i + 3]) continue;
    inked++;
    const parts = [found[i], found[i + 1], found[i + 2]];
    if (Math.max(...parts) - Math.min(...parts) < 20) grey++;
    if (parts[1] > 50 + parts[0] && parts[1] > parts[2]) green++;
  }
  done([inked, grey, map.drawn, green]);
});
"""
LOSE = """
const done = arguments[arguments.length - 1], canvas = document.getElementById('points');
const way = canvas.getContext('webgl2').getExtension('WEBGL_lose_context');
canvas.addEventListener('webglcontextrestored', () => setTimeout(done, 100), { once: true });
canvas.addEventListener('webglcontextlost', () => setTimeout(() => way.restoreContext(), 50), { once: true });
way.loseContext();
"""
# Counts the points of every frame of a map that is moved and then left alone, until all of them are drawn again.
MOVE = """
const done = arguments[arguments.length - 1];
import('./map.js').then(async ({ map, panBy, zoomAt }) => {
  const next = () => new Promise((call) => requestAnimationFrame(() => setTimeout(call)));
  const counts = [];
  for (let turn = 0; turn < 6; turn++) {
    if (turn % 2) panBy(5, 2);
    else zoomAt(1.1, 300, 200);
    await next();
    counts.push(map.drawn);
  }
  while (map.moving) await next();
  await next();
  done([counts, map.drawn]);
});
"""
# Pixels of all points, x and y in turn.
PLACES = """
const done = arguments[arguments.length - 1];
Promise.all([import('./store.js'), import('./map.js')]).then(([{ store }, { map }]) =>
  done([...store.rows.keys()].flatMap((i) => map.view.toPixel(store.places[2 * i], store.places[2 * i + 1]))));
"""


def opened_page(workspace):
    driver = open_browser(1440, 1000)
    driver.set_script_timeout(60)
    SHOTS.mkdir(parents=True, exist_ok=True)
    driver.get(workspace.address)
    ready = "return document.body.dataset.ready === 'yes' && !document.querySelector('#map[aria-busy]')"
    WebDriverWait(driver, 60, 0.05).until(lambda _: driver.execute_script(ready))
    return driver


@pytest.fixture(scope="module")
def updated_page():
    first = rows_of((0, 1, 2), n=600)[0]
    X, _ = rows_of((0, 1, 4), n=300, seed=3)
    workspace = explore(MaxMarginClustering(3, random_state=0).fit(first).update(X), X, title="March")
    driver = opened_page(workspace)
    yield driver
    assert errors_of(driver) == []
    driver.quit()
    workspace.close()


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(MANY, 4)).astype(np.float32) + 8 * (np.arange(MANY) % 2)[:, None]
    workspace = explore(CPM3C(2, random_state=0).fit(X), X)
    driver = opened_page(workspace)
    yield driver, workspace
    assert errors_of(driver) == []
    driver.quit()
    workspace.close()


def find(driver, selector):
    return driver.find_element(By.CSS_SELECTOR, selector)


def pixels(driver):
    """Pixels with ink, those of them that are grey, points in the last frame, and green pixels: cluster 2 is green."""
    return driver.execute_async_script(PIXELS)


def test_rows_from_before_the_update_are_grey_and_can_be_hidden(updated_page):
    assert find(updated_page, "#before").text == "● 600 rows from before the update, in grey"
    seen = inked, grey, drawn, green = pixels(updated_page)
    assert drawn == 300 and grey > 1000 and green == 0
    updated_page.save_screenshot(str(SHOTS / "explorer-update.png"))
    find(updated_page, "#showbefore").click()
    hidden = pixels(updated_page)
    assert hidden[1] == 0 and 0 < hidden[0] < inked
    find(updated_page, "#showbefore").click()
    assert pixels(updated_page) == seen


def test_rows_from_before_the_update_cannot_be_selected(updated_page):
    place = """const done = arguments[arguments.length - 1];
    Promise.all([import('./store.js'), import('./map.js')]).then(([{ store }, { map, nearest }]) => {
      const { keys, places } = store.behind, gone = keys.findIndex((key) => !store.keys.includes(key));
      const pixel = map.view.toPixel(places[2 * gone], places[2 * gone + 1]);
      done([nearest(...pixel), ...pixel]);
    });"""
    found, x, y = updated_page.execute_async_script(place)
    assert found == -1
    canvas = find(updated_page, "#points")
    offset = int(x - canvas.size["width"] / 2), int(y - canvas.size["height"] / 2)
    ActionChains(updated_page).move_to_element_with_offset(canvas, *offset).click().perform()
    assert find(updated_page, "#selected").text == "Nothing selected"


def test_a_sentence_makes_its_cluster_stand_out(updated_page):
    before = pixels(updated_page)
    vanished = find(updated_page, "#updated [data-kind=vanished] button")
    assert "vanished" in vanished.text
    vanished.click()
    assert pixels(updated_page)[3] > 500  # its old rows are in colour now
    assert vanished.get_attribute("aria-pressed") == "true"
    updated_page.save_screenshot(str(SHOTS / "explorer-update-vanished.png"))
    vanished.click()
    assert pixels(updated_page) == before


def test_a_map_whose_graphics_memory_was_lost_is_drawn_again(updated_page):
    before = pixels(updated_page)
    updated_page.execute_async_script(LOSE)
    assert pixels(updated_page) == before


def test_a_moving_map_draws_fewer_points_and_all_when_it_rests(many):
    driver, _ = many
    before = pixels(driver)
    assert before[2] == MANY
    counts, after = driver.execute_async_script(MOVE)
    assert 0 < max(counts) < MANY and after == MANY
    find(driver, "[data-zoom=reset]").click()
    assert pixels(driver) == before  # the picture at rest is the same as ever
    driver.execute_async_script(LOSE)
    assert driver.execute_async_script(MOVE) == [counts, MANY]


def test_rows_can_be_selected_right_after_a_move(many):
    driver, workspace = many
    canvas = find(driver, "#points")
    chain = ActionChains(driver, duration=20)
    chain.move_to_element(canvas).click_and_hold().move_by_offset(40, 25).move_by_offset(-15, 10).release().perform()
    at = np.array(driver.execute_async_script(PLACES)).reshape(-1, 2)
    size = np.array([canvas.size["width"], canvas.size["height"]])
    target = at[((at > 50) & (at < size - 50)).all(axis=1)][0]
    offset = (target - size / 2).astype(int).tolist()
    ActionChains(driver).move_to_element_with_offset(canvas, *offset).click().perform()
    WebDriverWait(driver, 20, 0.05).until(lambda _: len(workspace.selected))
    (chosen,) = workspace.selected
    assert np.hypot(*(at[chosen] - target)) < 10
