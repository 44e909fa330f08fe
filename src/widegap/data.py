"""Deprecated: ``RowBlocks`` and ``shards`` are in :mod:`widegap.rows`."""

import warnings

from widegap.rows import RowBlocks, shards

__all__ = ["RowBlocks", "shards"]

warnings.warn("widegap.data is now widegap.rows; the old name goes with version 0.3.", FutureWarning, stacklevel=2)
