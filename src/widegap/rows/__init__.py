"""How methods read rows: from memory, memory maps, sparse matrices, files or Dask; blocks, states and checkpoints.

It may import only the ground modules ``_types``, ``_jit``, ``_atomic`` and ``exceptions``. Begin with ``_blocks.py``:
all passes over rows go through it.
"""

from widegap.rows._blocks import RowBlocks
from widegap.rows._sources import shards

__all__ = ["RowBlocks", "shards"]
