"""How many clusters there are by the strengths of several numbers, how sure that is, and what to do if it is not."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from widegap._wording import counted, plain
from widegap.forest._cluster_number import ClusterNumberChoice
from widegap.forest._number_search import MOST_COMPARED_CLUSTERS

NEEDED = 1.0  # strength above which a number is taken
# Of 1324 drawn tables the number was right in 97 % of those beyond the first, and in 43 % of those below the second.
CLEARLY, CLOSE = 0.8, 0.3  # distance of the strengths from what is needed
HOW_SURE = {"clear": "The number is clear.", "likely": "The number is likely.", "close": "It is a close call."}
FEWEST_BARS = 24  # numbers of clusters below one another's ticks; more are hard to read
LEAST_ROWS = 10  # not tuned: of fewer, one row more or less changes which groups there are
EQUAL_ROWS = "One cluster: all rows are equal, or too few to tell groups apart."


def number_found(estimator: Any) -> dict[str, Any] | None:
    """The number that "auto" chose, the scores of all numbers, and what they mean; None if the number was given.

    Of fewer than ``LEAST_ROWS`` rows nothing is claimed: "sure" is None.
    """
    if hasattr(estimator, "changes_"):  # clusters of an update come from before, not from a choice
        return None
    if getattr(estimator, "n_clusters", None) != "auto":
        return None
    scores = [
        {key: plain(value) for key, value in asdict(score).items()}
        for score in getattr(estimator, "n_clusters_scores_", ())
    ]
    chosen, choice = int(estimator.n_clusters_), getattr(estimator, "n_clusters_choice_", None)
    found = {"chosen": chosen, "most": MOST_COMPARED_CLUSTERS, "needed": NEEDED, "scores": scores}
    if len(estimator.labels_) < LEAST_ROWS:
        return {**found, "sure": None, "words": _too_few(chosen, estimator), "choice": None}
    if choice is None:
        return {**found, **_without_choice(chosen, older=bool(scores))}
    return {**found, **explained_choice(choice, chosen)}


def shown_scores(number: dict[str, Any]) -> list[dict[str, Any]]:
    """The scores that are drawn: a few numbers beyond the chosen one, and at least ``FEWEST_BARS``."""
    most = max(FEWEST_BARS + 1, number["chosen"] + 5)
    return [score for score in number["scores"] if score["n_clusters"] <= most]


def _too_few(chosen: int, estimator: Any) -> str:
    rows = counted(len(estimator.labels_), "document" if hasattr(estimator, "topic_names_") else "row")
    number = counted(chosen, "cluster")
    return f"{number}: {rows} are too few to tell how many there are; at least {LEAST_ROWS} are needed."


def explained_choice(choice: ClusterNumberChoice, chosen: int | None = None) -> dict[str, Any]:
    """How sure a choice is ("clear", "likely" or "close"), why, in words, and the choice itself.

    ``chosen`` is the number of clusters of the fit, where constraints asked for more than the rows did.
    """
    sure = how_sure(choice)
    words = f"{choice.sentence()} {HOW_SURE[sure]}{_advice(choice, sure)}"
    if chosen is not None and chosen != choice.n_clusters:
        asked = "as known labels, links or sizes ask for"
        words = f"{counted(chosen, 'cluster')}, {asked}. By the rows alone: {words}"
    shown = {key: plain(value) for key, value in asdict(choice).items()}
    return {"sure": sure, "words": words, "choice": {**shown, "nearly": choice.nearly, "sentence": choice.sentence()}}


def how_sure(choice: ClusterNumberChoice) -> str:
    """ "clear", "likely" or "close": by how far the strengths are from what is needed."""
    distance = NEEDED - choice.rejected_strength
    if choice.n_clusters > 1:
        distance = min(distance, choice.strength - NEEDED)
    return "clear" if distance >= CLEARLY else "likely" if distance >= CLOSE else "close"


def choice_among(strengths: Mapping[int, float], *, by_columns: bool = False) -> ClusterNumberChoice:
    """The choice between some numbers of clusters by their strengths alone, which do not tell a continuum."""
    chosen = max((k for k in strengths if strengths[k] > NEEDED), default=1)
    rejected = max((k for k in strengths if k > chosen), key=strengths.__getitem__, default=None)
    beyond = 0.0 if rejected is None else strengths[rejected]
    return ClusterNumberChoice(chosen, strengths.get(chosen, beyond), [], rejected, beyond, False, by_columns)


def _advice(choice: ClusterNumberChoice, sure: str) -> str:
    advice = ""
    if choice.n_clusters == 1:
        advice = "" if choice.continuum else " There are no separate groups; the data may vary continuously."
        advice += (
            " If you expect groups, check the scale of the columns, leave out those that say nothing, or ask for a "
            "number of clusters and see how sure they are."
        )
    if sure == "close" and (other := _other_number(choice)) is not None:
        advice += f" Look at {other} before relying on it."
    return advice


def _other_number(choice: ClusterNumberChoice) -> str | None:
    """The number that is nearest to being right instead."""
    coarser = choice.also[-1] if choice.also else 1
    is_weak = choice.n_clusters > 1 and choice.strength - NEEDED <= NEEDED - choice.rejected_strength
    other = coarser if is_weak else choice.rejected
    return None if other is None else "a single cluster" if other == 1 else f"{other} clusters"


def _without_choice(chosen: int, *, older: bool) -> dict[str, Any]:
    """What to say of equal rows, which are not searched, and of models of older versions, which kept less."""
    if not older:
        return {"sure": "clear", "words": EQUAL_ROWS, "choice": None}
    words = f"{counted(chosen, 'cluster')}. An older version chose it, without its strength."
    return {"sure": "likely", "words": words, "choice": None}
