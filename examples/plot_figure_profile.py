"""
Figures: how clusters differ
============================

``plot.profile`` shows the columns in which clusters differ most, in the units of the table.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, load_wine

from widegap import MaxMarginClustering, plot

X = load_wine(as_frame=True).data
model = MaxMarginClustering(3, random_state=0).fit(X)
plot.profile(model, X)
plt.show()

# %%
# Where the columns are pixels, it shows the mean picture of every cluster.

X = load_digits().data
plot.profile(MaxMarginClustering(10, random_state=0).fit(X), X)
plt.show()
