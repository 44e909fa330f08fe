"""What all figures share: Axes to draw on, and the ink."""

from textwrap import wrap
from typing import TYPE_CHECKING

from widegap.exceptions import InvalidDataError, NotSupportedError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, MUTED, LINE = "#1d2129", "#636b78", "#d9dce1"  # as on the pages
NAME_WIDTH, NAME_LINES = 26, 4  # letters and lines of a name beside a figure; names have at most 80 letters


def axes_for(ax: "Axes | None", width: float, height: float) -> "Axes":
    """The Axes of the caller, or those of a new figure of this size in inches."""
    try:
        from matplotlib import pyplot as plt
        from matplotlib.axes import Axes
    except ImportError as error:
        raise NotSupportedError(
            "Plots need matplotlib, which is not installed: pip install 'widegap[plot]'."
        ) from error
    if ax is None:
        return plt.subplots(figsize=(width, height), layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise InvalidDataError(
            f"ax is a {type(ax).__name__}; pass one matplotlib Axes, such as plt.subplots()[1], or None for a new one."
        )
    return ax


def in_lines(name: str, width: int = NAME_WIDTH) -> str:
    """A name in lines that fit beside a figure; a dollar sign does not begin a formula."""
    return "\n".join(wrap(name, width, max_lines=NAME_LINES, placeholder=" …")).replace("$", r"\$")


def without_frame(ax: "Axes", *kept: str) -> None:
    """Leave out the lines around Axes, but for some sides."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in kept)
        spine.set_color(LINE)
    ax.tick_params(length=0, colors=INK)
