"""Bugs of restores: rules of the protocol left out, one at a time."""

from __future__ import annotations

from typing import Any
from unittest import mock

import indextables.log.conflicts as conflicts_module
import indextables.table.write.restore as restore_module
from indextables.log.deciding.restored_files import RestoredFiles, RestoreTo, restored_files
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import Snapshot
from indextables.table.handle import TableHandle
from sim.planting import Patch, planted


@planted(41, "restore-below-the-floor", "restores", "below-floor")
def _restore_below_the_floor() -> list[Patch]:
    """A restore does not look whether time travel was truncated above its target meanwhile."""

    def without_floor(target: RestoreTo, current: Snapshot) -> RestoredFiles:
        return restored_files(target, current.changed(floor=0))

    return [mock.patch.object(conflicts_module, "restored_files", without_floor)]


@planted(42, "open-below-the-floor", "restores", "below-floor")
def _open_below_the_floor() -> list[Patch]:
    """A version below the floor can be opened while its files are there, and nobody looks at the floor when it is restored."""

    def open_older(handle: TableHandle, version: int, timestamp: Any) -> TableHandle:
        del timestamp
        return handle.moved(open_log(handle.log, version))

    def without_floor(target: RestoreTo, current: Snapshot) -> RestoredFiles:
        return restored_files(target, current.changed(floor=0))

    return [
        mock.patch.object(restore_module, "open_older", open_older),
        mock.patch.object(restore_module, "restored_files", without_floor),
        mock.patch.object(conflicts_module, "restored_files", without_floor),
    ]


@planted(43, "restore-as-planned", "restores", "restored-other-rows")
def _restore_as_planned() -> list[Patch]:
    """A restore that lost a race removes what it planned to remove, and nothing that came meanwhile."""
    planned: list[tuple[RestoreTo, list[str]]] = []

    def first_plan(target: RestoreTo, current: Snapshot) -> RestoredFiles:
        now = restored_files(target, current)
        known = next((removes for other, removes in planned if other is target), None)
        if known is None:
            planned.append((target, now.removes))
            return now
        return RestoredFiles([path for path in now.removes if path in known], now.adds)

    return [mock.patch.object(conflicts_module, "restored_files", first_plan)]


@planted(46, "target-not-kept", "restored_and_purged", "data-gone", "snatched")
def _target_not_kept() -> list[Patch]:
    """A restore does not look whether its target is still there after the commit: a purge may have taken the files."""
    return [mock.patch.object(restore_module, "check_target_kept")]
