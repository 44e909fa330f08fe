"""Figures of a fitted clustering, one function each: matplotlib Axes in, or none, and Axes out.

They have the colours and the names of the report, and the map is the same as in the report and the explorer. They need
matplotlib: ``pip install 'widegap[plot]'``.

It may import anything but explorer, cli and what stands above them. Begin with ``_shown_clusters.py``, which
says what every figure calls the clusters; each figure has a module of its own.
"""

from widegap.plot._agreement_figure import agreement
from widegap.plot._confusion_figure import confusion
from widegap.plot._map_figure import map
from widegap.plot._number_figure import numbers
from widegap.plot._profile_figure import profile
from widegap.plot._tree_figure import tree

__all__ = ["agreement", "confusion", "map", "numbers", "profile", "tree"]
