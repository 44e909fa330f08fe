"""What MKC reads: one table for all kernels, or views by name, of which each kernel looks at one."""

from collections.abc import Mapping
from typing import Any

from widegap.base._clusterer import Clusterer
from widegap.base._validation import check_rows, check_threads, check_views
from widegap.exceptions import InvalidDataError
from widegap.features._kernel_rows import is_views
from widegap.features._kernel_specs import KernelSpec, TableColumns, raw_views, read_specs
from widegap.features._kernel_stack import KernelStack
from widegap.rows._protocols import Rows


def read_views(estimator: Clusterer, views: Mapping[str, Any], kernels: Any) -> tuple[dict[str, Any], list[KernelSpec]]:
    """The views that the kernels look at, checked, and where each of them looks."""
    specs = read_specs(kernels, list(views))
    for name in ("n_features_in_", "feature_names_in_", "_rows_digest"):
        vars(estimator).pop(name, None)  # of an earlier fit on a table
    used = {spec.source: views[spec.source] for spec in specs}
    return check_views(used, raw_views((spec.source, spec.is_transformer) for spec in specs)), specs


def read_table(estimator: Clusterer, X: Any, kernels: Any) -> tuple[Rows, list[KernelSpec]]:
    """The checked rows of a table, and where each kernel looks in it."""
    rows = check_rows(estimator, X, reset=True, n_threads=check_threads(estimator.n_jobs))
    return rows, read_specs(kernels, TableColumns(rows.shape[1], getattr(estimator, "feature_names_in_", None)))


def check_form(estimator: Clusterer, X: Any, has_views: bool) -> None:
    """Refuse a table of new rows where views were fitted, and the other way round."""
    if is_views(X) != has_views:
        raise InvalidDataError(
            f"{type(estimator).__name__} was fitted on {'a dict of views' if has_views else 'one table'}; "
            "pass new rows in the same form."
        )


def read_new_views(stack: KernelStack, views: Mapping[str, Any]) -> dict[str, Any]:
    """Views of new rows, checked against those that the kernels were fitted on."""
    uses = [(kernel.source, kernel.transformer is not None) for kernel in stack.kernels]
    used = {name: view for name, view in views.items() if name in dict(uses)}
    checked = check_views(used, raw_views(uses))
    stack.check_views(checked)
    return checked
