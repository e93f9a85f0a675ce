"""What the log knows of the columns of a read, for Spark's cost-based optimizer.

Only where `spark.sql.cbo.enabled` is on does Spark look at columns, so `Estimate.java` asks only there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from indextables.core.predicate import Column
from indextables.spark.connector.planning.filters import compares_plainly
from indextables.spark.connector.planning.planner import arrow_stream
from indextables.spark.connector.planning.questions import Question, read_plan
from indextables.table.distributed.column_facts import ColumnFacts, column_facts

_UNKNOWN: Final = -1
"""What `Estimate.java` takes for a number that the log does not know."""


def column_statistics(asked: Mapping[str, Any]) -> list[bytes]:
    """The columns of which something is known, as a schema; their bounds as two rows; their nulls; their different values."""
    question = Question(asked)
    files = read_plan(question).files
    known: list[tuple[StructField, ColumnFacts]] = []
    for field in question.output():
        facts = _facts(question, files, field.name)
        if facts is not None:
            known.append((field, facts))
    schema = StructType([field for field, _ in known])
    own = pa.schema([question.schema.field(field.name) for field, _ in known])
    bounds = [pa.array([facts.least, facts.greatest], kind) for (_, facts), kind in zip(known, own.types, strict=True)]
    nulls, different = ([facts.nulls for _, facts in known], [facts.different for _, facts in known])
    return [
        schema.json().encode(),
        arrow_stream(pa.table(bounds, schema=own), schema),
        _lines(nulls),
        _lines(different),
    ]


def _facts(question: Question, files: pa.Table, name: str) -> ColumnFacts | None:
    if name not in question.schema.names or question.aggregate is not None:
        return None
    if not compares_plainly(Column((name,), question.schema.field(name).type), question.schema):
        return None
    return column_facts(question.handle, files, name)


def _lines(numbers: list[int | None]) -> bytes:
    return "\n".join(str(_UNKNOWN if number is None else number) for number in numbers).encode()
