"""Reports inside notebooks: the page in a frame of its own, so that neither disturbs the other."""

from html import escape
from typing import Any

HEIGHT = 760  # pixels: a screenful below the cell
# The frame may run the page's own script, whose hash the page names, and save files; nothing of the notebook.
FRAME = (
    '<iframe srcdoc="{page}" title="{title}" sandbox="allow-scripts allow-downloads" '
    'style="width:100%;height:{height}px;border:1px solid #8884;border-radius:8px;resize:vertical;overflow:auto">'
    "</iframe>"
)


def framed(page: str, title: str, height: int = HEIGHT) -> str:
    """A page as an element of another page."""
    return FRAME.format(page=escape(page, quote=True), title=escape(title, quote=True), height=height)


class Summary(dict[str, Any]):
    """The dict of ``summarize``; notebooks show it as the report."""

    def _repr_html_(self) -> str:
        from widegap.report._html import render

        return framed(render(self), str(self["title"]))


def fitted_view(estimator: Any) -> str:
    """What a fitted estimator has found, as an element for a notebook; empty where that cannot be shown."""
    from widegap.exceptions import NotSupportedError
    from widegap.results._summary import summarize_fit
    from widegap.rows._collections import is_collection

    if is_collection(estimator.labels_):  # counting them would be a pass over the rows
        return ""
    try:
        return Summary(summarize_fit(estimator))._repr_html_()
    except NotSupportedError:  # without jinja2 there is no page
        return ""
