"""Large margins by cutting planes: losses, cuts, the QP and CCCP; CPM3C, M2DCU and MKC.

It may import rows, features, base and constraints. Begin with ``_problem.py``, the maths of the master problem, then
``_cutting_plane_clusterer.py``.
"""
