"""How rows arrive: in memory, memory-mapped, sparse, or in files."""

from widegap.data._blocks import RowBlocks
from widegap.data._sources import shards

__all__ = ["RowBlocks", "shards"]
