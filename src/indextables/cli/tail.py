"""`indextables tail`: the rows that were committed last, and then those that commits add, as they come."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from indextables.cli.answers import Rows
from indextables.cli.errors import UsageError
from indextables.cli.stop import STOP
from indextables.cli.targets import Target
from indextables.core.errors import ChangesGone

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.table import Table
    from indextables.table.loading import Selection

_STEP: Final = 0.05
"""Seconds between two looks for Ctrl-C while nothing new is there."""


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
    from indextables.table.loading import rows_since

    yield from first.to_batches()
    while True:
        _wait(interval)
        seen = table.version
        if table.refresh().version == seen:
            continue
        try:
            yield from rows_since(table, selection, seen)
        except ChangesGone as gone:  # this program slept for days: what is left is shown
            yield from rows_since(table, selection, gone.details["oldest"])


def _wait(seconds: float) -> None:
    """Wait, and raise Stopped as soon as somebody ends the program."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        STOP.check()
        time.sleep(min(_STEP, left))
    STOP.check()
