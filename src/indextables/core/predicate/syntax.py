"""Whether words are a filter of any table: a statement checks its WHERE before a table is opened.

words of a statement ──▶ parse.py without a schema ──▶ nothing, or the error with its position in the statement
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from indextables.core.predicate.ast import TRUE, Column, Predicate
from indextables.core.predicate.parse import PredicateParser, Term
from indextables.core.sql_tokens import Word


def check_syntax(words: Sequence[Word]) -> None:
    """Raise PredicateError unless these words are a filter. Columns may have any name and any type.

    The last word is of kind `end`. The error's position is the word's place in the text that the words come from.
    """
    _SyntaxParser(list(words), pa.schema([])).parse()


class _SyntaxParser(PredicateParser):
    """Reads a filter without a table: every name is a column, and no literal is compared with the type of a column."""

    def _named(self, names: list[str], word: Word) -> Column:
        del word
        return Column(tuple(names), pa.bool_())

    def _leaf(self, make: Callable[..., Predicate], column: Column, *arguments: Any) -> Predicate:
        del make, column, arguments
        return TRUE

    def _predicate(self, term: Term) -> Predicate:
        return TRUE if isinstance(term, Column) else super()._predicate(term)
