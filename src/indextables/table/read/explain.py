"""A question explained: a query in words (`Table.explain`), and how each file of the table would answer (`explain_files`)."""

from __future__ import annotations

from dataclasses import dataclass

from indextables.split.plan.access import Purpose, describe
from indextables.split.query.explain import explain
from indextables.table.handle import TableHandle
from indextables.table.read.request import ReadRequest, bound_query, plan_read
from indextables.table.read.split_readers import split_readers


@dataclass(frozen=True)
class FileAccess:
    """How one file would answer a question."""

    path: str
    rows: int
    access: str
    """The way to the rows, in words: no rows, all rows, rows by number, the index, or a scan, and what is left to filter."""


def explain_query(handle: TableHandle, query: str) -> str:
    """What the query asks of the table: which columns, and how texts are cut. Raises QueryError."""
    return explain(bound_query(handle, query).bound, query)


def explain_files(handle: TableHandle, request: ReadRequest) -> list[FileAccess]:
    """How a scan would read each file that may hold rows of the answer, in the order of the files.

    Files that the log rules out are not in the list. Footers are read, and indexes are opened where a scan would open them; no
    row of the answer is read. Raises SplitError.
    """
    plan = plan_read(handle, request)
    condition = plan.condition
    return [
        FileAccess(
            split.path, split.footer.rows, describe(split.access(Purpose.SCAN, condition.predicate, condition.query))
        )
        for split in split_readers(handle, plan.files)
    ]
