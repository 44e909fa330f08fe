"""Topics of which a few labels are known: DocumentClustering, judged on the documents without a label."""

import numpy as np

from experiments.cells import Outcome, RefusedError, Task, method
from experiments.say_methods import known_labels
from widegap import DocumentClustering
from widegap.metrics import clustering_accuracy


@method("known topics")
def known_topics(task: Task, seed: int, budget: int) -> Outcome:
    """As many labels of every class, drawn by the seed; "named" by them, and "matched" one to one to the classes."""
    documents = task.counts if task.documents is None else task.documents
    if documents is None:
        raise RefusedError("needs documents or weights of terms")
    known = known_labels(task.y, budget, seed)
    model = DocumentClustering(task.n_clusters, random_state=seed).fit(documents, known=known)
    judged = np.array([label is None for label in known])
    classes, labels = task.y[judged], model.labels_[judged]
    names = [model.classes_[topic] if topic >= 0 else None for topic in labels]
    named = float(np.mean([name == of for name, of in zip(names, classes.tolist(), strict=True)]))
    shares = {"named": named, "matched": float(clustering_accuracy(classes, labels))}
    return Outcome(model.labels_, {name: round(100 * share, 3) for name, share in shares.items()})
