"""The answer to `tasks`, the last question of the planner about a read: the function that workers run, and what each task reads.

    Question ──▶ plan_tasks, plan_partitions ──▶ row_tasks ──▶ TaskBatch.java ──▶ executors
                                             └─▶ task_places

Java keeps the tasks of the very large table that was read last, so that they travel once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql.types import StructType

from indextables.spark.connector.planning.places import task_places
from indextables.spark.connector.planning.planner import arrow_stream
from indextables.spark.connector.planning.questions import Question
from indextables.spark.connector.planning.worker import row_tasks
from indextables.spark.reading.arrow_types import arrow_schema, spark_schema
from indextables.table.distributed.local_answers import file_bytes, first_files
from indextables.table.distributed.partition_tasks import plan_partitions
from indextables.table.distributed.read_tasks import plan_tasks
from indextables.table.distributed.requests import plan_read
from indextables.table.distributed.task_packing import name_of


def tasks(asked: Mapping[str, Any]) -> list[bytes]:
    """The function that workers run, pickled; the partition values and the places of tasks; numbers; a name of all tasks together
    that Java may keep them by; the bytes of each task. Java says which name it has; the tasks of this name are left out.
    """
    question = Question(asked)
    output = StructType.fromJson(json.loads(asked["read_schema"]))
    request = question.request()
    if question.cut_again:
        request = replace(request, files=first_files(plan_read(question.handle, request)))
    handle, keys = question.handle, b""
    if asked.get("clustered"):
        by_partition = plan_partitions(handle, request, one_each="runtime" in asked)
        divided = by_partition.plan
        keys = arrow_stream(by_partition.keys, spark_schema(handle.schema, handle.partition_columns))
    else:
        divided = plan_tasks(handle, request, processors=asked.get("processors"), cut_again=question.cut_again)
    travels = "runtime" in asked
    name = "" if travels else name_of(divided.files)
    function, *parts = row_tasks(
        divided,
        arrow_schema(output),
        question.snippets,
        travels=travels,
        known=bool(name) and asked.get("kept") == name,
    )
    places = task_places(divided.files, asked.get("executors", ()), name)
    read = divided.read
    numbers = (read.num_rows, handle.files().num_rows - read.num_rows, handle.version, file_bytes(read))
    return [function, keys, _lines(places), _lines(numbers), name.encode(), *parts]


def _lines(values: Iterable[object]) -> bytes:
    return "\n".join(map(str, values)).encode()
