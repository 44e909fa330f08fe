"""The command line: parses, calls, prints; no maths.

It may import anything. Begin with ``_app.py``, the list of commands; a command is one module.
"""
