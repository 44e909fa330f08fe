"""One fit of an estimator at a time.

A fit stores what it finds in the estimator step by step. A second one of the same object, from another thread or from
the first one's callback, would leave weights of one beside labels of the other; so it is refused before it changes
anything. Two objects never wait for each other: there is no lock, only one step that a dictionary does as a whole.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from widegap.exceptions import ConcurrentFitError

# By the address of the estimator: an attribute would be copied and pickled with it. It lives as long as its fit.
_being_fitted: dict[int, object] = {}
if hasattr(os, "register_at_fork"):  # threads, and the fits in them, do not come along into a forked process
    os.register_at_fork(after_in_child=_being_fitted.clear)


@contextmanager
def one_fit(estimator: object) -> Iterator[None]:
    """For the time of a fit, or of whatever else stores in an estimator; an error if there is another."""
    mine = object()
    try:
        if _being_fitted.setdefault(id(estimator), mine) is not mine:
            name = type(estimator).__name__
            raise ConcurrentFitError(
                f"This {name} is being fitted already, in another thread or by the fit whose callback this is; two "
                "fits would mix their results in one object. Fit sklearn.base.clone(model) in each thread."
            )
        yield
    finally:
        if _being_fitted.get(id(estimator)) is mine:
            del _being_fitted[id(estimator)]
