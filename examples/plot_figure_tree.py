"""
Figures: which clusters would join
==================================

``plot.tree`` draws how clusters join if there are fewer of them, and says of every split whether it is clear, likely,
or no clearer than within one cloud.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from widegap import MaxMarginClustering, plot

X = load_digits().data
model = MaxMarginClustering("auto", random_state=0).fit(X)
plot.tree(model)
plt.show()
