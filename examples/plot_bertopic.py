"""
widegap as the clusterer of BERTopic
====================================

BERTopic takes any clusterer with ``fit`` and ``labels_``. If ``bertopic`` is not installed, this example runs the
clusterer alone. The embeddings come from latent semantic analysis, so nothing needs to be downloaded.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from widegap import MaxMarginClustering
from widegap.datasets import load_docstrings

documents = load_docstrings().data
embed = make_pipeline(TfidfVectorizer(stop_words="english", min_df=3), TruncatedSVD(50, random_state=0), Normalizer())
embeddings = embed.fit_transform(documents)
clusterer = MaxMarginClustering(6, random_state=0)

# %%
# BERTopic calls any clusterer ``hdbscan_model``. ``BaseDimensionalityReduction`` leaves the embeddings unchanged.

try:
    from bertopic import BERTopic
    from bertopic.dimensionality import BaseDimensionalityReduction
except ImportError:
    print("bertopic is not installed, so the clusterer runs alone")
    topics = clusterer.fit_predict(embeddings)
else:
    model = BERTopic(hdbscan_model=clusterer, umap_model=BaseDimensionalityReduction(), embedding_model=None)
    topics, _ = model.fit_transform(documents, embeddings)
    print(model.get_topic_info()[["Topic", "Count", "Name"]])

figure, ax = plt.subplots(figsize=(5, 3))
ax.bar(*np.unique(topics, return_counts=True), color="0.6")
ax.set_xlabel("topic")
ax.set_ylabel("documents")
plt.tight_layout()
plt.show()
