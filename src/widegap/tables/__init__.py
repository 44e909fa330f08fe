"""Tables of every kind as numbers: reading values, deciding columns, explaining what was decided.

:func:`read_table` reads a file, :class:`TableEncoder` turns a table into numbers.

It may import rows, features and base. Begin with ``_reading.py`` for a file format, with ``_encoder.py`` for columns.
"""

from importlib.util import find_spec

from widegap.exceptions import NotSupportedError

if find_spec("pyarrow") is None:
    raise NotSupportedError("Tables need pyarrow, which is not installed: pip install 'widegap[table]'.")

from widegap.tables._encoder import TableEncoder  # noqa: E402
from widegap.tables._reading import Table, read_table  # noqa: E402

__all__ = ["Table", "TableEncoder", "read_table"]
