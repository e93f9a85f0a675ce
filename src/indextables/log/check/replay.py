"""The newest version from what can be read of a log, and whether the version is known for certain.

    version 0 ─ 1 ─ 2 ─ state 2 ─ 3 ─ ✗ ─ 5      state 2 is compared with the replay of 0 to 2;
                                                  what version 4 said is unknown, so the end is not certain

Where a version cannot be read, the following ones are applied all the same, until a usable state or checkpoint says again what
the table is: from there on everything is certain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions import Actions, MetadataAction
from indextables.log.check.remains import Base, Remains
from indextables.log.conflicts import without_schemas
from indextables.log.snapshot import Snapshot, apply_version, first_snapshot
from indextables.log.state.live_files import StateFiles
from indextables.log.table_log import VersionFile

_COMPARED: Final = ("size", "numRecords", "footerStartOffset", "partitionValues", "minValues", "maxValues")
"""Columns of a file's entry that a state must have as the versions have them. Others have several right spellings."""

_AT_A_TIME: Final = 10_000
"""Entries that become Python values at once, some megabytes: a table may have a million."""


@dataclass(frozen=True)
class Replayed:
    """The newest version, as far as it can be known."""

    snapshot: Snapshot | None
    """None where no object says anything about files."""
    certain: bool
    """True if every version after the last usable base is there, can be read and lies in its place."""
    unknown: tuple[int, ...]
    """Versions after the last usable base whose contents nobody knows."""
    has_metadata: bool
    """True if schema and partition columns come from the log."""
    has_protocol: bool
    """True if the protocol comes from the log. A log whose version 0 can be read has the protocol that stands there, or none."""
    differences: dict[str, str]
    """Keys of states and checkpoints that say something else than the version files, each with what."""
    contradicted: str | None
    """The key of the base that the snapshot stands on, if version files say something else."""


def replay(remains: Remains, misplaced: Mapping[int, str]) -> Replayed:
    """Apply everything that can be read, in order."""
    table_id = remains.table_id
    bases: dict[int, list[Base]] = {}
    for base in remains.bases:
        if remains.usable(base):
            bases.setdefault(base.version, []).append(base)
    good = {number: version for number, version in remains.versions.items() if number not in misplaced}
    running: Snapshot | None = None
    unknown: list[int] = []
    differences: dict[str, str] = {}
    contradicted: str | None = None
    newest = max([remains.newest_version, *bases], default=-1)
    for number in range(newest + 1):
        after = _applied(remains, running, good.get(number), number)
        if after is None:
            unknown.append(number)
        else:
            running = after
        for base in bases.get(number, ()):
            if not unknown and running is not None and remains.is_ours:
                what = difference(running, base)
                if what is not None:
                    differences[base.key] = what
                if what is None or not _in_place(base, good.get(number)):
                    continue
                contradicted = base.key
            else:
                contradicted = None
            running, unknown = _based(base), []
    known = running is not None and bool(running.metadata.schema_string)
    has_protocol = 0 in good or bool(bases) or any(version.actions.protocol for version in good.values())
    if running is not None and table_id:
        running = replace(running, metadata=msgspec.structs.replace(running.metadata, id=table_id))
    return Replayed(
        running, not unknown and running is not None, tuple(unknown), known, has_protocol, differences, contradicted
    )


def _in_place(base: Base, version: VersionFile | None) -> bool:
    """Whether a base lies in its own place. A state says its number, a checkpoint only the time of its version.

    Such a base counts more than version files that say otherwise: readers use the base, its checksum holds, and a version file
    does not say which version it is.
    """
    return base.is_state or version is None or _based(base).timestamp == version.timestamp


def _based(base: Base) -> Snapshot:
    assert base.snapshot is not None
    return base.snapshot


def _applied(remains: Remains, running: Snapshot | None, version: VersionFile | None, number: int) -> Snapshot | None:
    """The snapshot after a version; None where the version cannot be applied."""
    if version is None:
        return None
    if number == 0:
        if version.actions.metadata is None:
            return None
        return first_snapshot(remains.log.url, 0, version.timestamp, version.actions)
    if running is None:
        running = _blank(remains, version)
    return apply_version(running, number, version.timestamp, version.actions)


def _blank(remains: Remains, version: VersionFile) -> Snapshot:
    """The table before its first readable version. Its metadata, unless the version has it, is unknown."""
    unknown = MetadataAction(id=remains.table_id or "", schema_string="")
    start = Actions(metadata=version.actions.metadata or unknown)
    return first_snapshot(remains.log.url, version.version, version.timestamp, start)


def difference(replayed: Snapshot, base: Base) -> str | None:
    """What a state or checkpoint says otherwise than the versions up to its own; None where both say the same."""
    based = _based(base)
    what = _other_files(_sorted(replayed), _sorted(based))
    if what is not None:
        return what
    if without_schemas(based.metadata) != without_schemas(replayed.metadata):
        return "its metadata is not the one that was committed"
    if based.protocol != replayed.protocol:
        return "its protocol is not the one that was committed"
    for app, txn in based.transactions.items():
        known = replayed.transactions.get(app)
        if known is None or known.version != txn.version:
            return f"the batch of {app} is not the one that was committed"
    return None


def live_columns(snapshot: Snapshot, names: list[str]) -> pa.Table:
    """Columns of the live files. Of a state's files only these columns are read, and none is kept in memory."""
    base = snapshot.file_set.base
    if isinstance(base, StateFiles) and snapshot.file_set.parent is None:
        return base.columns(names)
    return snapshot.files.select(names)


def _sorted(snapshot: Snapshot) -> pa.Table:
    return live_columns(snapshot, ["path", *_COMPARED]).sort_by("path")


def _other_files(wanted: pa.Table, found: pa.Table) -> str | None:
    paths, others = wanted.column("path"), found.column("path")
    if not paths.equals(pa.chunked_array([pc.unique(others)])):
        missing = paths.filter(pc.invert(pc.is_in(paths, value_set=others.combine_chunks())))
        extra = others.filter(pc.invert(pc.is_in(others, value_set=paths.combine_chunks())))
        example = next(column[0].as_py() for column in (missing, extra) if len(column))
        return f"it lacks {len(missing)} live files and has {len(extra)} that are not, such as {example}"
    if len(others) > len(paths):
        return None  # a path that is there twice is a finding of its own
    for start in range(0, wanted.num_rows, _AT_A_TIME):
        left, right = wanted.slice(start, _AT_A_TIME).to_pylist(), found.slice(start, _AT_A_TIME).to_pylist()
        for entry, other in zip(left, right, strict=True):
            if any(_plain(entry[name]) != _plain(other[name]) for name in _COMPARED):
                return f"its entry of {entry['path']} is not the one that was committed"
    return None


def _plain(value: Any) -> Any:
    """A value without differences that mean nothing: a map is a dict, and an absent key is a null."""
    if isinstance(value, list):
        return {key: item for key, item in value if item is not None}
    return {} if value is None else value
