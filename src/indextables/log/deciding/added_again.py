"""Which files a commit adds again while they are live: with new statistics, for example. Their rows came with an earlier commit.

adds ──▶ new by name and time? ── yes ──▶ a change of data
             └─ no ──▶ live, and the same file? ── yes ──▶ no change of data: feeds and streams skip it
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of
from indextables.core.errors import CorruptLog, ObjectNotFound
from indextables.log.actions import AddAction
from indextables.log.snapshot import Snapshot

logger = logging.getLogger("indextables")

RANDOM_NAME: Final = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
"""A UUID in a path: whoever writes a new file draws one that nobody has used before."""
_COMPARED: Final = ("path", "size", "numRecords", "partitionValues")
"""Columns of a live file's entry that say whether an add means the same rows."""


def mark_added_again(adds: Sequence[AddAction], removes: Collection[str], current: Snapshot) -> list[AddAction]:
    """The adds, those as no change of data that name a live file of the same size, rows and partition.

    A file that the same commit removes is left as it is: its removal and its add cancel each other. Where every add is certainly
    new, the live files are not read: such a file was written after the newest commit, under a name with a UUID.
    """
    doubtful = [add for add in adds if add.data_change and add.path not in removes and not _is_new(add, current)]
    if not doubtful:
        return list(adds)
    try:
        live = _entries(current.files, [add.path for add in doubtful])
    except (ObjectNotFound, CorruptLog) as error:  # no reason to refuse rows: they are told, perhaps once more
        logger.info("table %s: nobody knows whether files are added again: %s", current.url, error)
        return list(adds)
    again = {add.path for add in doubtful if add.path in live and _is_same(add, live[add.path])}
    return [msgspec.structs.replace(add, data_change=False) if add.path in again else add for add in adds]


def _is_new(add: AddAction, current: Snapshot) -> bool:
    """Whether no commit up to `current` can have the file."""
    return add.modification_time > current.timestamp and RANDOM_NAME.search(add.path) is not None


def _entries(files: pa.Table, paths: list[str]) -> dict[str, dict[str, Any]]:
    """What the log says of those of the paths that are live."""
    files = files.select(list(_COMPARED))
    found = files.filter(pc.is_in(files.column("path"), value_set=array_of(paths, pa.string())))
    return {row["path"]: row for row in found.to_pylist()}


def _is_same(add: AddAction, live: dict[str, Any]) -> bool:
    """Whether an add means the rows that the live file has. A number of rows that one of both does not know is no difference."""
    known = None not in (add.num_records, live["numRecords"])
    return (
        add.size == live["size"]
        and not (known and add.num_records != live["numRecords"])
        and _set_values(add.partition_values or {}) == _set_values(dict(live["partitionValues"] or ()))
    )


def _set_values(values: dict[str, str | None]) -> dict[str, str]:
    """Partition values without nulls, which stand in a log as null or not at all."""
    return {name.lower(): value for name, value in values.items() if value is not None}


__all__ = ["RANDOM_NAME", "mark_added_again"]
