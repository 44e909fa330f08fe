"""Names for clusters of tables, from the columns that set them apart: "low income, many visits"."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from widegap._types import Ints
from widegap._wording import clip
from widegap.base._numbered_clusters import numbers_of
from widegap.exceptions import InvalidDataError
from widegap.results._profile import Contrasts, Feature

NOTABLE = 0.5  # standard deviations from the other rows
PHRASES = 2  # in a name; a third only where two clusters would have the same
NUMBERED = re.compile(r"(column|x|feature|f|v|var)?[ _]?\d+", re.IGNORECASE)
COUNTING = re.compile(r"^(n|nr|num|no|number of|number|count of|count)[ _]+", re.IGNORECASE)
YES, NO = ("yes", "true", "y", "t", "1", "1.0"), ("no", "false", "n", "f", "0", "0.0")
# Units that headers end in, and how they are written if not as there; without words that mean something else as often,
# such as "in" and "min".
UNITS = {
    **dict.fromkeys("mm cm dm m km inch inches ft yd mi mg g kg lb lbs oz ml cl l gal ha sqm sqft".split(), ""),
    **dict.fromkeys("ms s sec secs mins h hr hrs mph kmh kph hz khz mhz ghz kb mb gb tb px dpi".split(), ""),
    **dict.fromkeys("kw mw kwh mwh mv mah kpa hpa psi mmhg bpm ppm".split(), ""),
    **{code: code.upper() for code in "usd eur gbp chf jpy cny inr cad aud sek nok dkk pln czk brl mxn".split()},
    **dict.fromkeys(("pct", "percent", "perc", "%"), "%"),
}
LONGEST_NAME = 80  # letters, one line of the page


def cluster_names(contrasts: Contrasts, numbers: Ints) -> list[str]:
    """A name for every cluster; "Cluster 3" where columns have no names, or nothing sets it apart."""
    found = [_phrases(contrasts, place) for place in range(len(numbers))]
    short = [", ".join(phrases[:PHRASES]) for phrases in found]
    twice = Counter(short)
    names = [
        ", ".join(phrases[: PHRASES + 1]) if twice[name] > 1 else name
        for phrases, name in zip(found, short, strict=True)
    ]
    twice = Counter(names)
    return [
        clip(name, LONGEST_NAME) if name and twice[name] == 1 else clip(f"{name or 'Cluster'} {label}", LONGEST_NAME)
        for label, name in zip(numbers.tolist(), names, strict=True)
    ]


def own_names(names: Mapping[Any, str] | None, labels: Any) -> dict[int, str]:
    """Names of the user's own, checked: each for a cluster that exists."""
    known = {str(int(label)): int(label) for label in labels}
    found = {}
    for label, name in (names or {}).items():
        if str(label) not in known:
            raise InvalidDataError(
                f"names has a name for cluster {label!r}, which does not exist; clusters are {', '.join(known)}."
            )
        if str(name).strip():
            found[known[str(label)]] = clip(str(name).strip(), LONGEST_NAME)
    return found


def known_names(estimator: Any, labels: Any) -> dict[int, str]:
    """Names of clusters that carry a label which was known for some rows."""
    carried = getattr(estimator, "classes_", None)
    numbers = numbers_of(estimator, labels)
    if not isinstance(carried, list) or len(carried) != len(numbers):
        return {}
    return {
        int(label): clip(str(name), LONGEST_NAME)
        for label, name in zip(numbers, carried, strict=True)
        if name is not None
    }


def fit_names(estimator: Any, labels: Any) -> dict[int, str]:
    """Names of all clusters without their rows: the topic, the known label that it carries, or "Cluster 3"."""
    topics = getattr(estimator, "topic_names_", {})
    found = {int(label): clip(topics.get(int(label), f"Cluster {label}"), LONGEST_NAME) for label in labels}
    return found | known_names(estimator, labels)


def _phrases(contrasts: Contrasts, place: int) -> list[str]:
    """What sets a cluster apart in words, the strongest first, one phrase a column."""
    found: dict[int, str] = {}
    for j in contrasts.order(place):
        difference, feature = contrasts.differences[place][j], contrasts.features[j]
        if abs(difference) < NOTABLE or len(found) > PHRASES:
            break
        phrase = None if NUMBERED.fullmatch(feature.column) else _phrase(feature, difference > 0)
        if phrase is not None:
            found.setdefault(feature.group, phrase)
    return list(found.values())


def _phrase(feature: Feature, more: bool) -> str | None:
    """A feature that is more or less than elsewhere; None if there is no short phrase."""
    column = _plain(feature.column)
    if feature.kind in ("date", "year"):
        return f"{'late' if more else 'early'} {column}"
    if feature.kind == "share":
        return _category(column, feature.level, more)
    column, unit = _unit_apart(column)
    counted = COUNTING.sub("", column)
    if feature.kind == "count" and not unit and (counted != column or _is_plural(column)):
        return f"{'many' if more else 'few'} {counted}"
    return f"{'high' if more else 'low'} {column}{unit}"


def _category(column: str, level: str | None, more: bool) -> str | None:
    word = (level or "yes").strip().lower()
    if word in YES or word in NO:
        noun = re.sub(r"^(is|has)[ _]+", "", column)
        return noun if more == (word in YES) else f"no {noun}"
    if not more or level is None:
        return None  # most rows lack it
    return f"{column} {level}" if level.replace(".", "").isdigit() else level


def _plain(column: str) -> str:
    """A header as words: "annual_income" is "annual income"."""
    return " ".join(re.sub(r"[_\s]+", " ", column).split())


def _unit_apart(column: str) -> tuple[str, str]:
    """A header without the unit at its end, and that unit in brackets: "flipper length", " (mm)"; else no unit."""
    name, _, last = column.rpartition(" ")
    word = last.strip("()[]")
    if not name or word.lower() not in UNITS:
        return column, ""
    return name, f" ({UNITS[word.lower()] or word})"


def _is_plural(column: str) -> bool:
    last = column.rsplit(" ", 1)[-1].lower()
    return last.endswith("s") and not last.endswith(("ss", "us", "is", "as", "ness")) and last.isalpha()
