"""What a statement gets and gives: `Setting` with the caller's tables and options, `Result` with an Arrow table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from indextables.core.arrow_values import table_of_rows
from indextables.sql.commands import Command
from indextables.sql.table_ref import TableRef

if TYPE_CHECKING:
    from indextables.table import Table
    from indextables.table.progress import Watcher

TEXT: Final = pa.string()
WHOLE: Final = pa.int64()
NUMBER: Final = pa.float64()
FLAG: Final = pa.bool_()
PAIRS: Final = pa.map_(pa.string(), pa.string())
TIME: Final = pa.timestamp("ms", "UTC")


def columns(**types: pa.DataType) -> pa.Schema:
    """The columns of an answer, in order."""
    return pa.schema(list(types.items()))


@dataclass(frozen=True)
class Setting:
    """Around a statement: how names become tables, which options hold, and who watches."""

    tables: Callable[[TableRef], Table]
    """Opens the table that a statement names."""
    options: Mapping[str, Any] | None = None
    """Options for places that are not opened as a table: a log to repair, a copy to write."""
    progress: Watcher | None = None
    """A callback for verbs that move rows."""


Rows: TypeAlias = pa.Table | list[dict[str, Any]]


@dataclass(frozen=True)
class Done:
    """The rows of an answer, and what the method of `Table` returned, where that has more facts."""

    rows: Rows
    value: Any


@dataclass(frozen=True)
class Executor:
    """How a command runs, and the columns of its answer. Where the columns are the table's own, there is no schema."""

    schema: pa.Schema | None
    run: Callable[[Any, Setting], Rows | Done]
    changes: bool = False
    """Whether the command may change a table. Whoever stops it must wait until it has tidied up."""
    moves: bool = False
    """Whether the command changes no table, and still tells the watcher how far it has come."""


@dataclass(frozen=True)
class Result:
    """The answer of a statement."""

    command: Command
    table: pa.Table
    value: Any = None
    """What the method of `Table` returned, where that has more facts than the row: the paths that a purge deleted."""


def answer(schema: pa.Schema | None, rows: Rows) -> pa.Table:
    """Rows as a table with exactly these columns."""
    if isinstance(rows, list):
        assert schema is not None, "rows without names need a schema"
        return table_of_rows(rows, schema)
    if schema is None or rows.schema.equals(schema):
        return rows
    return rows.select(schema.names).cast(schema)
