"""scikit-learn's callbacks: taken where scikit-learn has them, from 1.9 on; estimators work without elsewhere.

A fit is one task, and every record of the search is a step of it. scikit-learn's callbacks get tasks, ``callback=`` of
our own estimators gets the records themselves.
"""

from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

from widegap.base._records import asks_to_stop

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:
    Method = TypeVar("Method", bound=Callable[..., Any])

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """scikit-learn before 1.9 has no callbacks to take."""

    def with_callbacks(method: Method) -> Method:
        """The method as it is."""
        return method


# What scikit-learn keeps in an estimator that has callbacks: it belongs to no model file.
OF_CALLBACKS = frozenset({"_skl_callbacks", "_parent_callback_ctx", "_callback_fit_ctx", "_skl_callbacks_to_teardown"})


def begin_fit_task(estimator: Any, X: Any, most_steps: int | None) -> None:
    """Tell the callbacks, if there are any, that a fit begins: of ``most_steps`` at most, None if that is not known.

    The method that calls it must be decorated by ``with_callbacks``, which ends them whatever happens.
    """
    if hasattr(estimator, "_skl_callbacks"):
        context = estimator._init_callback_context(max_subtasks=most_steps)
        context.call_on_fit_task_begin(estimator=estimator, X=X)


def end_fit_task(estimator: Any, X: Any) -> None:
    """Tell the callbacks that the fit is done; those that ask for it get a fitted copy of the estimator."""
    if (context := getattr(estimator, "_callback_fit_ctx", None)) is not None:
        context.call_on_fit_task_end(estimator=estimator, X=X, reconstruction_attributes={})


def with_steps(estimator: Any, callback: Callable[[Any], object] | None) -> Callable[[Any], object] | None:
    """A callback for records that also makes each of them a step of the fit's task, where there is one."""
    context = getattr(estimator, "_callback_fit_ctx", None)
    if context is None:
        return callback

    numbers = count(1)

    def note(record: object) -> bool:
        if context.max_subtasks is not None:  # a search that makes more records than it expected must not fail
            context.max_subtasks = max(context.max_subtasks, next(numbers))
        step = context.subcontext(task_name=type(record).__name__.removesuffix("Record").lower())
        stops = step.call_on_fit_task_begin(estimator=estimator).call_on_fit_task_end(estimator=estimator)
        return stops | asks_to_stop(None if callback is None else callback(record))

    return note
