"""The demo: digits compared with k-means and spectral clustering, topics of docstrings, a photo; with reports."""

import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits, load_sample_image

from widegap import CPM3C, DocumentClustering, MaxMarginClustering, datasets
from widegap._atomic import replacing
from widegap.exceptions import NoStructureWarning
from widegap.image import bisections, paint
from widegap.metrics import clustering_accuracy
from widegap.report import render, summarize
from widegap.results._written_files import write_text
from widegap.rows._threads import one_blas_thread

TASKS = ((3, 8), (1, 7), (2, 7), (8, 9), (0, 6, 8, 9), (1, 2, 7, 9), tuple(range(10)))
SEEDS = range(3)
SEGMENTS = 4  # flower, leaves, and the dark and the bright background
METHODS = {
    "KMeans(n_init=10)": lambda k, seed: KMeans(k, n_init=10, random_state=seed),
    "SpectralClustering": lambda k, seed: SpectralClustering(k, affinity="nearest_neighbors", random_state=seed),
    "CPM3C": lambda k, seed: CPM3C(k, random_state=seed),
    "MaxMarginClustering": lambda k, seed: MaxMarginClustering(k, random_state=seed),
    'search="moves"': lambda k, seed: MaxMarginClustering(k, search="moves", random_state=seed),
}


def run_demo(folder: Path) -> None:
    """Run the three parts and say where the reports are."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [_digits(folder), _topics(folder), _photo(folder)]
    print("\nOpen these in a browser or a viewer:")
    for path in written:
        print(f"  {path}")
    print("To look at clusters of your own, correct them and cluster again: widegap explore data.csv")


def _digits(folder: Path) -> Path:
    """One line a set of digits, and a report on all ten."""
    X, y = load_digits(return_X_y=True)
    print("Compiling the inner loops (the first run takes half a minute) ...", flush=True)
    for k in (2, 3):  # before the clock runs, so that the table shows the work and not the compiler
        CPM3C(k, min_cluster_fraction=1.0).fit(X[:50])  # so tight that the label step under a bound compiles too
        MaxMarginClustering(k, random_state=0).fit(np.repeat(X[:k], 20, axis=0))
    print("\n1. Handwritten digits, clustered without labels: accuracy in % (mean over 3 seeds) and seconds a fit")
    print(f"{'digits':<20}{'rows':>6}" + "".join(f"{name:>21}" for name in METHODS))
    for digits in TASKS:
        chosen = np.isin(y, digits)
        cells = [_measure(make, X[chosen], y[chosen], len(digits)) for make in METHODS.values()]
        name = " ".join(map(str, digits))
        print(f"{name:<20}{chosen.sum():>6}" + "".join(f"{cell:>21}" for cell in cells), flush=True)
    print('        MaxMarginClustering with search="moves" prefers clusters of similar size.')
    model = MaxMarginClustering(10, random_state=0).fit(X)
    items = [f"a {digit}" for digit in y]
    return _write_report(folder / "digits.html", summarize(model, X, items=items, title="Handwritten digits"))


def _measure(make: Any, rows: Any, truth: Any, k: int) -> str:
    """Mean accuracy and mean time over the seeds, as text."""
    # One thread for all: on a few hundred rows k-means can lose a hundredfold to threads that wait for each other.
    with one_blas_thread(openmp=True), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        warnings.simplefilter("ignore", NoStructureWarning)  # the accuracy shows it
        began = perf_counter()
        labels = [make(k, seed).fit_predict(rows) for seed in SEEDS]
        seconds = (perf_counter() - began) / len(SEEDS)
    accuracy = np.mean([clustering_accuracy(truth, found, mapping="majority") for found in labels])
    return f"{100 * accuracy:.1f}   {seconds:.2f} s"


def _topics(folder: Path) -> Path:
    """Topics of the standard library's docstrings, found without their chapters."""
    texts, chapters = datasets.load_docstrings(return_X_y=True)
    model = DocumentClustering(len(np.unique(chapters)), random_state=0).fit(texts)
    print(f"\n2. Topics of {len(texts)} docstrings of Python's standard library")
    for topic, terms in model.top_terms(8).items():
        print(f"{np.sum(model.labels_ == topic):>6}  {', '.join(terms)}")
    accuracy = clustering_accuracy(chapters, model.labels_)
    print(f"        agreement with the chapters of its reference: {100 * accuracy:.1f} %")
    return _write_report(folder / "topics.html", summarize(model, texts, title="Python's standard library"))


def _photo(folder: Path) -> Path:
    """A photo that ships with scikit-learn, split again and again."""
    from PIL import Image

    picture = load_sample_image("flower.jpg")
    print(f"\n3. A photo of {picture.shape[1]} x {picture.shape[0]} pixels in {SEGMENTS} segments")
    began = perf_counter()
    steps = list(bisections(picture, SEGMENTS, "max-margin", random_state=0))
    sizes = ", ".join(f"{100 * size:.0f} %" for size in np.bincount(steps[-1].ravel()) / steps[-1].size)
    print(f"        {perf_counter() - began:.1f} s; sizes {sizes}")
    path = folder / "photo.png"
    panels = [picture, *(paint(picture, step) for step in steps[1:])]
    with replacing(path) as temporary:
        Image.fromarray(np.hstack(panels)[::2, ::2]).save(temporary)
    return path


def _write_report(path: Path, summary: Any) -> Path:
    write_text(path, render(summary))
    return path
