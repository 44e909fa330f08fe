"""What is known beforehand: labels, links, sizes, weights; read, checked and kept; outliers; questions.

It may import rows, features and base. Begin with ``_units.py``, how labels and links are read, and ``_label_rules.py``,
how they are kept.
"""
