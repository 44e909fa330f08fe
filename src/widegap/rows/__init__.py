"""How rows arrive: in memory, memory-mapped, sparse, in files or on Dask; blocks, their state, checkpoints.

It may import only ``_jit``, ``_atomic`` and exceptions. Begin with ``_blocks.py``: all passes over rows go through it.
"""

from widegap.rows._blocks import RowBlocks
from widegap.rows._sources import shards

__all__ = ["RowBlocks", "shards"]
