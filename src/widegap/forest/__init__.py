"""Many trees of merged groups and what they agree on: MaxMarginClustering.

It may import rows, features, base and constraints. Begin with ``_merge_search.py``, the plan of the search;
``_linkage.py`` has the rules by which groups merge.
"""
