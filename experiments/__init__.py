"""The papers' experiments: data sets, methods and one neutral judge; every figure on a page comes from a results file.

A *cell* is one method on one data set under one setting, over several seeds. ``runner`` measures cells and appends
them to ``results.jsonl``; ``tables`` says which cells a table or figure is made of and how it looks; ``page`` writes
``docs/results.md`` and the pages in ``docs/results`` from stored cells alone.
"""
