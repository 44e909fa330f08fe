"""Corrections by people: one log of events, the constraints that follow from it, and what a model file stores.

Begin with ``_corrections.py``: every correction is one class, with the fields that it stores, the check of a request,
the constraints that it adds and the words for it. ``_actions.py`` holds everything else that people do, ``_events.py``
the log with undo and redo, ``_constraints.py`` what all corrections together mean for ``fit``, ``_parts.py`` how a
cluster is split, and ``_stored_log.py`` the log in the model file, which ``widegap refine`` and ``widegap explore``
replay alike.

This slice knows neither pages nor the command line; it may import anything but results and what stands above them.
"""
