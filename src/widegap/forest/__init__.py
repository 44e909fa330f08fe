"""Many trees of merged groups and what they agree on: MaxMarginClustering.

It may import rows, features, base and constraints. Begin with ``_max_margin.py``, the estimator: it prepares rows
(``_row_preparation.py``), calls a search (``_forest_search.py``, ``_moves_search.py``), and stores its result
(``_search_result.py``). ``_merge_search.py`` has the members of a search, ``_linkage.py`` the rules by which groups
merge, ``_pools.py`` what members agree on, ``_choice.py`` which labeling is taken.
"""
