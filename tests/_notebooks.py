"""Python as it runs behind a notebook, without one."""

import sys
import types

import pytest


def as_in_a_notebook(monkeypatch):
    """Let it look as if a kernel were running this."""
    pytest.importorskip("anywidget", reason="needs the extra notebook")
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
