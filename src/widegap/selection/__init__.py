"""Choosing without labels: the number of clusters of any clusterer, and the kernels of MKC.

It may import the methods, but nothing that shows results. Begin with ``_cluster_numbers.py``.
"""

from widegap.selection._cluster_numbers import ClusterNumberRecord, compare_cluster_numbers
from widegap.selection._kernel_lists import CANDIDATES, CRITERIA, KernelRecord, choose_kernels, sort_records

__all__ = [
    "CANDIDATES",
    "CRITERIA",
    "ClusterNumberRecord",
    "KernelRecord",
    "choose_kernels",
    "compare_cluster_numbers",
    "sort_records",
]
