"""SVG pictures whose bytes depend on the results alone (and on matplotlib's version)."""

from pathlib import Path
from typing import Any

from experiments.store import Store

COLOURS = ("#0b6e99", "#d1495b", "#66a182", "#edae49", "#6d597a", "#30638e", "#9c6644", "#7a7a7a")
SETTINGS = {
    "svg.hashsalt": "widegap",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
}


def saved(figure: Any, store: Store, path: Path) -> str:
    """Draw to a file; returns the caption."""
    import matplotlib
    from cycler import cycler

    matplotlib.use("svg")
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**SETTINGS, "axes.prop_cycle": cycler(color=COLOURS)}):
        canvas = Figure(figsize=figure.size)
        caption = figure.draw(canvas, store)
        path.parent.mkdir(parents=True, exist_ok=True)
        canvas.savefig(path, format="svg", metadata={"Date": None})
    return caption
