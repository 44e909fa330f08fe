"""
Known labels in a grid search
=============================

A few known labels serve twice: those of the training folds guide the fit, and those of the test fold, which the fit has
not seen, say how well it went. Metadata routing brings ``known`` through the pipeline to the clusterer.
"""

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from widegap import MaxMarginClustering

X, digits = load_digits(n_class=5, return_X_y=True)
known = np.where(np.random.default_rng(0).random(len(X)) < 0.1, digits, -1)

# %%
# The score compares clusters of rows with a known label. As ``y`` these labels reach the score alone.


def agreement(model, X, y):
    return adjusted_rand_score(y[y >= 0], model.predict(X)[y >= 0])


with sklearn.config_context(enable_metadata_routing=True):
    clusterer = MaxMarginClustering(5, random_state=0).set_fit_request(known=True)
    grid = {"maxmarginclustering__search": ["agree", "merge", "moves"]}
    search = GridSearchCV(make_pipeline(MinMaxScaler(), clusterer), grid, scoring=agreement, cv=3)
    search.fit(X, known, known=known)

names, scores = grid["maxmarginclustering__search"], search.cv_results_["mean_test_score"]
for name, score in zip(names, scores, strict=True):
    print(f"{name}: {score:.2f}")

figure, ax = plt.subplots(figsize=(5, 3))
ax.bar(names, scores, color="0.6")
ax.set_xlabel("search")
ax.set_ylabel("agreement with labels not seen")
plt.tight_layout()
plt.show()
