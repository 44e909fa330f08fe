"""Fitted models as files that other programs run: a Python file, an ONNX graph, an SQL statement.

A model is first read as a ``ScoringPlan``: plain arrays and numbers, from rows to scores. Each format writes that plan.

It may import the methods, persistence and tables, but nothing that shows results. Begin with ``_scoring_plan.py``; what
a format needs of a table's columns is in ``_column_plan.py``.
"""

from widegap.exporting._writing_models import export

__all__ = ["export"]
