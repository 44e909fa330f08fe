"""Figures of the tests are drawn without a screen, in matplotlib's own style, and closed."""

import pytest

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra plot")


@pytest.fixture(autouse=True)
def closed_figures():
    from matplotlib import pyplot as plt

    plt.switch_backend("agg")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        yield
    plt.close("all")
