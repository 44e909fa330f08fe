"""Machines and labels in turn: IterSVM, IterSVR, IterLSSVM, and the regions of segmented images.

It may import rows, features, base and constraints. Begin with ``_alternation.py``.
"""
