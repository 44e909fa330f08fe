"""What every estimator is made of: ``Clusterer``, checks of parameters and rows, records of a search, starts.

It may import rows and features, whose blocks and kernel maps every fit uses. Begin with ``_clusterer.py``: the one
``fit`` and its steps.
"""
