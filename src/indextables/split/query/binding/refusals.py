"""Errors of a query that the table cannot answer: each says where in the text, and what to write instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from indextables.core.errors import QueryError
from indextables.split.query.tree import Span

_LONGEST_QUOTE: Final = 40
"""Characters of a query that an error quotes."""


@dataclass(frozen=True)
class Refusals:
    """Makes the errors of one query text."""

    text: str

    def error(self, span: Span, what: str, **details: str) -> QueryError:
        """The error about a part of the text. `what` says what is wrong with it, and the way out."""
        seen = self.text[span.start : span.end]
        seen = seen if len(seen) <= _LONGEST_QUOTE else f"{seen[:_LONGEST_QUOTE]}…"
        return QueryError(
            f"the query asks for what the table does not have, character {span.start + 1}, at {seen!r}: {what}",
            position=span.start,
            query=self.text,
            **details,
        )
