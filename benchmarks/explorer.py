"""The explorer: what a person waits for, by the processor on the side of the server and by the clock in the browser.

Rows are the 10,000 test images of MNIST as 8 x 8 pixels. The browser is headless Chromium that draws by software; where
it or selenium is missing its lines are left out, and one says why. A frame of the map of 100,000 points lasts from a
change until it is drawn, and a busy machine takes longer. While the map moves, fewer points are drawn.
"""

import shutil
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._measure import Row, best_cpu_times
from experiments import loaders
from widegap import CPM3C, MaxMarginClustering
from widegap.explorer import Workspace, explore

REPEATS = 2
MAP_POINTS = 100_000
MILLION = 1_000_000
SLIDE = """
const { cutAt } = await import('./store.js');
const { recut } = await import('./map.js');
const times = [];
for (let k = 2; k < 12; k++) await cutAt(k);
for (let turn = 0; turn < 40; turn++) {
  const k = 2 + turn % 10;
  const began = performance.now();
  recut(await cutAt(k));
  await new Promise((next) => requestAnimationFrame(next));
  times.push(performance.now() - began);
}
times.sort((a, b) => a - b);
done([times[20], times[38]]);
"""
HOVER = """
const { hover, map } = await import('./map.js');
const { store } = await import('./store.js');
const times = [];
for (let turn = 0; turn < 200; turn++) {
  const i = (turn * 7919) % store.rows.length;
  const [x, y] = map.view.toPixel(store.places[2 * i], store.places[2 * i + 1]);
  const began = performance.now();
  hover(x, y);
  times.push(performance.now() - began);
}
times.sort((a, b) => a - b);
done([times[100], times[190]]);
"""
FRAMES = """
const { draw, map, panBy, zoomAt } = await import('./map.js');
const gl = document.getElementById('points').getContext('webgl2');
const pixel = new Uint8Array(4);
const isDrawn = () => gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);  // waits for it
const next = () => new Promise(requestAnimationFrame);
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
async function timed(frames, change) {
  const times = [];
  for (let turn = 0; turn < frames; turn++) {
    const began = performance.now();
    change(turn);
    await next();
    isDrawn();
    times.push(performance.now() - began);
  }
  return median(times);
}
const moving = await timed(60, (turn) => {
  panBy(turn % 2 ? 3 : -2, 1);
  zoomAt(turn % 20 < 10 ? 1.02 : 1 / 1.02, 300, 200);
});
const few = map.drawn;
while (map.moving) await next();
await next();
const resting = await timed(20, draw);
done([moving, few, resting, map.drawn]);
"""


def rows() -> Iterator[Row]:
    """All rows of the report, each as soon as it is measured."""
    X = images()
    MaxMarginClustering(10, random_state=0).fit(X[:1500])  # compiles
    model = MaxMarginClustering(10, random_state=0).fit(X)
    yield from _refits(model, X)
    yield _cuts(model, X)
    yield _million()
    missing = _missing()
    if missing:
        yield Row(f"the page in a browser: not measured, {missing} is missing", float("nan"), None)
        return
    yield from _page(model, X)
    yield from _frames()


def images() -> Any:
    """10,000 x 64: the test images of MNIST, with a margin of two pixels, in squares of four by four."""
    X = loaders.load_mnist(return_X_y=True)[0][60000:]
    squares = np.pad(X.reshape(-1, 28, 28), ((0, 0), (2, 2), (2, 2))).reshape(-1, 8, 4, 8, 4)
    return squares.mean(axis=(2, 4)).reshape(-1, 64)


def _refits(model: Any, X: Any) -> Iterator[Row]:
    """One statement after a fit, against a fit of its own, in processor seconds."""
    labels = model.labels_
    other = int(np.flatnonzero(labels != labels[0])[0])
    statements = {
        "together": {"rows": [0, other]},
        "apart": {"rows": [0, int(np.flatnonzero(labels == labels[0])[1])]},
        "is": {"rows": [0], "cluster": int(labels[other])},
        "junk": {"rows": [0]},
    }
    (fresh,) = best_cpu_times(lambda: MaxMarginClustering(10, random_state=0).fit(X), repeats=REPEATS)
    for kind, said in statements.items():
        (ours,) = best_cpu_times(lambda: _again(model, X, kind, said), repeats=REPEATS)  # noqa: B023
        target = 0.3 if kind != "junk" else None  # junk rows leave the search, so it is done anew
        detail = f"{ours:.2f} s against {fresh:.2f} s, processor"
        yield Row(f"refit of 10000 x 64 after one '{kind}', against a fresh fit", ours / fresh, target, detail)


def _again(model: Any, X: Any, kind: str, said: dict[str, Any]) -> None:
    workspace = Workspace(model, X)
    workspace.act(kind, said)
    workspace.again()


def _cuts(model: Any, X: Any) -> Row:
    """Cuts that were computed ahead, as the server hands them out."""
    from widegap.explorer._server import Pages

    pages = Pages(Workspace(model, X))
    numbers = range(2, 12)
    began = process_time()
    for k in numbers:
        pages.workspace.fit.keys(k)
    ahead = process_time() - began
    (seconds,) = best_cpu_times(lambda: [pages.labels({"k": k}) for k in numbers], repeats=REPEATS)
    each = 1000 * seconds / len(numbers)
    detail = f"milliseconds a number; the cuts at 2 to 11 took {ahead:.1f} s, ahead"
    return Row("labels of a cut of 10000 rows from the server", each, 50, detail)


def _million() -> Row:
    """A CSV file of a million rows until its map is there, before the first fit."""
    from widegap.cli._column_options import TableOptions
    from widegap.cli._explore import _open_table
    from widegap.explorer._server import Pages
    from widegap.tables._delimited import Dialect

    rng = np.random.default_rng(0)
    values = 6 * rng.normal(size=(5, 10))[rng.integers(0, 5, MILLION)] + rng.normal(size=(MILLION, 10))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.csv"
        pd.DataFrame(values.round(3)).add_prefix("c").to_csv(path, index=False)
        began = process_time()
        opening = _open_table(path, Dialect(), TableOptions(), "auto", "auto", 0)
        pages = Pages(Workspace(opening.model, opening.X, rows=opening.shown))
        pages.points({"layout": "scores"})
        seconds = process_time() - began
    return Row("processor seconds, 1,000,000 x 10 CSV until 100,000 of its rows are on the map", seconds, 10)


def _missing() -> str:
    found = [name for name in ("selenium", "uvicorn") if find_spec(name) is None]
    return ", ".join(found + [name for name in ("chromium", "chromedriver") if shutil.which(name) is None])


class _Browser:
    """The page of a workspace in headless Chromium, once its map is there; other cuts are found meanwhile."""

    def __init__(self, workspace: Any):
        self.workspace = workspace

    def __enter__(self) -> Any:
        from selenium import webdriver
        from selenium.webdriver.support.wait import WebDriverWait

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1440,900", "--force-device-scale-factor=1"):  # fmt: skip
            options.add_argument(flag)
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        self.driver.set_script_timeout(120)
        self.driver.get(self.workspace.address)
        ready = "return document.body.dataset.ready === 'yes' && !document.querySelector('#map[aria-busy]')"
        WebDriverWait(self.driver, 300, 0.2).until(lambda driver: driver.execute_script(ready))
        return self.driver

    def __exit__(self, *error: Any) -> None:
        self.driver.quit()
        self.workspace.close()


def _measured(driver: Any, script: str) -> list[float]:
    """What a script with ``await`` in it passes to ``done``; what it throws is an error here, too."""
    call = f"(async () => {{{script}}})().catch((error) => done(`${{error}}`))"
    found = driver.execute_async_script(f"const done = arguments[arguments.length - 1]; {call}")
    if isinstance(found, str):
        raise RuntimeError(found)
    return found


def _page(model: Any, X: Any) -> Iterator[Row]:
    with _Browser(explore(model, X)) as driver:
        usual, slow = _measured(driver, SLIDE)
        detail = f"milliseconds until the next frame, median of 40; 95 %: {slow:.1f}"
        yield Row("the k slider on the page, 10000 points", usual, 50, detail)
        usual, slow = _measured(driver, HOVER)
        yield Row("hover, 10000 points", usual, 16, f"milliseconds, median of 200; 95 %: {slow:.2f}")


def _frames() -> Iterator[Row]:
    X = np.random.default_rng(0).normal(size=(MAP_POINTS, 8)).astype(np.float32)
    X[: MAP_POINTS // 2] += 4
    model = CPM3C(2, random_state=0).fit(X)  # it has no other cuts, which the server would find meanwhile
    with _Browser(explore(model, X)) as driver:
        moving, few, resting, drawn = _measured(driver, FRAMES)
    detail = f"milliseconds, median of 60; {few:,.0f} of {MAP_POINTS:,} points are drawn, by software"
    yield Row("a frame of the map while it is moved and zoomed", moving, 60, detail)
    detail = f"milliseconds, median of 20; {drawn:,.0f} points, by software"
    yield Row("a frame of the map at rest", resting, None, detail)
