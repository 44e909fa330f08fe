"""What rows become before they are clustered: kernels and their maps, principal axes, neighbours.

It may import rows. Begin with ``_kernels.py`` for a kernel, with ``_neighbours.py`` for a graph.
"""
