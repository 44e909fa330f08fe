"""Every compiled pass over rows, dense and CSR; loops that only one method uses stand beside it.

It may import nothing but ``_jit``. Begin with ``_passes.py``.
"""
