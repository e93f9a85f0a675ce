"""`Table.changes_rows`: the rows that commits inserted and deleted, as a stream."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.core.errors import OptionError, SchemaError, VersionNotFound
from indextables.log.history import version_at
from indextables.table.arguments import Moment, milliseconds, version_before, version_number
from indextables.table.changes.change_plan import plan_changes
from indextables.table.changes.change_rows import CHANGE_COLUMNS, ChangeQuestion, change_rows
from indextables.table.handle import TableHandle
from indextables.table.open_table import open_older, same_table
from indextables.table.read.request import make_request, pruning_predicate

if TYPE_CHECKING:
    from indextables.table.read.request import ReadRequest


def change_question(
    handle: TableHandle,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    query: str | None = None,
) -> ChangeQuestion:
    """What is asked of the changes up to the handle's version. Raises SchemaError, PredicateError, QueryError, ForeignTable."""
    own = next((field.name for field in CHANGE_COLUMNS if field.name in handle.schema.names), None)
    if own is not None:
        raise SchemaError(
            f"table {handle.url} has a column {own} of its own, so its changes cannot be told from its rows: rename the column",
            column=own,
        )
    request: ReadRequest = make_request(handle, "reading", columns=columns, where=where, query=query)
    return ChangeQuestion(handle, request)


def changes_rows(
    handle: TableHandle,
    since: int | Moment,
    until: int | Moment | None = None,
    *,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    query: str | None = None,
) -> pa.RecordBatchReader:
    """The rows that the versions after `since` inserted and deleted, up to `until`, or up to the handle's version.

    Raises what `Table.changes_rows` raises. The plan is made at once; rows are read while the stream is.
    """
    first = _at(handle, since) if isinstance(since, date | str) else version_before("since", since)
    if until is not None:
        last = _at(handle, until) if isinstance(until, date | str) else version_number("until", until)
        if last < first <= handle.version:
            raise OptionError(f"until is version {last}, which is before since, version {first}: swap them")
        if first > last:
            raise VersionNotFound(
                f"table {handle.url} is at version {handle.version}, so there are no changes since {first}",
                url=handle.url,
                version=first,
            )
        handle = handle if last == handle.version else open_older(handle, last)
    question = change_question(handle, columns, where, query)
    with same_table(handle):  # version files of another table count as empty, and the feed would be, too
        plan = plan_changes(handle, first, pruning_predicate(handle, question.request))
    return pa.RecordBatchReader.from_batches(question.schema, change_rows(question, plan))


def _at(handle: TableHandle, moment: Moment) -> int:
    """The newest version at or before a time."""
    return version_at(handle.log, milliseconds(moment))


__all__ = ["change_question", "changes_rows"]
