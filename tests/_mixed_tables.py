"""Drawn tables with categories: segments of customers, and tables whose columns have nothing to do with each other."""

import numpy as np
import pandas as pd


def customers(n=600, seed=0):
    """A frame with three segments that differ in every column, and the segments."""
    rng = np.random.default_rng(seed)
    segment = rng.integers(0, 3, n)
    odds = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]
    frame = pd.DataFrame(
        {
            "spend": np.array([50.0, 200.0, 120.0])[segment] + rng.normal(0, 25, n),
            "visits": np.minimum(rng.poisson(np.array([1, 5, 11])[segment]), 11),
            "channel": _drawn(["shop", "web", "phone"], odds, segment, rng),
            "member": np.where(rng.random(n) < np.array([0.1, 0.5, 0.9])[segment], "yes", "no"),
        }
    )  # fmt: skip
    return frame, segment


def _drawn(levels, odds, segment, rng):
    """A level for each row, by the odds of its segment."""
    ends = np.cumsum(odds, axis=1)[segment]
    return np.array(levels)[(rng.random(len(segment))[:, None] > ends).sum(axis=1)]


def shuffled(frame, seed=0):
    """The frame with the values of every column shuffled on their own."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: frame[name].to_numpy()[rng.permutation(len(frame))] for name in frame})
