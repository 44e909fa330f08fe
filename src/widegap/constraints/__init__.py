"""Constraints: known labels, links, sizes and weights, read, checked and kept; outliers; questions.

It may import rows, features and base. Begin with ``_side_information.py``, how the arguments of ``fit`` are read;
``_label_rules.py`` has how labels keep constraints, ``_taking_part.py`` which rows take part in a fit.
"""
