"""Every compiled pass over rows, dense and CSR; a loop that only one method uses is in the folder of that method.

It may import nothing but ``_jit`` and ``_types``. Begin with ``_passes.py``.
"""
