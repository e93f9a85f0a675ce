"""PREWARM in a session with executors: every machine gets the indexes, now or beside the caller."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from indextables.core.runtime.jobs import JOBS
from indextables.spark.maintenance.prewarm import prewarm
from indextables.sql.commands import Prewarm
from indextables.table.distributed.definitions import handle_of
from indextables.table.distributed.maintenance import PREWARMED, prewarm_answer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from indextables.table import Table
    from indextables.table.distributed.maintenance import Prewarmed

_log: Final = logging.getLogger("indextables")


def prewarm_machines(spark: SparkSession, command: Prewarm, table: Table) -> pa.Table:
    """Prewarm every machine of a session, with a row for each. In the background the row is of a job of this process."""
    segments, fields = command.segments or None, command.fields or None
    given: dict[str, Any] = {"segments": segments, "fields": fields, "options": handle_of(table).options.explicit()}
    if not command.in_background:
        done = prewarm(spark, table.url, command.where, **given)
        rows = [_of_machine(prewarm_answer(warm), machine) for machine, warm in sorted(done.items())]
        return pa.concat_tables([PREWARMED.empty_table(), *rows])
    job = JOBS.value.begin("prewarm", table.url)

    def run() -> None:
        try:
            with job:
                done: dict[str, Prewarmed] = prewarm(spark, table.url, command.where, **given)
                splits = sum(warm.splits for warm in done.values())
                job.plan(splits)
                job.advance(splits)
        except Exception as error:  # noqa: BLE001 - nobody is there to catch it; the job has it
            _log.warning("table %s: a prewarm beside the program failed: %s", table.url, error)

    begun = job.seen()
    threading.Thread(target=run, name="indextables-prewarm", daemon=True).start()
    return prewarm_answer(begun, command.segments, fields)


def _of_machine(row: pa.Table, machine: str) -> pa.Table:
    return row.set_column(0, PREWARMED.field("host"), pa.array([machine]))


__all__ = ["prewarm_machines"]
