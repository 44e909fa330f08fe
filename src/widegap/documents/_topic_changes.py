"""What an update changes, in the words of documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from widegap._wording import percent
from widegap.updating._changes import Change


@dataclass(frozen=True)
class TopicChange(Change):
    """What became of a topic; ``columns`` are terms, with the shares of its documents that hold them."""

    unit: ClassVar[str] = "topic"
    members: ClassVar[str] = "documents"

    def _column_phrases(self, columns: Sequence[str]) -> list[str]:
        terms = [f"“{term.column}” in {percent(term.before)} → {percent(term.after)}" for term in self._clear_columns]
        phrases = list(columns) or terms
        return [*phrases[:-1], f"{phrases[-1]} of them"] if phrases and not columns else phrases
