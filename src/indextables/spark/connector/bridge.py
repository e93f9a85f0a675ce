"""The object that the connector's Java calls: one question in, the parts of one answer out.

    Python.java ── JSON ──▶ Answering.apply ──▶ the function of the verb
                ◀── number of parts, (length, bytes) of each part; or -1 or -2 and the text of an error ──┘

py4j calls `apply` in a thread of its own for each thread of Spark, several at a time.
"""

from __future__ import annotations

import json
import logging
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias

from indextables.core.errors import IndexTablesError, TableNotFound
from indextables.core.runtime.cancellation import Work, cancellable
from indextables.core.runtime.process_state import ProcessLocal
from indextables.spark.connector import driver_tasks
from indextables.spark.connector.planning import (
    bucket_functions,
    clusters,
    column_statistics,
    following,
    joins,
    planner,
    task_answers,
)
from indextables.spark.connector.tables import catalog, creation, deletes, hidden, statements, writes

_RUNNING: Final[ProcessLocal[dict[int, Work]]] = ProcessLocal(dict)
"""The questions that may be cancelled and are not answered yet, by the numbers that `Answer.java` gave them."""
Verb: TypeAlias = Callable[[Mapping[str, Any]], Sequence[bytes]]
_log: Final = logging.getLogger(__name__)
_ERROR: Final = -1
_NOT_FOUND: Final = -2


def cancel(asked: Mapping[str, Any]) -> list[bytes]:
    """Nobody waits for the answer to a question any more: its work ends at the next split."""
    work = _RUNNING.value.get(asked["number"])
    if work is not None:
        work.cancel()
    return []


VERBS: Final[dict[str, Verb]] = {
    "open": planner.open_table,
    "newest": following.newest,
    "filters": planner.answer_filters,
    "aggregate": planner.answer_aggregate,
    "limit": planner.answer_limit,
    "offset": planner.answer_offset,
    "top": planner.answer_top,
    "plan": planner.plan,
    "join": joins.answer_join,
    "cluster": clusters.answer_cluster,
    "statistics": column_statistics.column_statistics,
    "tasks": task_answers.tasks,
    "rows": driver_tasks.send_rows,
    "cancel": cancel,
    "bucket": bucket_functions.define_bucket,
    "load": catalog.load_table,
    "read": catalog.read_with_options,
    "alter": catalog.alter_table,
    "drop": catalog.drop,
    "refuse": catalog.refuse,
    "read_statement": statements.read_statement,
    "run_statement": statements.run_statement,
    "stage": creation.stage,
    "create": creation.create,
    "entry": creation.entry,
    "undo": creation.undo,
    "hidden": hidden.hidden_rows,
    "deletable": deletes.deletable,
    "delete": deletes.delete,
    "partitions": deletes.partitions,
    "save": writes.save,
    "write": writes.begin,
    "commit": writes.commit,
    "abort": writes.abort,
}
"""Every question that Java asks."""


class Answering:
    """A `java.util.function.Function` from the text of a question to the bytes of its answer. Errors are answers too."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[str]] = {}
        """Long questions that have not come as a whole yet, by the number that `Python.java` gave them."""

    def apply(self, text: str) -> bytes:
        """Called by Java."""
        if text.startswith("+"):
            number, _, piece = text[1:].partition(":")
            self._pieces.setdefault(number, []).append(piece)
            return b""
        try:
            asked = json.loads(self._whole(text))
            return _encoded(_answered(asked))
        except TableNotFound as error:
            return _failed(_NOT_FOUND, f"indextables.errors.{type(error).__name__}: {error}")
        except IndexTablesError as error:
            return _failed(_ERROR, f"indextables.errors.{type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - Java gets a line instead of a hundred, and the log has the traceback
            _log.exception("a question of Spark's planner failed")
            return _failed(_ERROR, f"indextables: a bug, please report it: {type(error).__name__}: {error}")

    def _whole(self, text: str) -> str:
        if not text.startswith("="):
            return text
        number, _, piece = text[1:].partition(":")
        return "".join([*self._pieces.pop(number), piece])

    def andThen(self, after: Any) -> Any:  # noqa: N802 - Java's name
        """A default method of the Java interface, which nobody calls."""
        raise NotImplementedError

    def compose(self, before: Any) -> Any:
        """A default method of the Java interface, which nobody calls."""
        raise NotImplementedError

    class Java:
        """What py4j looks for."""

        implements: ClassVar = ["java.util.function.Function"]


def _answered(asked: Mapping[str, Any]) -> Sequence[bytes]:
    """The answer of the verb. A question with a number may be cancelled."""
    verb, number = VERBS[asked["verb"]], asked.get("number")
    if number is None or verb is cancel:
        return verb(asked)
    with cancellable() as work:
        _RUNNING.value[number] = work
        try:
            return verb(asked)
        finally:
            del _RUNNING.value[number]


def _encoded(parts: Sequence[bytes]) -> bytes:
    sizes = [struct.pack(">i", len(part)) for part in parts]
    return struct.pack(">i", len(parts)) + b"".join(chunk for pair in zip(sizes, parts, strict=True) for chunk in pair)


def _failed(kind: int, said: str) -> bytes:
    line = " ".join(part.strip() for part in said.splitlines())  # errors of other libraries have several
    return struct.pack(">i", kind) + line.encode("utf-8", "replace")
