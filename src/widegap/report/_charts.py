"""Charts as SVG text. Only numbers and class names enter it: all words are set by the template, which escapes them."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from widegap.forest._split_words import CLOUD_WORD
from widegap.results._how_many import shown_scores
from widegap.results._palette import LIGHT

# Pixels: 720 is the width of the text of the page, and no chart is higher than a laptop's window.
MAP_WIDTH, MAP_HEIGHT, MAP_EDGE = 720, 480, 16
BAR_WIDTH, BAR_HEIGHT = 240, 72
LINE_WIDTH, LINE_HEIGHT, LINE_EDGE = 720, 110, 8
DENDROGRAM_WIDTH, DENDROGRAM_ROW = 320, 30
MOST_DECIDED = 30  # columns in the list of how much each decided; the others have smaller shares
LEAST_RANGE = 0.02  # of the best objective is the least range of the chart of starts, so that roundings look small
SAME_OBJECTIVE = 1e-3  # starts within this share of the best count as the best; the solvers are accurate to 1e-3


def colour(label: int) -> str:
    """Class of a cluster's colour; -1 is grey."""
    return f"c{int(label) % len(LIGHT)}" if label >= 0 else "cx"


class Scale:
    """Values to pixels; the middle if all values are equal.

    The range is at least ``least`` times the largest value, so that a chart does not blow up roundings.
    """

    def __init__(self, values: Sequence[float], start: float, end: float, least: float = 0.0):
        self.low, self.high = (min(values), max(values)) if values else (0.0, 1.0)
        self.low = min(self.low, self.high - least * abs(self.high))
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        width = self.high - self.low
        share = (value - self.low) / width if width else 0.5
        return self.start + share * (self.end - self.start)


def scatter(plan: dict[str, Any]) -> Markup:
    """The points of the map, and the number of every cluster at its middle."""
    points = [point for point in plan["points"] if point["x"] is not None and point["y"] is not None]
    xs, ys = ([float(point[axis]) for point in points] for axis in "xy")
    x_scale = Scale(xs, MAP_EDGE, MAP_WIDTH - MAP_EDGE)
    y_scale = Scale(ys, MAP_HEIGHT - MAP_EDGE, MAP_EDGE)
    parts = []
    places: dict[int, list[tuple[float, float]]] = {}
    for i, point in enumerate(plan["points"]):
        if point["x"] is None or point["y"] is None:
            continue
        x, y, label = x_scale(float(point["x"])), y_scale(float(point["y"])), int(point["cluster"])
        places.setdefault(label, []).append((x, y))
        parts.append(
            f'<circle class="{colour(label)}" data-cluster="{label}" data-i="{i}" cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>'
        )
    for label, found in sorted(places.items()):
        if label >= 0:
            x, y = (sorted(values)[len(values) // 2] for values in zip(*found, strict=True))
            parts.append(
                f'<g class="tag" data-cluster="{label}"><circle class="{colour(label)}" cx="{x:.1f}" cy="{y:.1f}" '
                f'r="11"/><text x="{x:.1f}" y="{y + 4:.1f}">{label}</text></g>'
            )
    return Markup("".join(parts))  # noqa: S704 - numbers only


def margin_bars(counts: Sequence[int], edges: Sequence[float], label: int) -> Markup:
    """Bars of one cluster's margins over the common range, with a line at zero."""
    top = max(1, *counts)
    width = BAR_WIDTH / len(counts)
    bars = [
        f'<rect class="{colour(label)}" x="{i * width + 0.5:.1f}" y="{BAR_HEIGHT - BAR_HEIGHT * count / top:.1f}" '
        f'width="{max(1.0, width - 1):.1f}" height="{BAR_HEIGHT * count / top:.1f}"/>'
        for i, count in enumerate(counts)
        if count
    ]
    zero = Scale(edges, 0, BAR_WIDTH)(0.0)
    line = f'<line class="boundary" x1="{zero:.1f}" x2="{zero:.1f}" y1="0" y2="{BAR_HEIGHT}"/>'
    return Markup("".join([*bars, line]))  # noqa: S704


def dendrogram(tree: dict[str, Any]) -> Markup:
    """Branches of the tree of ``top_of_tree``, leaves at the left, one row of ``DENDROGRAM_ROW`` pixels each."""
    x_scale = Scale([0.0, max(*tree["heights"], 1e-9)], 6, DENDROGRAM_WIDTH - 6)
    paths = branches(tree, x_scale, DENDROGRAM_ROW)
    words = tree.get("words") or [""] * len(paths)
    drawn = [_branch(path, word) for path, word in zip(paths, words, strict=True)]
    return Markup("".join(drawn))  # noqa: S704


def _branch(path: str, word: str) -> str:
    """A branch, dashed where it joins what looks like parts of one cloud; its word is shown on hovering."""
    kind = "branch cloud" if word == CLOUD_WORD else "branch"
    title = f"<title>{word}</title>" if word else ""
    return f'<path class="{kind}" d="{path}">{title}</path>'


def branches(tree: dict[str, Any], x_scale: Scale, row: float) -> list[str]:
    """The path of every merge of ``top_of_tree``: leaves at height 0, one row each, joined at the merge's height."""
    places = {leaf: (x_scale(0.0), (i + 0.5) * row) for i, leaf in enumerate(tree["leaves"])}
    paths = []
    for pair, height in zip(tree["merges"], tree["heights"], strict=True):
        x = x_scale(height)
        (x0, y0), (x1, y1) = (places[node] for node in pair)
        paths.append(f"M{x0:.1f} {y0:.1f}H{x:.1f}V{y1:.1f}H{x1:.1f}")
        places[len(places)] = (x, (y0 + y1) / 2)
    return paths


def start_range(starts: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Objectives at the foot and at the top of the chart of starts."""
    scale = Scale([float(start["objective"]) for start in starts], 0, 1, LEAST_RANGE)
    return scale.low, scale.high


def start_dots(starts: Sequence[dict[str, Any]]) -> Markup:
    """The objective that every start led to, in their order; those that reach the best are filled."""
    values = [float(start["objective"]) for start in starts]
    x_scale = Scale([0, max(1, len(values) - 1)], 3 * LINE_EDGE, LINE_WIDTH - 3 * LINE_EDGE)
    y_scale = Scale(values, LINE_HEIGHT - LINE_EDGE, LINE_EDGE, LEAST_RANGE)
    dots = []
    for i, value in enumerate(values):
        kind = "best" if value >= max(values) - SAME_OBJECTIVE * abs(max(values)) else "start"
        x, y = x_scale(i), y_scale(value)
        dots.append(f'<line class="stem" x1="{x:.1f}" x2="{x:.1f}" y1="{LINE_HEIGHT}" y2="{y:.1f}"/>')
        dots.append(f'<circle class="{kind}" data-start="{i}" cx="{x:.1f}" cy="{y:.1f}" r="6"/>')
    return Markup("".join(dots))  # noqa: S704


def curves(records: Sequence[dict[str, Any]]) -> Markup:
    """Objective over iterations, one line per start (and bisection)."""
    runs: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for record in records:
        if record["objective"] is not None:
            key = (int(record.get("split", 0)), int(record["start"]))
            runs.setdefault(key, []).append((float(record["iteration"]), float(record["objective"])))
    flat = [place for run in runs.values() for place in run]
    if not flat:
        return Markup("")
    x_scale = Scale([place[0] for place in flat], LINE_EDGE, LINE_WIDTH - LINE_EDGE)
    y_scale = Scale([place[1] for place in flat], LINE_HEIGHT - LINE_EDGE, LINE_EDGE)
    parts = []
    for i, run in enumerate(runs.values()):
        path = " ".join(f"{x_scale(x):.1f},{y_scale(y):.1f}" for x, y in run)
        x, y = run[-1]
        parts.append(f'<polyline class="{colour(i)}" points="{path}"/>')
        parts.append(f'<circle class="{colour(i)}" cx="{x_scale(x):.1f}" cy="{y_scale(y):.1f}" r="4"/>')
    return Markup("".join(parts))  # noqa: S704


def number_bars(number: dict[str, Any]) -> Markup:
    """The strength of every number of clusters as a bar, the chosen one in colour, and a line at what is needed."""
    scores = shown_scores(number)
    values = [max(0.0, float(score.get("strength") or 0.0)) for score in scores]
    y_scale = Scale([0.0, max(*values, 2 * number["needed"])], LINE_HEIGHT, LINE_EDGE)
    width = LINE_WIDTH / len(scores)
    bars = [
        f'<rect class="{"c0" if score["n_clusters"] == number["chosen"] else "cx"}" x="{(i + 0.15) * width:.1f}" '
        f'y="{min(y_scale(value), LINE_HEIGHT - 1):.1f}" width="{0.7 * width:.1f}" '
        f'height="{max(1.0, LINE_HEIGHT - y_scale(value)):.1f}"/>'
        for i, (score, value) in enumerate(zip(scores, values, strict=True))
    ]
    y = y_scale(number["needed"])
    line = f'<line class="boundary" x1="0" x2="{LINE_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return Markup("".join([*bars, line]))  # noqa: S704
