"""What the clusters follow, of the labelings between which the search chose: all columns, or gaps between rows."""

from typing import Any

from widegap._wording import percent, plain

EVENLY = "columns"  # the candidate that follows all columns evenly; the others follow gaps, each in its way
GAPS_ALONE = "gaps"


def followed_kind(estimator: Any, *, weighted: bool = False) -> dict[str, Any] | None:
    """The pool that won, how much of the columns it and the other kind explain, and one sentence; None if none won.

    The other kind is that by gaps where columns won, and that by columns where another did. ``weighted`` tells that the
    user gave the columns weights.
    """
    if hasattr(estimator, "changes_"):  # clusters of an update come from before, not from a choice
        return None
    k = getattr(estimator, "n_clusters_", None)
    found = [candidate for candidate in getattr(estimator, "candidates_", None) or () if candidate.n_clusters == k]
    winner = next((candidate for candidate in found if candidate.chosen), None)
    if winner is None or k == 1:
        return None
    other_pool = GAPS_ALONE if winner.pool == EVENLY else EVENLY
    other = next((candidate.explained_columns for candidate in found if candidate.pool == other_pool), None)
    own = winner.explained_columns
    return {
        "pool": winner.pool,
        "explained_columns": plain(own),
        "other_explained_columns": plain(other),
        "words": _words(winner.pool, own, other, "the columns by your weights" if weighted else "all columns evenly"),
    }


def _words(pool: str, own: float | None, other: float | None, columns: str) -> str:
    if pool != EVENLY:
        return "Clusters follow gaps between rows."
    # Columns may win with the lower share, by another criterion; the two figures would then read like a mistake.
    lower = own is not None and other is not None and other < own
    rival = f", clusters along gaps between rows would explain {percent(other)}" if lower else ""
    share = "" if own is None else f": they explain {percent(own)} of the columns' variance{rival}"
    return f"Clusters follow {columns}{share}."
