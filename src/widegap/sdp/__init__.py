"""Semidefinite relaxations, the ancestors of the other methods: MMC and GMMC.

It may import rows, features, base, constraints, and the QP of cutting_plane. Begin with ``_mmc.py``: the program, the
proof of its answer, and the estimator; ``_gmmc.py`` has the same plan, and ``_semidefinite.py`` what both share.
"""
