"""The pictures of ``docs/scale.md``, from the points in ``benchmarks/scale.json``: python -m benchmarks.scale_plots.

The cost model of a fit of CPM3C on n rows, with constants that were measured on at most 100 000 rows:

    seconds = start + passes * (a pass + n * a row),

``start`` being the search on a sample of 5000 rows, small problems included, which does not depend on n.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import exponent
from benchmarks.scale import POINTS
from experiments.tables._figure import COLOURS, SETTINGS

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WORKERS, ROWS, COLUMNS = 100, 1e9, 1000
DASK_PASS = 0.04  # seconds that a pass takes on a cluster whatever the rows


def predicted(constants: dict[str, float], n: float, passes: float) -> float:
    """Seconds of a fit by the model."""
    return constants["start"] + passes * (constants["pass"] + n * constants["row"])


def predicted_cluster(constants: dict[str, float], passes: float) -> float:
    """Seconds of a fit of ten clusters on many workers of one thread each, rows held as float32."""
    bytes_a_worker = 4 * ROWS * COLUMNS / WORKERS
    return constants["start"] + passes * (DASK_PASS + bytes_a_worker / constants["wide_bytes_a_second"])


def _growth(figure: Any, growth: dict[str, list[dict[str, float]]]) -> None:
    axes = figure.subplots(2, 3).ravel()
    for ax, (name, points) in zip(axes, growth.items(), strict=True):
        sizes, seconds = [p["size"] for p in points], [p["seconds"] for p in points]
        ax.loglog(sizes, seconds, "o-")
        ax.set_xlabel(name)
        ax.xaxis.set_minor_formatter("")
        ax.set_title(f"exponent {exponent(sizes, seconds):.2f}", fontsize=9)
    for ax in axes[::3]:
        ax.set_ylabel("processor seconds of a fit")


def _model(figure: Any, points: list[dict[str, float]], constants: dict[str, float]) -> None:
    ax = figure.subplots()
    sizes = np.array([p["size"] for p in points])
    ax.loglog(sizes, [p["seconds"] for p in points], "o", label="measured")
    ax.loglog(sizes, [predicted(constants, p["size"], p["passes"]) for p in points], "-", label="model")
    ax.set_xlabel("rows (20 columns, 4 clusters, one thread)")
    ax.set_ylabel("processor seconds of a fit")
    ax.legend()


def _save(name: str, size: tuple[float, float], draw: Any, *given: Any) -> None:
    import matplotlib
    from cycler import cycler

    matplotlib.use("svg")
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**SETTINGS, "axes.prop_cycle": cycler(color=COLOURS)}):
        figure = Figure(figsize=size)
        draw(figure, *given)
        figure.savefig(IMAGES / name, format="svg", metadata={"Date": None})


def main() -> None:
    """Draw the pictures, and print what the model says."""
    found = json.loads(POINTS.read_text())
    constants = found["model"]["constants"]
    points = [*found["growth"]["rows"], found["out of core"]["CPM3C"][-1]]
    _save("scale-growth.svg", (9, 5), _growth, found["growth"])
    _save("scale-model.svg", (5, 3.2), _model, points, constants)
    print(constants)
    for point in points:
        says = predicted(constants, point["size"], point["passes"])
        print(f"{point['size']:g} rows: {point['seconds']:.2f} s, model {says:.2f} s, {point['passes']} passes")
    for passes in (20, 40):
        print(f"1e9 x 1000 on 100 workers, {passes} passes: {predicted_cluster(constants, passes):.0f} s")


if __name__ == "__main__":
    main()
