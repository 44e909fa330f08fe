"""Settings of the documentation: `make docs` builds it in build/docs, offline, with warnings as errors."""

import os
import sys
from pathlib import Path

os.environ["WIDEGAP_DOCS"] = ".."  # models that a page of the gallery shows link to their own pages
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

from widegap import __version__  # noqa: E402

project = "widegap"
author = "the widegap developers"
copyright = "the widegap developers"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "reference_pages",
]
exclude_patterns = ["auto_examples/*.ipynb", "auto_examples/*.py", "auto_examples/*.py.md5"]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 4
html_math_renderer = "mathml"  # drawn by the browser itself: no script, no network

autosummary_generate = True
numpydoc_show_class_members = False
templates_path = ["_templates"]

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "auto_examples",
    "filename_pattern": "/plot_",
    "ignore_pattern": "add_a_loss",
    "abort_on_example_error": True,
    "show_memory": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
}

html_theme = "pydata_sphinx_theme"
html_title = "widegap"
html_static_path = ["_static"]
html_css_files = ["widegap.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "results": []},  # its first screen needs the width
    "footer_start": ["copyright"],
    "footer_end": [],
}
suppress_warnings = ["config.cache"]
