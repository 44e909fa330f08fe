"""What a reader should know before trusting a clustering."""

from typing import Any

from widegap._wording import counted, percent
from widegap.results._deciding_columns import followed_column

TINY_SHARE = 0.02  # of the rows with up to ten clusters, less with more; not tuned
WITHOUT_IT = "a result without this column"  # the remedy, where there is no option to name
DOUBT_SHARE = 0.05  # of the rows; below it a few rows on the boundary are no caution
LEAVES = 1.1  # MaxMarginClustering treats starts as equally good up to this much more left unexplained


def plain_warnings(estimator: Any, summary: dict[str, Any]) -> list[str]:
    """One sentence or two for each problem."""
    found = [*_about_columns(summary), *_about_fit(estimator), *_about_starts(summary), *_about_clusters(summary)]
    universum = summary["universum"]
    if universum is not None and not universum["active"]:
        found.append("The universum changed nothing: its rows already lay between the clusters.")
    shown = summary["map"]
    if shown is not None and shown["shown"] < shown["total"]:
        found.append(
            f"The map shows a sample of {shown['shown']:,} of {shown['total']:,} {summary['unit']}s, with small "
            "clusters somewhat favoured; all other figures count every one."
        )
    return found


def follows(column: str, share: float, remedy: str) -> str:
    """The caution that one column almost determines the clusters."""
    return f"Clusters follow {column!r} ({percent(share)}). Compare with {remedy}."


def _about_columns(summary: dict[str, Any]) -> list[str]:
    found = followed_column(summary["decided"]) if summary["fitted"] else None
    return [] if found is None else [follows(found["column"], found["share"], WITHOUT_IT)]


def _about_fit(estimator: Any) -> list[str]:
    found = []
    if not getattr(estimator, "converged_", True):
        found.append("The search stopped before it converged: a longer run may change the clusters.")
    if getattr(estimator, "cycled_", False):
        found.append("The search cycled between a few results; the best of them was kept.")
    if getattr(estimator, "starved_", False):
        found.append(
            "A cluster is as small as the settings allow, or would be smaller: the limit on cluster sizes decided some "
            "members, not the margin. Fewer clusters, or a lower limit, may describe the data better."
        )
    return found


def _about_starts(summary: dict[str, Any]) -> list[str]:
    starts = (summary["search"] or {}).get("starts", ())
    reached = [start["objective"] for start in starts if start["objective"] is not None]
    if len(reached) < 3 or summary["objective"] is None:
        return []
    unexplained = [summary["n_clusters"] - 1 - value for value in reached]
    reached_best = sum(value <= LEAVES * min(unexplained) for value in unexplained)
    if reached_best > 1:
        return []
    return [f"Only one of {len(reached)} starts reached the best result: another seed may find different clusters."]


def _about_clusters(summary: dict[str, Any]) -> list[str]:
    found = []
    unit, clusters = summary["unit"], summary["clusters"]
    group = "topic" if unit == "document" else "cluster"
    tiny = [cluster for cluster in clusters if cluster["share"] < TINY_SHARE / max(1, len(clusters) / 10)]
    if tiny and summary["fitted"]:
        names = ", ".join(f"{c['name']} ({c['size']:,})" for c in tiny[:5])
        found.append(f"Very small: {names}. They may be outliers rather than groups.")
    negative = sum(cluster["margin"]["negative"] for cluster in clusters if cluster["margin"])
    if negative > DOUBT_SHARE * summary["n_rows"]:
        found.append(
            f"{negative:,} of {counted(summary['n_rows'], unit)} score higher for another {group} than for their own "
            "(a limit on sizes, or their neighbours, placed them)."
        )
    n = summary["unassigned"]
    if n:
        outliers, terms = ("an outlier", "it holds") if n == 1 else ("outliers", "they hold")
        why = f"{terms} no term in use" if unit == "document" else outliers
        found.append(f"{counted(n, unit)} {'belongs' if n == 1 else 'belong'} to no {group} ({why}).")
    return found
