"""A page on which to look at a clustering, change its number of clusters, correct it and re-cluster.

``Workspace`` holds rows, model, corrections and history and knows nothing of pages. ``_answers.py`` has the table of
all that a page may ask; the server (``_server.py``) and the widget of notebooks (``_widget.py``) both answer from it.

It may import anything but cli. Begin with ``_workspace.py``; the page is in ``page/``.
"""

from widegap.explorer._opening import explore
from widegap.explorer._workspace import Workspace

__all__ = ["Workspace", "explore"]
