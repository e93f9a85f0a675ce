"""deltalake (delta-rs). Its log is written by hand: building it through commits takes longer than all measurements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from deltalake import Schema as DeltaSchema
from deltalake.transaction import AddAction as DeltaAdd
from workload import PARTITION, ROWS_PER_FILE, SCHEMA, Facts, facts

_NEVER = "1000000"


def stats(fact: Facts) -> str:
    names = SCHEMA.names
    return json.dumps(
        {
            "numRecords": ROWS_PER_FILE,
            "minValues": dict(zip(names, fact.low, strict=False)),
            "maxValues": dict(zip(names, fact.high, strict=False)),
        },
        separators=(",", ":"),
    )


def _line(kind: str, body: dict[str, Any]) -> str:
    return json.dumps({kind: body}, separators=(",", ":")) + "\n"


def _add(fact: Facts) -> str:
    body = {
        "path": fact.path,
        "partitionValues": {PARTITION: fact.date},
        "size": fact.size,
        "modificationTime": fact.modified_ms,
        "dataChange": True,
        "stats": stats(fact),
    }
    return _line("add", body)


def _info(fact: Facts) -> str:
    return _line("commitInfo", {"timestamp": fact.modified_ms, "operation": "WRITE", "operationParameters": {}})


def build(where: Path, versions: int, files_per_version: int) -> None:
    """A log with the same versions as our table, and without a checkpoint."""
    DeltaTable.create(str(where), SCHEMA, partition_by=[PARTITION], configuration={"delta.checkpointInterval": _NEVER})
    log = where / "_delta_log"
    for number in range(versions):
        files = facts(number * files_per_version, files_per_version)
        text = _info(files[0]) + "".join(map(_add, files))
        (log / f"{number + 1:020d}.json").write_text(text)


def write_checkpoint(where: Path) -> None:
    """A Parquet checkpoint of the newest version."""
    DeltaTable(str(where)).create_checkpoint()


class Handle:
    """A table kept open."""

    def __init__(self, where: Path) -> None:
        self._table = DeltaTable(str(where))
        self._schema = DeltaSchema.from_arrow(SCHEMA)

    def live(self) -> int:
        return len(self._table.file_uris())

    def prepare(self, first: int, count: int) -> Any:
        return [
            DeltaAdd(fact.path, fact.size, {PARTITION: fact.date}, fact.modified_ms, True, stats(fact))
            for fact in facts(first, count)
        ]

    def commit(self, prepared: Any) -> None:
        self._table.create_write_transaction(prepared, "append", self._schema, [PARTITION])

    def refresh(self) -> None:
        self._table.update_incremental()


def cold_open(where: Path) -> Any:
    return DeltaTable(str(where))


def cold_files(opened: Any) -> int:
    return opened.get_add_actions(flatten=True).num_rows
