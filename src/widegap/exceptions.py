"""Errors that widegap raises itself, and its warnings: each message gives the value, the rule and the remedy."""


class WidegapError(Exception):
    """Base of all errors that are widegap's own."""


class InvalidDataError(WidegapError, ValueError):
    """The data cannot be clustered as they are: NaN, too few rows, all rows equal, unreadable shards."""


class InfeasibleBalanceError(WidegapError, ValueError):
    """No labeling of the rows can satisfy the requested cluster sizes."""


class SolverError(WidegapError, RuntimeError):
    """A numerical solver returned no answer that passes its own check."""


class ClusterLostError(WidegapError, RuntimeError):
    """The Dask cluster that holds the rows of a fit went away."""


class ConcurrentFitError(WidegapError, RuntimeError):
    """An estimator is being fitted already."""


class NotSupportedError(WidegapError, NotImplementedError):
    """A request that this version does not support; the message gives an alternative."""


class ColumnWarning(UserWarning):
    """A column holds other values than those it was fitted with, many gaps, or numbers that may mean one."""


class InactiveUniversumWarning(UserWarning):
    """The universum has no influence on the clustering."""


class KernelWarning(UserWarning):
    """A kernel was corrected or left out, or its weight does not come from the data: see the message."""


class NoStructureWarning(UserWarning):
    """The clusters are no further apart than those of rows without structure."""


class StarvedClusterWarning(UserWarning):
    """A cluster has the least size allowed, so the bound on sizes decided some of its members."""
