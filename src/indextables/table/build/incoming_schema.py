"""The schema of rows that Spark hands over: what a table made from them gets, and whether they fit one that is there.

Spark's types are finer than Arrow's: an interval of months and an integer are the same in Arrow, and must not be taken for one
another. What may be written into what is otherwise decided by `rows_in`, here on no rows at all, so that a mistake is found
before the first task runs.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pyarrow as pa

from indextables.core.errors import SchemaError
from indextables.core.types import arrow_to_spark_json, spark_json_to_arrow
from indextables.table.build.incoming_rows import check_columns

_PARTICULAR: Final = re.compile(r"interval.*|time(\([0-9]\))?|variant|geometry.*|geography.*")
"""Types whose values mean something else in any other type, though Arrow may hold both alike."""
_TIME: Final = re.compile(r"time(?:\(([0-9])\))?")


def as_nullable(schema_json: str) -> str:
    """The schema with every column, field and element nullable, as Spark's own sources store it.

    Whether a column of a DataFrame may be null is what the planner could prove of one query, not what its author means for
    all rows to come.
    """
    return json.dumps(_nullable(json.loads(schema_json)), ensure_ascii=False, separators=(",", ":"))


def _nullable(value: Any) -> Any:
    if isinstance(value, list):
        return [_nullable(part) for part in value]
    if not isinstance(value, dict):
        return value
    flags = {"nullable", "containsNull", "valueContainsNull"}
    return {
        key: True if key in flags else part if key == "metadata" else _nullable(part) for key, part in value.items()
    }


def check_frame(schema_json: str, table: pa.Schema) -> None:
    """Raise SchemaError unless rows of this Spark schema can be written into a table."""
    given = spark_json_to_arrow(schema_json)
    check_columns(given, table)
    wanted = json.loads(arrow_to_spark_json(table))
    _check_struct(json.loads(schema_json), wanted, ())


def _check_struct(given: Any, wanted: Any, path: tuple[str, ...]) -> None:
    known = {field["name"].lower(): field for field in wanted["fields"]}
    for field in given["fields"]:
        other = known.get(field["name"].lower())
        if other is not None:
            _check_type(field["type"], other["type"], (*path, field["name"]))


def _check_type(given: Any, wanted: Any, path: tuple[str, ...]) -> None:
    if isinstance(given, dict) and isinstance(wanted, dict):
        if given["type"] == wanted["type"] == "struct":
            _check_struct(given, wanted, path)
        for part in ("elementType", "keyType", "valueType"):
            if part in given and part in wanted:
                _check_type(given[part], wanted[part], (*path, part.removesuffix("Type")))
        return
    if given == wanted or given in ("void", "null"):
        return
    names = [name if isinstance(name, str) else name["type"] for name in (given, wanted)]
    if not any(_PARTICULAR.fullmatch(name) for name in names) or _finer_time(*names):
        return
    column = ".".join(path)
    raise SchemaError(
        f"column {column} is {names[1]}, the data has {names[0]}, which is not cast to it without being asked to: cast it to "
        f"{names[1]} first",
        column=column,
        expected=names[1],
        found=names[0],
    )


def _finer_time(given: str, wanted: str) -> bool:
    """Whether both are times of day, and the column keeps all digits of the data."""
    left, right = _TIME.fullmatch(given), _TIME.fullmatch(wanted)
    return left is not None and right is not None and int(left[1] or 6) <= int(right[1] or 6)
