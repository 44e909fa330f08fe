"""Reports: a fitted clustering -> a dict of plain values -> one HTML file that needs no network.

``summarize`` makes the dict, ``render`` the page. Charts are hand-written SVG with a few kilobytes of plain JavaScript
for hover, filter and zoom, because of size: style sheet and script together take 26 kB of every page, where
``bokeh.min.js`` would take 1.3 MB and ``plotly.min.js`` 4.8 MB. The SVG shows without any script, and prints.

It may import anything but explorer, cli and what stands above them. Begin with ``_html.py``; the dict
is made in results.
"""

from widegap.report._html import render
from widegap.report._summarize import summarize
from widegap.results._summary import SCHEMA

__all__ = ["SCHEMA", "render", "summarize"]
