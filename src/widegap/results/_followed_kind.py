"""What the clusters follow, of the labelings between which the search chose: all columns evenly, or gaps."""

from typing import Any

from widegap._wording import percent, plain

EVENLY = "columns"  # the candidate that follows all columns evenly; the others follow gaps, each in its way
GAPS_ALONE = "gaps"


def followed_kind(estimator: Any) -> dict[str, Any] | None:
    """The pool that won, how much of the columns it and the other kind explain, and one sentence; None if none won.

    The other kind is that by gaps where columns won, and that by columns where another did.
    """
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
        "words": _words(winner.pool, own, other),
    }


def _words(pool: str, own: float | None, other: float | None) -> str:
    if pool != EVENLY:
        return "Clusters follow gaps."
    # Columns may win with the lower share, by another criterion; the two figures would then read like a mistake.
    rival = f"; following gaps {percent(other)}" if own is not None and other is not None and other < own else ""
    share = "" if own is None else f" (they explain {percent(own)} of them{rival})"
    return f"Clusters follow all columns evenly{share}."
