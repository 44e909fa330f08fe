"""Features of rows: kernels and their maps, principal axes, k-means, graphs of neighbours.

It may import rows. Begin with ``_kernels.py`` for a kernel, with ``_neighbours.py`` for a graph.
"""
