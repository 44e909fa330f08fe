"""The picture of an update: clusters before on the left, after on the right, and bands for what became of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from widegap._wording import percent
from widegap.report._charts import colour

FLOW_WIDTH, FLOW_HEIGHT = 480, 300  # readable at the width of a phone, where it is drawn at two thirds
FLOW_BAR, FLOW_EDGE, FLOW_GAP = (
    12,
    76,
    8,
)  # pixels: width of a bar, place for its text, and between two bars
FLOW_LEAST = 3  # pixels of a bar: a cluster without rows is seen, too


@dataclass(frozen=True)
class Band:
    """What goes from a cluster before to one after, by shares; None where there is no cluster on this side."""

    before: int | None
    after: int | None
    share_before: float
    share_after: float


def bands(records: Sequence[dict[str, Any]]) -> list[Band]:
    """The bands of ``shown_changes``: one for every record, ordered by number."""
    found = []
    for record in sorted(records, key=lambda record: record["cluster"]):
        number, other = record["cluster"], (record["related"] or [None])[0]
        before, after = number, number
        if record["kind"] == "new":
            before = None
        elif record["kind"] == "split":
            before = other
        elif record["kind"] == "merged":
            after = other
        elif record["kind"] == "vanished" and not record["share_after"]:
            after = None
        found.append(Band(before, after, record["share_before"], record["share_after"]))
    return found


def flow(records: Sequence[dict[str, Any]]) -> Markup:
    """Bars and bands as SVG; only numbers enter it."""
    drawn = bands(records)
    left = _Side([(band.before, band.share_before) for band in drawn])
    right = _Side([(band.after, band.share_after) for band in drawn])
    parts = []
    x0, x1 = FLOW_EDGE + FLOW_BAR, FLOW_WIDTH - FLOW_EDGE - FLOW_BAR
    for i, band in enumerate(drawn):
        if band.before is None or band.after is None:
            continue
        (a0, a1), (b0, b1), middle = left.spans[i], right.spans[i], (x0 + x1) / 2
        path = (
            f"M{x0} {a0:.1f}C{middle} {a0:.1f} {middle} {b0:.1f} {x1} {b0:.1f}V{b1:.1f}"
            f"C{middle} {b1:.1f} {middle} {a1:.1f} {x0} {a1:.1f}Z"
        )
        parts.append(f'<path class="band {colour(band.before)}" data-cluster="{band.after}" d="{path}"/>')
    parts += left.bars(FLOW_EDGE, FLOW_EDGE - 6, "end") + right.bars(x1, x1 + FLOW_BAR + 6, "start")
    return Markup("".join(parts))  # noqa: S704 - numbers only


class _Side:
    """The bars of one side, from top to bottom; ``spans`` are those of the bands in them."""

    def __init__(self, shares: Sequence[tuple[int | None, float]]):
        self.numbers = sorted({number for number, _ in shares if number is not None})
        self.shares = {n: sum(share for number, share in shares if number == n) for n in self.numbers}
        room = FLOW_HEIGHT - FLOW_GAP * (len(self.numbers) - 1) - FLOW_LEAST * len(shares)
        unit = room / max(sum(self.shares.values()), 1e-9)
        self.spans: list[tuple[float, float]] = [(0.0, 0.0)] * len(shares)
        self.ends: dict[int, tuple[float, float]] = {}
        y = 0.0
        for number in self.numbers:
            start = y
            for i, (own, share) in enumerate(shares):
                if own == number:
                    self.spans[i] = (y, y + FLOW_LEAST + unit * share)
                    y = self.spans[i][1]
            self.ends[number] = (start, y)
            y += FLOW_GAP

    def bars(self, x: float, x_text: float, anchor: str) -> list[str]:
        """Bars with the number and the share of each."""
        found = []
        for number, (start, end) in self.ends.items():
            share = self.shares[number]  # 0 where nothing is compared, as all its rows went to another
            words = f"{number} · {percent(share)}" if share else str(number)
            y = min(max((start + end) / 2 + 5, 12), FLOW_HEIGHT - 2)
            found.append(
                f'<rect class="{colour(number)}" x="{x}" y="{start:.1f}" width="{FLOW_BAR}" height="{end - start:.1f}" '
                f'rx="2"/><text x="{x_text}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'
            )
        return found
