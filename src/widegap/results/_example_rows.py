"""Single rows of a report: their names, how deep inside their cluster they lie, and their values."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from widegap._wording import clip, plain
from widegap.results._row_views import RowView

CLOSE_MARGIN = 0.25  # of the typical margin, below which a row is called close to another cluster; not tuned


class RowDescriber:
    """Describes rows of a view; ``names`` are those of the clusters."""

    def __init__(self, view: RowView, names: Mapping[int, str]):
        self.view, self.names = view, names
        inside = view.margins[np.isfinite(view.margins) & (view.margins > 0)]
        self.typical = float(np.median(inside)) if len(inside) else None

    def relative(self, margin: float | None) -> float | None:
        """A margin in units of the typical one, which is the median of those above 0."""
        found: float | None = None if self.typical is None or margin is None else plain(margin / self.typical)
        return found

    def describe(self, row: int) -> dict[str, Any]:
        """Everything that a report shows of one row."""
        view = self.view
        title, text = view.item(row)
        margin = float(view.margins[row])
        return {
            "row": int(row),
            "id": None if view.ids is None else clip(view.ids[row], 80),
            "title": title,
            "text": text,
            "margin": plain(margin),
            "relative": self.relative(margin),
            "depth": self._depth(row),
            "sure": None if view.sure is None else plain(view.sure[row]),
        }

    def _depth(self, row: int) -> str:
        """Where a row lies in words; empty if the method has no margins."""
        margin, scores = self.view.margins[row], self.view.scores
        if not np.isfinite(margin) or scores is None:
            return ""
        own = int(np.flatnonzero(self.view.kinds == self.view.labels[row])[0])
        rivals = np.array(scores[row], dtype=float)
        rivals[own] = -np.inf
        rival = self.names[int(self.view.kinds[int(rivals.argmax())])]
        if margin < 0:
            return f"scores higher for {rival}"
        share = self.relative(margin)
        if share is not None and share < CLOSE_MARGIN:
            return f"close to {rival}"
        return "inside" if share is None or share < 1 else "deep inside"
