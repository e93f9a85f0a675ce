"""What a caller of a Spark write said, in options whose keys Spark has turned into lower case.

path                       where the table is
partitionBy                its partition columns, when it is created: Spark refuses `partitionBy()` to Python sources
partitionOverwriteMode     `dynamic`: overwrite replaces only the partitions that get new rows
replaceWhere               overwrite replaces the partitions that this SQL selects
txnAppId, txnVersion       an exactly-once writer and the number of its batch
ifVersion                  the version that the rows were computed from: rows that changed since are a conflict
ifChanged                  `error`: rows that change while this overwrite runs are a conflict; `replace`: they are replaced
spark.indextables.*        the options of the reference page, with the prefix or without it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from indextables.core.errors import OptionError, TableExists
from indextables.core.options import Options, split_list
from indextables.spark.reading.read_options import check_known
from indextables.table.distributed.write_job import Mode, TxnAction, WriteJob, begin_write

WRITE_OPTIONS: Final = (
    "path",
    "partitionBy",
    "partitionOverwriteMode",
    "replaceWhere",
    "txnAppId",
    "txnVersion",
    "ifVersion",
    "ifChanged",
)


@dataclass(frozen=True)
class WriteRequest:
    """What the caller of a write asked for, checked for its form."""

    url: str
    mode: Mode
    partition_by: tuple[str, ...] | None
    where: str | None
    txn: TxnAction | None
    options: Options
    if_version: int | None = None
    """The version that the rows were computed from, if the caller says so."""
    if_changed: str | None = None
    """`error` or `replace`, if the caller says so."""

    def begin(self, schema_json: str) -> WriteJob:
        """Look at the table and plan the write of rows with this Spark schema."""
        job = begin_write(
            self.url,
            schema_json,
            self.options,
            mode=self.mode,
            partition_by=self.partition_by,
            where=self.where,
            txn=self.txn,
        )
        return self.depending(job)

    def depending(self, job: WriteJob, read_version: int | None = None) -> WriteJob:
        """The job, depending on the version that its rows were computed from.

        That is the version that the caller names, the one that was planned on if the caller wants conflicts, or `read_version`,
        which the query reads, unless the caller wants to replace what changed.
        """
        if self.if_version is not None:
            return job.computed_from(self.if_version)
        if self.if_changed == "error" and job.metadata.id:
            return job.computed_from(job.planned_version)
        return replace(job, read_version=None if self.if_changed == "replace" else read_version)


def parse_request(options: Mapping[str, Any], *, overwrite: bool) -> WriteRequest:
    """Read the options of a write. Raises OptionError."""
    unread = {key.lower(): value for key, value in options.items()}
    url = unread.pop("path", None)
    if not url:
        raise OptionError(
            'a write needs the place of its table: df.write.format("indextables").save("s3://bucket/table"); tables have names '
            "only in sessions with the connector, and indextables.spark.status(spark) says why a session has none"
        )
    partition_by = unread.pop("partitionby", None)
    where = unread.pop("replacewhere", None)
    dynamic = _dynamic(unread.pop("partitionoverwritemode", None))
    txn = _txn(unread.pop("txnappid", None), unread.pop("txnversion", None))
    if_version, if_changed = _if_version(unread.pop("ifversion", None)), _if_changed(unread.pop("ifchanged", None))
    if if_changed is not None and (if_version is not None or not overwrite):
        raise OptionError(
            f"ifChanged is {if_changed}, which is for overwrites without ifVersion: leave it out, or name no version"
        )
    if where is not None and not overwrite:
        raise OptionError(
            f"replaceWhere {where!r} says what is overwritten, but this write appends: use mode overwrite"
        )
    if where is not None and dynamic:
        raise OptionError("replaceWhere and partitionOverwriteMode=dynamic both say what is overwritten, keep one")
    check_known(unread, WRITE_OPTIONS, "a write")
    mode: Mode = "append" if not overwrite else "dynamic" if dynamic else "overwrite"
    return WriteRequest(str(url), mode, _columns(partition_by), where, txn, Options(unread), if_version, if_changed)


def exists_already(url: str) -> TableExists:
    """The error of a write that wants a new table where there is one."""
    return TableExists(f"there is a table at {url} already: use mode append, overwrite or ignore", url=url)


def _if_version(text: Any) -> int | None:
    if text is None:
        return None
    try:
        number = int(str(text))
    except ValueError:
        number = -1
    if number < 0:
        raise OptionError(f"ifVersion is {text!r}, expected the number of a version, such as 12")
    return number


def _if_changed(text: Any) -> str | None:
    said = None if text is None else str(text).strip().lower()
    if said in (None, "error", "replace"):
        return said
    raise OptionError(f"ifChanged is {text!r}, expected error or replace")


def _dynamic(text: Any) -> bool:
    said = "static" if text is None else str(text).strip().lower()
    if said in ("static", "dynamic"):
        return said == "dynamic"
    raise OptionError(f"partitionOverwriteMode is {text!r}, expected static or dynamic")


def _columns(value: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if value is None or not isinstance(value, str):
        return None if value is None else tuple(value)
    try:
        return tuple(split_list(value)) if value.strip() else ()
    except ValueError:
        raise OptionError(f"partitionBy is {value!r}, expected names with commas between them") from None


def _txn(app: Any, batch: Any) -> TxnAction | None:
    if app is None and batch is None:
        return None
    if not app or batch is None:
        raise OptionError("txnAppId and txnVersion belong together: the name of a writer, and the number of its batch")
    try:
        number = int(str(batch))
    except ValueError:
        number = -1
    if not 0 <= number < 2**63:
        raise OptionError(f"txnVersion is {batch!r}, expected a whole number that grows with every batch")
    return TxnAction(str(app), number)
