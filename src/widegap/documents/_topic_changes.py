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

    def _told(self, columns: Sequence[str]) -> list[str]:
        terms = [f"“{term.column}” in {percent(term.before)} → {percent(term.after)}" for term in self._clear_columns]
        told = list(columns) or terms
        return [*told[:-1], f"{told[-1]} of them"] if told and not columns else told
