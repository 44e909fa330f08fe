"""One result: a fitted model, its rows as encoded and as read, names and corrections, and all that users see of them.

:class:`Result` gives the user's table with the clusters (``frame``), the dict that reports show (``summary``) and the
model file (``save``, ``open``). ``_input_rows.py`` has the rows: of a table, documents, or plain arrays;
``_large_files.py`` those of files that are not read whole, and ``_large_result.py`` their result. ``_summary.py``
makes the dict, column by column from ``_profile.py``; ``_names.py`` words the names of clusters.

It may import anything but report and what stands above it. Begin with ``_result.py``.
"""

from widegap.results._input_rows import DocumentRows, EncodedRows, InputRows, PlainRows
from widegap.results._result import Corrections, Result

__all__ = ["Corrections", "DocumentRows", "InputRows", "PlainRows", "Result", "EncodedRows"]
