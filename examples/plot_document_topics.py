"""
Topics of documents, without the junk
=====================================

``DocumentClustering`` takes raw texts. Here they are docstrings of Python's standard library, which come with every
installation. You can move an unwanted topic to the *universum*, the set of documents that belong to no topic, and fit
again without it.
"""

import matplotlib.pyplot as plt
import numpy as np

from widegap import DocumentClustering
from widegap.datasets import load_docstrings

documents = load_docstrings()
model = DocumentClustering(4, random_state=0).fit(documents.data)
for topic, name in model.topic_names_.items():
    print(f"topic {topic}: {np.sum(model.labels_ == topic):3d} documents, {name}")

# %%
# The terms with the largest weights describe a topic.

figure, axes = plt.subplots(1, 4, figsize=(12, 3.2))
columns = {term: j for j, term in enumerate(model.terms_)}
for ax, (topic, terms) in zip(axes, model.top_terms(8).items(), strict=True):
    weights = [model.term_weights_[topic, columns[term]] for term in terms]
    ax.barh(terms[::-1], weights[::-1], color=f"C{topic}")
    ax.set_title(f"topic {topic}")
plt.tight_layout()
plt.show()

# %%
# Mark one topic as junk and fit again. Its documents get the label -1.

model.refit(universum_labels=[3])
for topic, name in model.topic_names_.items():
    print(f"topic {topic}: {np.sum(model.labels_ == topic):3d} documents, {name}")
print(f"moved to the universum: {np.sum(model.labels_ == -1)} documents")
