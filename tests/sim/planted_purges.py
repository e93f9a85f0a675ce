"""Bugs of purge: in what it takes for named, and in when it looks. See `planted`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from unittest import mock

import numpy as np

import indextables.log.json_checkpoint as checkpoint_module
import indextables.log.reachability as reachability_module
import indextables.table.maintain.purge as purge_module
import indextables.table.maintain.purging.orphans as orphans_module
from indextables.core.errors import ObjectNotFound
from indextables.log.actions import Actions
from indextables.log.reachability import Hashes
from indextables.log.snapshot import LogAtVersion
from indextables.log.table_log import TableLog
from indextables.table.maintain.purging.orphans import Ages, PurgePlan
from indextables.table.progress import ProgressCounter
from sim.planting import Patch, planted


@planted(37, "purge-by-age", "purges", "data-gone", "snatched")
def _purge_by_age() -> list[Patch]:
    """Splits are purged by their age alone."""
    nothing = np.empty(0, np.uint64)
    return [mock.patch.object(orphans_module, "reachable_hashes", return_value=nothing)]


@planted(38, "young-splits", "purges", "data-gone")
def _young_splits() -> list[Patch]:
    """Splits that no version names are purged, however young they are."""
    real = orphans_module.list_splits

    def list_splits(log: TableLog, columns: Iterable[str], before_ms: int, progress: ProgressCounter) -> Any:
        return real(log, columns, 10**15, progress)

    return [mock.patch.object(orphans_module, "list_splits", list_splits)]


@planted(39, "listed-after-the-log", "sleepy_purge", "data-gone", "snatched")
def _listed_after_the_log() -> list[Patch]:
    """Purge reads the log first, and then lists the splits."""
    real = orphans_module.plan_purge
    read: dict[LogAtVersion, Hashes] = {}

    def plan_purge(at: LogAtVersion, ages: Ages, progress: ProgressCounter, *, preview: bool = False) -> PurgePlan:
        read[at] = orphans_module.named_splits(at, ProgressCounter(None))
        with mock.patch.object(orphans_module, "named_splits", return_value=read[at]):
            return real(at, ages, progress, preview=preview)

    return [
        mock.patch.object(purge_module, "plan_purge", plan_purge),
        mock.patch.object(purge_module, "named_splits", lambda at, progress: read[at]),
    ]


@planted(40, "forgets-parts", "in_parts", "data-gone", "snatched")
def _forgets_parts() -> list[Patch]:
    """The splits that only the parts of a JSON checkpoint name are taken for orphans."""

    def read_checkpoint(log: TableLog, version: int, found: Any, table_id: str | None) -> Actions:
        text = checkpoint_module.unpack(found.meta.key, found.data, 1 << 30)
        if checkpoint_module.part_keys(found.meta.key, version, text, None) is not None:
            return Actions()
        return checkpoint_module.read_checkpoint(log, version, found, table_id)

    return [mock.patch.object(reachability_module, "read_checkpoint", read_checkpoint)]


@planted(44, "ignores-removes", "overwritten", "data-gone", "snatched")
def _ignores_removes() -> list[Patch]:
    """A split that is named only where it is removed, or in an entry that a tombstone hides, is taken for an orphan."""
    real_manifest, real_states = reachability_module.keys_in_manifest, reachability_module.read_states
    hidden: dict[TableLog, set[str]] = {}

    def paths(actions: Actions) -> Iterator[str]:
        yield from (add.path for add in actions.adds)

    def in_version(log: TableLog, number: int) -> list[str] | None:
        version = log.read_version(number)
        return None if version is None else list(paths(version.actions))

    def read_states(log: TableLog, states: Any) -> Any:
        found = list(real_states(log, states))
        hidden[log] = {path for state in found for path in state.tombstones}
        return found

    def in_manifest(log: TableLog, version: int, item: Any, ours: bool, digest: Any) -> Any:
        def without_hidden(keys: Iterable[str]) -> Any:
            return digest(key for key in keys if key not in hidden.get(log, ()))

        return real_manifest(log, version, item, ours, without_hidden)

    return [
        mock.patch.object(reachability_module, "_paths", paths),
        mock.patch.object(TableLog, "paths_in_version", in_version),
        mock.patch.object(reachability_module, "read_states", read_states),
        mock.patch.object(reachability_module, "keys_in_manifest", in_manifest),
    ]


@planted(45, "gone-is-gone", "vanishing", "data-gone", "snatched")
def _gone_is_gone() -> list[Patch]:
    """A log object that vanishes while purge reads the log names nothing, and purge goes on."""
    real_versions, real_states = reachability_module.keys_in_versions, reachability_module.read_states
    real_manifest, real_checkpoint = reachability_module.keys_in_manifest, reachability_module.keys_in_checkpoint

    def in_versions(log: TableLog, versions: list[int], digest: Any) -> Iterator[Any]:
        for version in versions:
            try:
                yield from list(real_versions(log, [version], digest))
            except ObjectNotFound:
                continue

    def read_states(log: TableLog, states: Any) -> Iterator[Any]:
        for each in states:
            try:
                yield from list(real_states(log, [each]))
            except ObjectNotFound:
                continue

    def in_manifest(log: TableLog, version: int, item: Any, ours: bool, digest: Any) -> Any:
        return real_manifest(log, version, item, False, digest)

    def in_checkpoint(log: TableLog, version: int, meta: Any, digest: Any, table_id: str | None) -> Any:
        try:
            return real_checkpoint(log, version, meta, digest, table_id)
        except ObjectNotFound:
            return digest(())

    return [
        mock.patch.object(reachability_module, "keys_in_versions", in_versions),
        mock.patch.object(reachability_module, "read_states", read_states),
        mock.patch.object(reachability_module, "keys_in_manifest", in_manifest),
        mock.patch.object(reachability_module, "keys_in_checkpoint", in_checkpoint),
    ]
