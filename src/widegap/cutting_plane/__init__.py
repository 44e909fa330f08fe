"""Large margins by cutting planes: losses, cuts, the QP and CCCP; CPM3C, M2DCU and MKC.

It may import rows, features, base and constraints. Begin with ``_problem.py``, the maths of the master problem, then
``_cutting_plane_clusterer.py``, the plan of a fit. A method is one file (``_cpm3c.py``, ``_m2dcu.py``, ``_mkc.py``), a
loss another (``_hinge.py``, ``_universum_loss.py``; ``_score_loss.py`` for a new one). ``_cccp.py`` finds
labels, ``_cutting_plane.py`` solves for fixed labels, and the masters are ``_qp.py`` for one kernel and
``_kernel_weights.py`` for several.
"""
