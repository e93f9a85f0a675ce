"""Statements: `indextables.sql("PURGE INDEXTABLES logs DRY RUN", logs=table)`. The package itself can be called.

    text ──grammar.py──▶ command ──executor.py──▶ statements/ ──▶ Table.<verb> ──▶ Result (an Arrow table)

table_ref.py         how a statement names a table
commands.py          every statement as a frozen value
grammar.py           the statements, one form a line; text → command
forms.py             forms as patterns of keywords and holes, and how words are read along them
statement_cursor.py  the words of a statement, and the values between its keywords
next_words.py        keywords that may come next, for a prompt
executor.py          command → answer
answer.py            what a statement gets and gives
statements/          the executors, a module for each group of statements
run_text.py          `sql`: texts in this process, with the caller's tables

The grammar loads no table: Spark asks it about every text that a session runs.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallableRoom(ModuleType):
    """The package as a function: `indextables.sql` is both, because importing a package makes it its parent's attribute."""

    def __call__(self, text: str, /, options: Any = None, progress: Any = None, **tables: Any) -> Any:
        """Run statements, and return the answer of the last one: see `indextables.sql.run_text.sql`."""
        from indextables.sql.run_text import sql

        return sql(text, options, progress, **tables)


sys.modules[__name__].__class__ = _CallableRoom
