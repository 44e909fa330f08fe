"""Choosing the number of clusters of any clusterer without labels.

It may import the methods, but nothing that shows results. Begin with ``_cluster_numbers.py``; ``_trials.py`` draws what
every setting is tried on. ``_kernel_lists.py``, the same for kernels, is deprecated.
"""

from importlib import import_module

from widegap._warnings import warn_caller
from widegap.selection._cluster_numbers import ClusterNumberRecord, compare_cluster_numbers

__all__ = ["ClusterNumberRecord", "compare_cluster_numbers"]

# Names that go with version 0.3, and what they are called in ``_kernel_lists.py``.
_DEPRECATED = {
    "CANDIDATES": "KERNEL_LISTS",
    "CRITERIA": "CRITERIA",
    "KernelRecord": "KernelRecord",
    "choose_kernels": "choose_kernels",
    "sort_records": "sort_records",
}


def __getattr__(name: str) -> object:
    """A deprecated name, with a warning."""
    if name not in _DEPRECATED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn_caller(
        f"widegap.selection.{name} goes with version 0.3: no criterion chose kernels reliably better than the default "
        "ones. Compare MKC's objective_ on the rows and on shuffled columns, as in examples/plot_compare_kernels.py.",
        FutureWarning,
    )
    return getattr(import_module("widegap.selection._kernel_lists"), _DEPRECATED[name])
