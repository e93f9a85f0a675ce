"""`indextables.sql(text, logs=table)`: statements in this process, with the caller's tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from indextables.core.errors import StatementError, TableNotFound
from indextables.sql.executor import execute
from indextables.sql.grammar import parse_script
from indextables.sql.table_ref import TablePath, TableRef
from indextables.table import Table
from indextables.table.progress import Watcher


class GivenTables:
    """A resolver: paths are opened, names are those that the caller gave."""

    def __init__(
        self,
        tables: Mapping[str, Table | str | os.PathLike[str]] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._tables = dict(tables or {})
        self._options = options
        for name, table in self._tables.items():
            if not isinstance(table, Table | str | os.PathLike):
                raise StatementError(f"{name} is a {type(table).__name__}, but must be a Table, a path or a URL")

    def __call__(self, table: TableRef) -> Table:
        """The table that a statement names. Raises TableNotFound."""
        if isinstance(table, TablePath):
            return Table.open(table.url, options=self._options)
        given = self._given(str(table))
        return given if isinstance(given, Table) else Table.open(given, options=self._options)

    def _given(self, name: str) -> Table | str | os.PathLike[str]:
        if name in self._tables:
            return self._tables[name]
        alike = [known for known in self._tables if known.lower() == name.lower()]
        if len(alike) == 1:
            return self._tables[alike[0]]
        known = f"there are {', '.join(self._tables)}" if self._tables else "no names were given"
        raise TableNotFound(
            f"no table is called {name}, {known}: write its path between quotes, or give it a name as in sql(text, {name}=table)",
            name=name,
        )


def sql(
    text: str,
    /,
    options: Mapping[str, Any] | None = None,
    progress: Watcher | None = None,
    **tables: Table | str | os.PathLike[str],
) -> pa.Table:
    """Run statements such as `PURGE INDEXTABLES '/data/logs' DRY RUN`, and return the answer of the last one.

    `tables` gives names to tables: `sql("DESCRIBE INDEXTABLES STATE logs", logs=table)`. A table is a `Table`, a path or a URL.
    Paths are opened with `options`. Statements have semicolons between them and run in order. All of them are parsed before the
    first one runs. A verb that moves rows calls `progress`. Raises StatementError, which says where the text is wrong, and what
    the methods of `Table` raise.
    """
    given = GivenTables(tables, options)
    answered = [execute(command, given, options, progress).table for command in parse_script(text)]
    return answered[-1]
