"""`indextables tail`: the rows that were committed last, and then those that commits add, as they come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.cli.answers import Rows
from indextables.cli.errors import UsageError
from indextables.cli.stop import STOP
from indextables.cli.targets import Target

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.table import Table
    from indextables.table.loading import Selection


def tail(
    target: Target,
    columns: list[str] | None,
    where: str | None,
    query: str | None,
    limit: int,
    interval: float | None,
) -> Rows:
    """The last rows; with an interval (seconds) the table is asked for more until the program is ended."""
    from indextables.table.loading import Selection, last_rows

    if interval is not None and not 0 < interval < float("inf"):
        raise UsageError(f"--interval is {interval:g}, but must be more than 0 seconds")
    table = target.open()
    selection = Selection(columns, where, query)
    rows = last_rows(table, selection, limit)
    if interval is None:
        return Rows(rows.schema, rows.to_batches(), found=True)
    return Rows(rows.schema, _followed(table, selection, rows, interval), follows=True)


def _followed(table: Table, selection: Selection, first: pa.Table, interval: float) -> Iterator[pa.RecordBatch]:
    from indextables.table.loading import followed_rows

    yield from first.to_batches()
    yield from followed_rows(table, selection, _UntilStopped(interval))


@dataclass(frozen=True)
class _UntilStopped:
    """Waits between two looks, until somebody ends the program."""

    interval: float

    def is_over(self) -> bool:
        """Never. Raises Stopped where the program is asked to end."""
        STOP.check()
        return False

    def pause(self) -> None:
        """Wait for the next look. Raises Stopped as soon as the program is asked to end."""
        STOP.wait(self.interval)
