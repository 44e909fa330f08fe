"""Real documents: what the paper's universum brings to M2DCU; ``docs/universum.md`` has all collections and ways."""

import numpy as np
import pytest
from experiments.texts import COLLECTIONS, latent_rows
from experiments.universum import candidates

from _data import requires_data
from widegap import M2DCU, universum
from widegap.metrics import clustering_accuracy


@pytest.mark.slow
@requires_data
@pytest.mark.parametrize(("name", "least"), [("rec4", 4.0), ("RCV1-4", 0.0)])
def test_mean_gain_of_the_selected_universum(name, least):
    """Measured over seeds 0-4: 5.5 points on rec4 and 2.6 on RCV1-4 (20news-4 loses 1.7)."""
    collection = COLLECTIONS[name]()
    X, rest = latent_rows(collection)
    k, gains = collection.n_classes, []
    for seed in range(5):
        chosen = universum.select(candidates(X, rest, k, seed), X, k, random_state=seed)
        models = [
            M2DCU(k, C_universum=0, random_state=seed).fit(X),
            M2DCU(k, random_state=seed).fit(X, universum=chosen),
        ]
        without, with_it = (100 * clustering_accuracy(collection.classes, model.labels_) for model in models)
        gains.append(with_it - without)
    assert np.mean(gains) >= least
