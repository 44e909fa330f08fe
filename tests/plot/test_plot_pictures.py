"""Figures against stored pictures, at one version of matplotlib.

``python tests/plot/test_plot_pictures.py`` draws them anew.

A picture agrees if fewer than ``MOST_PIXELS`` pixels differ visibly: two dots that exchange their colours change more.
"""

import copy
from pathlib import Path

import matplotlib.backends.backend_agg
import matplotlib.figure
import numpy as np
import pytest
from sklearn.datasets import make_blobs

from widegap import MaxMarginClustering, plot
from widegap.features import _neighbour_layout

DRAWN_BY = "3.11.2"  # pinned among the packages for development
PICTURES = Path(__file__).parent / "pictures"
VISIBLE, MOST_PIXELS = 40, 10
X, CLASSES = make_blobs([40, 25, 20], centers=[[0, 0], [4, 0], [1, 5]], cluster_std=[1.1, 0.8, 0.7], random_state=2)
FIGURES = {
    "map": lambda model, ax: plot.map(model, X, names={0: "lower left"}, ax=ax),
    "tree": lambda model, ax: plot.tree(model, ax=ax),
    "profile": lambda model, ax: plot.profile(model, X, ax=ax),
    "agreement": lambda model, ax: plot.agreement(model, ax=ax),
    "numbers": lambda model, ax: plot.numbers(model, ax=ax),
    "confusion": lambda model, ax: plot.confusion(model, np.array(["a", "b", "c"])[CLASSES], ax=ax),
}
same_version = pytest.mark.skipif(
    matplotlib.__version__ != DRAWN_BY, reason=f"the pictures were drawn by matplotlib {DRAWN_BY}"
)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(autouse=True)
def own_layout(monkeypatch):
    monkeypatch.setattr(_neighbour_layout, "_other_package", lambda: (_neighbour_layout.OWN_LAYOUT, None))


def fitted():
    return MaxMarginClustering("auto", random_state=0).fit(X)


def drawn(name, model):
    """A figure as an array of pixels."""
    figure = matplotlib.figure.Figure(figsize=(4.2, 2.6), dpi=70, layout="constrained")
    canvas = matplotlib.backends.backend_agg.FigureCanvasAgg(figure)
    FIGURES[name](model, figure.add_subplot())
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(int)


def differing(first, second):
    """How many pixels differ visibly."""
    return int((np.abs(first - second).max(axis=2) > VISIBLE).sum())


def stored(name):
    from PIL import Image

    return np.asarray(Image.open(PICTURES / f"{name}.png").convert("RGB")).astype(int)


@same_version
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_looks_as_its_stored_picture(name, model):
    assert differing(drawn(name, model), stored(name)) < MOST_PIXELS


@same_version
@pytest.mark.parametrize("name", ["map", "profile", "agreement", "confusion"])
def test_two_clusters_that_exchange_their_labels_are_noticed(name, model):
    swapped = copy.copy(model)
    swapped.labels_ = np.array([1, 0, 2])[model.labels_]
    assert differing(drawn(name, swapped), stored(name)) > 10 * MOST_PIXELS


@same_version
def test_two_rows_that_exchange_their_labels_are_noticed(model):
    swapped = copy.copy(model)
    swapped.labels_ = model.labels_.copy()
    first, second = (np.flatnonzero(model.labels_ == label)[0] for label in (0, 1))
    swapped.labels_[[first, second]] = 1, 0
    assert differing(drawn("map", swapped), stored("map")) > MOST_PIXELS
    assert differing(drawn("confusion", swapped), stored("confusion")) > MOST_PIXELS


def test_stored_pictures_are_small():
    files = sorted(PICTURES.glob("*.png"))
    assert [path.stem for path in files] == sorted(FIGURES)
    assert max(path.stat().st_size for path in files) < 30_000


if __name__ == "__main__":
    from PIL import Image

    matplotlib.rcdefaults()
    _neighbour_layout._other_package = lambda: (_neighbour_layout.OWN_LAYOUT, None)
    for figure_name in FIGURES:
        pixels = drawn(figure_name, fitted()).astype(np.uint8)
        Image.fromarray(pixels).quantize(256).save(PICTURES / f"{figure_name}.png", optimize=True)
