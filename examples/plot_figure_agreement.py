"""
Figures: how sure every row is
==============================

``plot.agreement`` shows how much the searches agree on the rows of every cluster, the surest row first.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from widegap import MaxMarginClustering, plot

X = load_digits().data
model = MaxMarginClustering(10, random_state=0).fit(X)
plot.agreement(model)
plt.show()
