"""
Figures: clusters and classes
=============================

``plot.confusion`` counts the rows of every cluster in every class, where classes are known and were not used.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from widegap import MaxMarginClustering, plot

X, y = load_digits(return_X_y=True)
model = MaxMarginClustering(10, random_state=0).fit(X)
plot.confusion(model, y)
plt.show()
