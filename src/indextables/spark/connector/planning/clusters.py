"""Reads by partition: `Clustering.java` asks for them where a join, a group or a window has all partition columns as keys.

Spark then exchanges no rows between tasks, because rows with equal keys are in one task already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from indextables.core.predicate import Column
from indextables.spark.connector.planning.filters import compares_plainly
from indextables.spark.connector.planning.questions import Question, read_plan
from indextables.table.distributed.column_facts import partition_keys

_YES = b"\x01"
_NO = b"\x00"


def answer_cluster(asked: Mapping[str, Any]) -> list[bytes]:
    """Whether a read by partition is worth it: it has no more tasks than the exchange that it spares, and work for half of the
    processors. Spark has to find the same values equal as the log does.
    """
    question = Question(asked)
    if not all(_comparable(name, question.schema) for name in question.handle.partition_columns):
        return [_NO]
    keys = partition_keys(question.handle, read_plan(question).files)
    if keys is None:
        return [_NO]
    many = keys.group_by(keys.column_names).aggregate([]).num_rows
    return [_YES if 2 * many >= asked["processors"] and many <= asked["exchanged"] else _NO]


def _comparable(name: str, schema: pa.Schema) -> bool:
    kind = schema.field(name).type
    return not pa.types.is_floating(kind) and compares_plainly(Column((name,), kind), schema)
