"""The colours of clusters in reports, in the explorer and in plots; ``explorer/page/palette.js`` repeats them.

They follow Okabe and Ito, for readers with colour-blindness. As these see them (Machado's matrices), the first six
light colours are at least 9.7 apart in CIELAB, and all ten at least 7.6; as others see them, 16. Every use has a second
sign beside the colour: a number, a name or a shape. More than ten clusters share colours.
"""

LIGHT = (
    "#0072b2", "#d55e00", "#009e73", "#bf9b00", "#cc4f96", "#3a9bd9", "#7a4fbf", "#7f6000", "#555555", "#8c2d04",
)  # fmt: skip
DARK = (
    "#56b4e9", "#ff8c42", "#2fd6a3", "#f0c541", "#f58fc4", "#9ad0ff", "#bfa0ff", "#d9c27a", "#bdbdbd", "#e0876a",
)  # fmt: skip
NO_CLUSTER = "#8a8f98"  # rows without a cluster, in both


def light_colour(label: int) -> str:
    """The colour of a cluster on a light ground."""
    return LIGHT[label % len(LIGHT)] if label >= 0 else NO_CLUSTER
