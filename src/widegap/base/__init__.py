"""What all estimators share: ``Clusterer``, checks of parameters and rows, records of a search, starts.

It may import rows and features, whose blocks and kernel maps every fit uses. Begin with ``_clusterer.py``: ``fit`` and
its steps.
"""
