"""Models that live: what a fit remembers, how new rows change its clusters, and what is reported.

``update`` of an estimator looks at *joint* rows: the new ones first, then those that the model remembers. The method
searches them again, and this slice keeps the identity of clusters. It may import rows, features, base and constraints,
no method. Begin with ``_updatable.py``, which has the steps of an update.
"""
