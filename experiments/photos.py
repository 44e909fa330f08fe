"""Photos to segment: every pixel is a row of colours."""

import base64
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from experiments.cells import Outcome, RefusedError, Task, method, task
from widegap import IterSVM, IterSVR, MaxMarginClustering
from widegap.image import bisections, pixel_features
from widegap.metrics import rand_index

SIGMA = 500 / 255  # the paper's, for colours from 0 to 1
EVERY = 4  # rows and columns of the photos that are drawn


@task("bsds")
def berkeley(number: str) -> Task:
    """A photo of the Berkeley segmentation data; ``y`` is its first segmentation by hand, ``rest`` all of them."""
    from matplotlib.image import imread

    folder = Path(os.environ.get("WIDEGAP_DATA", "")) / "bsds500"
    if not folder.is_dir():
        raise RefusedError("the Berkeley photos are not here")
    by_hand = np.load(folder / "ground_truth.npz")[number]
    by_hand = by_hand.reshape(len(by_hand), -1)
    return Task(pixel_features(imread(folder / f"{number}.jpg")), by_hand[0], rest=by_hand, n_clusters=2)


def small_photo(name: str) -> Any:
    """A photo of scikit-learn, a sixteenth of its pixels."""
    return load_sample_image(f"{name}.jpg")[::EVERY, ::EVERY]


@task("photo")
def sample_photo(name: str) -> Task:
    """Nobody segmented these by hand: all pixels are of one class."""
    X = pixel_features(small_photo(name))
    return Task(X, np.zeros(len(X), int), n_clusters=2)


@method("segments")
def segments(task: Task, seed: int, by: str, number: int, keep: bool = False) -> Outcome:
    """Recursive bisection of the pixels by colour; ``keep`` notes all stages for a picture.

    Noted is the mean Rand index with all segmentations by hand, of which the judge knows one.
    """
    estimator = {
        "k-means": KMeans(n_init=10),
        "IterSVM": IterSVM(min_cluster_fraction=0.5),
        "IterSVR": IterSVR(C=500.0, gamma=SIGMA**-2, min_cluster_fraction=0.5),
        "MaxMarginClustering": MaxMarginClustering(search="moves"),
    }[by]
    stages = [
        labels.ravel()
        for labels in bisections(task.X[:, None], number, clone(estimator), random_state=np.random.RandomState(seed))
    ]
    noted: dict[str, Any] = {}
    if task.rest is not None:
        noted["by_hand"] = round(float(np.mean([rand_index(y, stages[-1]) for y in task.rest])), 5)
    if keep:
        noted["stages"] = [packed(labels) for labels in stages[1:]]
    return Outcome(stages[-1], noted)


def packed(labels: Any) -> str:
    """Labels of pixels as text."""
    return base64.b64encode(zlib.compress(labels.astype(np.uint8).tobytes(), 9)).decode()


def unpacked(text: str) -> Any:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
