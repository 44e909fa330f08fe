"""From texts to terms to topics: DocumentClustering.

It may import rows, features, base, constraints, cutting_plane and forest. Begin with ``_reader.py`` for words, with
``_topic_search.py`` for the search.
"""
