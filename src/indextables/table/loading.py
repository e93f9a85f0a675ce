"""The door for programs around tables: the command line uses nothing else of what lies behind `Table`.

files ──▶ batches ──rows_in──▶ rows of the table's schema ──▶ Table.append
└─▶ create_table_with_rows, where there is no table yet
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.split.index.doc_mapping import plan_mapping
from indextables.table.at_version import handle_of
from indextables.table.build.incoming_rows import rows_in
from indextables.table.build.scratch_directory import scratch
from indextables.table.read.explain import FileAccess, explain_files
from indextables.table.read.request import make_request
from indextables.table.table import Table, table_at
from indextables.table.write.create import Plan
from indextables.table.write.create_with_rows import create_filled, plan_new

if TYPE_CHECKING:
    from indextables.table.progress import Watcher
    from indextables.table.write.result import Commit

__all__ = [
    "FileAccess",
    "Plan",
    "create_table_with_rows",
    "explained_files",
    "index_kinds",
    "plan_new",
    "rows_in",
    "scratch",
]


def create_table_with_rows(plan: Plan, batches: Iterable[pa.RecordBatch], watcher: Watcher) -> tuple[Table, Commit]:
    """Create a table together with its first rows. Raises TableExists if another process created it meanwhile."""
    filled = create_filled(plan, batches, watcher)
    return table_at(filled.handle), filled.commit


def index_kinds(table: Table) -> dict[str, str]:
    """How each column of a table is indexed: text, string, json, ip, i64, f64 or bool. Columns that are not are left out."""
    mapping = plan_mapping(table.schema, table.partition_columns, table.properties)
    return {field.column: field.kind for field in mapping.fields}


def explained_files(table: Table, where: str | None, query: str | None) -> list[FileAccess]:
    """How a scan would read each file that the log does not rule out. Raises PredicateError, QueryError, SplitError."""
    handle = handle_of(table)
    return explain_files(handle, make_request(handle, "reading", columns=(), where=where, query=query))
