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


class NotSupportedError(WidegapError, NotImplementedError):
    """A legal-looking request that this version does not serve, with the alternative in the message."""


class ColumnWarning(UserWarning):
    """Rows hold something else than the column that a table was fitted with: see its message."""


class InactiveUniversumWarning(UserWarning):
    """A universum was given that leaves the clustering as it would be without."""


class KernelWarning(UserWarning):
    """A kernel was mended, left out, or weighs much for a reason that is not the data's: see its message."""


class NoStructureWarning(UserWarning):
    """The clusters are no further apart than those of rows without structure."""


class StarvedClusterWarning(UserWarning):
    """A cluster is as small as it may get, or should be smaller: the bound on sizes decided some of its members."""
