"""`ChangePlan`: which files each version removed and added, by partition. A value that pickles, made from the log alone.

    version files after `since` ──▶ adds and removes that change data ──▶ VersionChanges, a PartitionChanges for each partition

Rows of different partitions differ in a column, so the rows that a commit removed from a partition are compared with the rows
that the same commit added there, and with no others. A task of another process may take a version, or with
`VersionChanges.divided` a partition of a version.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeAlias

import pyarrow as pa

from indextables.core.predicate import Predicate
from indextables.core.values import from_text, is_text
from indextables.log.actions import Actions, AddAction, RemoveAction, added_again
from indextables.log.file_entries import files_table
from indextables.log.history import timed_versions, versions_after
from indextables.log.pruning.file_pruning import prune_files
from indextables.log.snapshot import LogAtVersion
from indextables.table.handle import TableHandle
from indextables.table.split_entry import SplitEntry

_Texts: TypeAlias = tuple[tuple[str, str | None], ...]
"""Partition columns and their values as text."""


@dataclass(frozen=True)
class PartitionChanges:
    """The files of one partition that a version removed and added, in the order of the version file."""

    removed: tuple[SplitEntry, ...]
    added: tuple[SplitEntry, ...]
    same_values: bool
    """True if all files have the same partition values. False for a version that may have other partition columns than the
    version before: all its files are in one `PartitionChanges`."""

    @property
    def is_replacement(self) -> bool:
        """True if rows were removed and others were added, so that only a comparison tells which rows changed."""
        return bool(self.removed and self.added)

    @property
    def bytes(self) -> int:
        """Bytes of the files, as far as the log tells, for those who hand out tasks."""
        return sum(entry.size or 0 for entry in chain(self.removed, self.added))


@dataclass(frozen=True)
class VersionChanges:
    """What one version did to the table's rows."""

    version: int
    timestamp_ms: int
    """When the version was committed: milliseconds since 1970."""
    partitions: tuple[PartitionChanges, ...]

    @property
    def is_replacement(self) -> bool:
        """True if rows have to be compared."""
        return any(partition.is_replacement for partition in self.partitions)

    def divided(self) -> tuple[VersionChanges, ...]:
        """The same changes, each partition by itself. A partition's rows are the same whether the others are asked for or not."""
        return tuple(replace(self, partitions=(partition,)) for partition in self.partitions)


@dataclass(frozen=True)
class ChangePlan:
    """What the versions after `since` did to the table's rows, up to `until`. Versions that changed no rows are left out."""

    since: int
    until: int
    versions: tuple[VersionChanges, ...]


def plan_changes(handle: TableHandle, since: int, selected: Predicate | None = None) -> ChangePlan:
    """What the versions after `since` did, up to the handle's version.

    Files of partitions for which `selected` is never true are left out. Raises VersionNotFound, ChangesGone, ForeignTable.
    """
    handle.require_bundles("reading")
    found = [
        _Found(version.version, time, version.actions)
        for version, time in timed_versions(versions_after(handle, since))
    ]
    # the partition columns are those of the handle after the newest change of metadata
    settled = max((place for place, one in enumerate(found) if one.actions.metadata is not None), default=-1) + 1
    keys = _PartitionKeys(handle)
    moved = [one.moved() for one in found]
    if selected is not None:
        moved[settled:] = _selected(handle, moved[settled:], selected)
    versions = [
        VersionChanges(one.version, one.timestamp_ms, tuple(keys.partitions(files, divide=place >= settled)))
        for place, (one, files) in enumerate(zip(found, moved, strict=True))
    ]
    return ChangePlan(since, handle.version, tuple(one for one in versions if one.partitions))


@dataclass(frozen=True)
class _Moved:
    """The files that one version removed and added."""

    removed: tuple[SplitEntry, ...]
    added: tuple[SplitEntry, ...]


@dataclass(frozen=True)
class _Found:
    """One version as the log has it."""

    version: int
    timestamp_ms: int
    actions: Actions

    def moved(self) -> _Moved:
        """The files of a change of data. A file that was removed and added again in the same version changed nothing."""
        again = added_again(self.actions)
        removes = {remove.path: remove for remove in self.actions.removes if remove.data_change}
        adds = {add.path: add for add in self.actions.adds if add.data_change}
        return _Moved(
            tuple(_removed_entry(remove) for path, remove in removes.items() if path not in again),
            tuple(_added_entry(add) for path, add in adds.items() if path not in again),
        )


def _added_entry(add: AddAction) -> SplitEntry:
    values = tuple((add.partition_values or {}).items())
    return SplitEntry(add.path, values, add.size, add.footer_start_offset, add.num_records)


def _removed_entry(remove: RemoveAction) -> SplitEntry:
    return SplitEntry(remove.path, tuple((remove.partition_values or {}).items()), remove.size, None, None)


def _selected(handle: TableHandle, moved: Sequence[_Moved], selected: Predicate) -> list[_Moved]:
    """The files that may hold rows for which the predicate is true, as far as their partitions tell."""
    entries = [entry for one in moved for entry in (*one.removed, *one.added)]
    if not entries:
        return list(moved)
    adds = [AddAction(entry.path, dict(entry.partition_values)) for entry in entries]
    files = files_table(adds, range(len(adds)), [0] * len(adds))  # numbers of entries in place of versions
    found = prune_files(files, selected, handle.schema, handle.partition_columns)
    kept = {id(entries[number]) for number in found.column("addedAtVersion").to_pylist()}
    return [_Moved(_those(one.removed, kept), _those(one.added, kept)) for one in moved]


def _those(entries: Iterable[SplitEntry], kept: set[int]) -> tuple[SplitEntry, ...]:
    return tuple(entry for entry in entries if id(entry) in kept)


class _PartitionKeys:
    """Partition values as Python values, which are equal where the rows of two files have equal values."""

    def __init__(self, table: LogAtVersion) -> None:
        schema = table.snapshot.schema
        self._types = {name.lower(): schema.field(name).type for name in table.snapshot.metadata.partition_columns}
        self._known: dict[_Texts, Hashable] = {}

    def partitions(self, files: _Moved, *, divide: bool) -> Iterator[PartitionChanges]:
        """The files of one version by partition, or all together unless `divide`."""
        if not divide and files.removed and files.added:
            yield PartitionChanges(files.removed, files.added, same_values=False)
            return
        groups: dict[Hashable, tuple[list[SplitEntry], list[SplitEntry]]] = {}
        for side, entries in enumerate((files.removed, files.added)):
            for entry in entries:
                groups.setdefault(self._of(entry.partition_values), ([], []))[side].append(entry)
        for removed, added in groups.values():
            yield PartitionChanges(tuple(removed), tuple(added), same_values=True)

    def _of(self, texts: _Texts) -> Hashable:
        key = self._known.get(texts)
        if key is None:
            named = {name.lower(): text for name, text in texts}
            key = self._known[texts] = tuple(_value(named.get(name), kind) for name, kind in self._types.items())
        return key


def _value(text: str | None, kind: pa.DataType) -> Hashable:
    """A partition value. NaN is the text "NaN", because Python's NaN does not equal itself."""
    if text is None or (text == "" and not is_text(kind)):
        return None
    value: Hashable = from_text(text, kind)
    return "NaN" if value != value else value


__all__ = ["ChangePlan", "PartitionChanges", "VersionChanges", "plan_changes"]
