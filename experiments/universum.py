"""What a universum gains over none, by how it is chosen and weighted: ``python -m experiments.universum``.

Writes ``docs/universum.md``. Per collection and seed all settings share the space, the starts and C; labels score only.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from experiments.texts import COLLECTIONS, latent_rows
from widegap import M2DCU, universum
from widegap.metrics import clustering_accuracy, normalized_mutual_info

PAGE = Path("docs/universum.md")
SEEDS = range(5)
SETTINGS = {  # name: (how rows are chosen, weight relative to C_target)
    "select 10 %, 0.3": ("select", 0.3),
    "select 10 %, 1": ("select", 1.0),
    "all, 0.3": ("all", 0.3),
    "boundary 30 %, 0.3": ("boundary", 0.3),
    "boundary 30 %, 1": ("boundary", 1.0),
}

INTRODUCTION = """# What a universum gains

Written by `python -m experiments.universum`. Hungarian accuracy and NMI in %, without labels, of M2DCU with a universum
minus M2DCU-0 (no universum) on the same rows, starts and C: mean and standard deviation over seeds 0-4. The candidates
are the paper's three kinds together: documents of other classes (none for RCV1-4, whose four topics are the
collection), rows drawn at random in the reduced space, and midpoints of k-means centres. `select` is the paper's
choice, the tenth that a Gaussian mixture of the targets finds likeliest; `boundary` keeps the 30 % of the candidates
that lie nearest to the boundaries of M2DCU-0; `all` keeps them all. The number behind the comma is
C_universum / C_target.
"""


def candidates(X: Any, rest: Any, k: int, seed: int) -> Any:
    """Rest, random rows and means, in one table of unit rows."""
    drawn = universum.random(X, max(100, len(X) // 10), seed)
    parts = [drawn, universum.means(X, k, random_state=seed)]
    return normalize(np.vstack(parts if rest is None else [rest, *parts]))


def scores(y: Any, labels: Any) -> np.ndarray[Any, Any]:
    return 100 * np.array([clustering_accuracy(y, labels), normalized_mutual_info(y, labels)])


def measure(name: str) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """(setting, [accuracy, NMI] a seed) of one collection; the first is M2DCU-0 itself."""
    collection = COLLECTIONS[name]()
    X, rest = latent_rows(collection)
    k, y = collection.n_classes, collection.classes
    found: dict[str, list[Any]] = {setting: [] for setting in ("M2DCU-0", *SETTINGS)}
    for seed in SEEDS:
        base = M2DCU(k, C_universum=0, random_state=seed).fit(X)
        found["M2DCU-0"].append(scores(y, base.labels_))
        U = candidates(X, rest, k, seed)
        chosen = {
            "all": U,
            "select": universum.select(U, X, k, random_state=seed),
            "boundary": universum.boundary(U, base),
        }
        for setting, (kind, weight) in SETTINGS.items():
            model = M2DCU(k, C_universum=weight * base.C_target_, random_state=seed).fit(X, universum=chosen[kind])
            found[setting].append(scores(y, model.labels_))
        print(name, seed, {s: np.round(v[-1], 1).tolist() for s, v in found.items()}, file=sys.stderr, flush=True)
    yield from ((setting, np.array(values)) for setting, values in found.items())


def page() -> str:
    """The table of all collections, and the mean over them."""
    results = {name: dict(measure(name)) for name in COLLECTIONS}
    lines = ["| collection | M2DCU-0 | " + " | ".join(SETTINGS) + " |", "|---" * (len(SETTINGS) + 2) + "|"]
    for name, found in results.items():
        base = found["M2DCU-0"]
        cells = [_cell(found[setting] - base) for setting in SETTINGS]
        lines.append(f"| {name} | {_cell(base, sign='')} | " + " | ".join(cells) + " |")
    gains = {s: np.concatenate([found[s] - found["M2DCU-0"] for found in results.values()]) for s in SETTINGS}
    lines.append("| all runs | | " + " | ".join(_cell(gain) for gain in gains.values()) + " |")
    return INTRODUCTION + "\n" + "\n".join(lines) + "\n"


def _cell(values: np.ndarray[Any, Any], sign: str = "+") -> str:
    mean, spread = values.mean(axis=0), values.std(axis=0)
    return f"{mean[0]:{sign}.1f} ± {spread[0]:.1f} / {mean[1]:{sign}.1f} ± {spread[1]:.1f}"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
