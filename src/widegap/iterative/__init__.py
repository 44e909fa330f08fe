"""Machines and labels in turn: IterSVM, IterSVR, IterLSSVM, and the regions of segmented images.

It may import rows, features, base and constraints. Begin with ``_alternation.py``, the turns between a machine and
labels. ``_svm.py`` and ``_threshold.py`` are its two steps, ``_bisection.py`` its start and its tree,
``_iterative_clusterer.py`` the fit, and ``_iterative.py`` the three methods.
"""
