"""Semidefinite relaxations, the ancestors of the other methods: MMC and GMMC.

It may import rows, features, base, constraints, and the QP of cutting_plane. Begin with ``_mmc_relaxation.py``.
"""
