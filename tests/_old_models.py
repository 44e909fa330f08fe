"""One small model of every kind, with rows and the answers it gave when it was saved: files that stay readable.

``python -m tests._old_models`` writes those that are missing from ``tests/models``. Those that are there are never
written again: they stand for the files that people have.
"""

from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.pipeline import make_pipeline

import widegap
from widegap import persistence
from widegap.persistence import FORMAT

FOLDER = Path(__file__).parent / "persistence" / "models"
TEXTS = ["flour and yeast bread", "bread with yeast", "flour bread", "late goal match", "match goal", "goal late"]


def blobs():
    """Three groups of eight rows, numbers in steps of 1/64."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0, 0], [8, 0, 4], [0, 8, -4]])
    X = np.repeat(centres, 8, axis=0) + rng.normal(size=(24, 3))
    return np.round(X * 64) / 64


def frame():
    import pandas as pd

    X = blobs()
    return pd.DataFrame({"width": X[:, 0], "colour": np.repeat(["red", "blue", "green"], 8), "height": X[:, 1]})


def makers():
    """Functions by name that fit a model; each returns it and what it was fitted to."""
    X = blobs()
    options = {"random_state": 0}
    halves = X[:16]
    more = np.vstack([X + np.array([0.5, 0.25, -0.25]) * step for step in range(-3, 3)])
    universum = X[:2] / 2 + X[8:10] / 2
    models = {
        "CPM3C": (widegap.CPM3C(3, **options), X),
        "CPM3C-rbf": (widegap.CPM3C(2, kernel="rbf", **options), halves),
        "GMMC": (widegap.GMMC(2, **options), halves),
        "IterLSSVM": (widegap.IterLSSVM(2, **options), halves),
        "IterSVM": (widegap.IterSVM(2, **options), halves),
        "IterSVR": (widegap.IterSVR(3, **options), X),
        "MKC": (widegap.MKC(3, **options), X),
        "MMC": (widegap.MMC(2, **options), halves),
        "MaxMarginClustering": (widegap.MaxMarginClustering(3, **options), X),
        "MaxMarginClustering-auto": (widegap.MaxMarginClustering("auto", **options), more),
        "MaxMarginClustering-moves": (widegap.MaxMarginClustering(3, search="moves", **options), X),
        "MaxMarginClustering-sparse": (widegap.MaxMarginClustering(3, **options), sparse.csr_array(X)),
        "DocumentClustering": (widegap.DocumentClustering(2, **options), TEXTS),
    }
    fits = {name: lambda model=model, rows=rows: (model.fit(rows), rows) for name, (model, rows) in models.items()}
    fits["M2DCU"] = lambda: (
        widegap.M2DCU(2, margin_tolerance=0.01, **options).fit(halves, universum=universum),
        halves,
    )
    fits["TableEncoder"] = lambda: _pipeline(frame())
    return fits


def _pipeline(rows):
    return make_pipeline(widegap.TableEncoder(), widegap.MaxMarginClustering(3, random_state=0)).fit(rows), rows


def file_of(name):
    return FOLDER / f"format-{FORMAT}-{name}.widegap"


def held(rows):
    """Rows as values for JSON."""
    if isinstance(rows, list):
        return {"texts": rows}
    if hasattr(rows, "columns"):
        return {"frame": rows.to_dict("list")}
    if sparse.issparse(rows):
        return {"sparse": rows.toarray().tolist()}
    return {"dense": rows.tolist()}


def rows_of(values):
    """The rows again."""
    if "texts" in values:
        return values["texts"]
    if "frame" in values:
        import pandas as pd

        return pd.DataFrame(values["frame"])
    if "sparse" in values:
        return sparse.csr_array(np.array(values["sparse"]))
    return np.array(values["dense"])


def scores(model, rows):
    """What a model says of rows, as numbers."""
    return np.asarray(model.decision_function(rows))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, fit in makers().items():
        if not file_of(name).exists():
            model, rows = fit()
            answers = {"labels": model.predict(rows).tolist()}
            if hasattr(model, "decision_function"):
                answers["scores"] = scores(model, rows).tolist()
            persistence.save(model, file_of(name), extra={"rows": held(rows), **answers})
