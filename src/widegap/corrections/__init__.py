"""Corrections by people: one log of events, what follows from it for a fit, and what a model file keeps of it.

Begin with ``_corrections.py``: every correction is one class, with the fields that it stores, how they are checked, the
constraints that it means and the words for it; ``_actions.py`` has what else people do. ``_events.py`` is the log with
undo and redo, ``_units.py`` what all corrections together mean for ``fit``, ``_fixed.py`` what lies in the model
file and is read by ``widegap refine`` and ``widegap explore`` alike. This part knows nothing of pages or of the command
line.

It may import anything but results and what stands above them. Begin with ``_actions.py``: a correction is one class.
"""
