"""`indextables_snippet(column)` of SQL: columns of snippets beside the columns of a read.

The last step of Spark's optimizer finds the scan that a snippet's column comes from, and asks for the same rows once more, with
`"snippets": [column, …]` in the question. Rows that the driver answers get the columns here, rows of tasks in the workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import pyarrow as pa
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructField, StructType

from indextables.core.errors import QueryError
from indextables.table.distributed.opening import TableHandle
from indextables.table.distributed.requests import ReadRequest, Snippets, wanted_words

_HIGHLIGHT: Final = StructType([StructField("start", IntegerType()), StructField("end", IntegerType())])
SNIPPET_TYPE: Final = StructType([StructField("text", StringType()), StructField("highlights", ArrayType(_HIGHLIGHT))])
"""Spark's type of a snippet, as `SnippetFunction.java` says it too."""
_Rows = TypeVar("_Rows", pa.Table, pa.RecordBatch)


def snippet_names(asked: Mapping[str, Any], taken: Sequence[str]) -> dict[str, str]:
    """The columns that a question wants snippets of, each with the name of its snippets in the answer."""
    names: dict[str, str] = {}
    if asked.get("snippets") and asked.get("aggregate") is not None:
        raise QueryError(
            "indextables_snippet shows texts of rows, and here rows are grouped: use it in a subquery, before the groups"
        )
    for column in asked.get("snippets", ()):
        name = f"_snippet_{column}"
        while name in taken:
            name = "_" + name
        names[column] = name
    return names


def snippet_fields(names: Mapping[str, str]) -> list[StructField]:
    """The columns of snippets in Spark's schema of an answer."""
    return [StructField(name, SNIPPET_TYPE) for name in names.values()]


class AddSnippets:
    """Rows with the columns of their snippets."""

    def __init__(self, handle: TableHandle, request: ReadRequest, names: Mapping[str, str]) -> None:
        self._names = names
        self._made = Snippets(handle, wanted_words(handle, request), list(names)) if names else None

    def __call__(self, rows: _Rows) -> _Rows:
        """The rows of a table with the columns of snippets after the others."""
        if self._made is None:
            return rows
        for column, name in self._names.items():
            rows = rows.append_column(name, self._made.of(column, rows.column(column)))
        return rows
