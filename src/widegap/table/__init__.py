"""Tables of every kind as numbers: reading values, deciding columns, explaining what was decided.

:func:`read_table` reads a file, :class:`TableEncoder` turns a table into numbers.
"""

from widegap.table._encoder import TableEncoder
from widegap.table._reading import Table, read_table

__all__ = ["Table", "TableEncoder", "read_table"]
