"""`Table.truncate_time_travel`: the newest version becomes the oldest that can be opened.

    commit a version that is the floor ──▶ write its state ──▶ clean up below it

From the commit on, nobody opens a version below the floor. Log objects go as clean-up allows: a version file once it is older
than the safety age, and nothing below a state that is not an hour old. So most of a young log goes with a later clean-up. Data
files that only older versions had go with purge.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from indextables.core.errors import IndexTablesError
from indextables.core.metrics import METRICS
from indextables.log.cleanup import CleanupReport, clean_up
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.listing import list_versions
from indextables.log.log_paths import parse_log_key, parse_state_key
from indextables.log.refresh import refresh_now
from indextables.log.snapshot import check_same_table
from indextables.log.state.checkpoint import checkpoint
from indextables.log.state.collect import collect_manifests
from indextables.table.handle import TableHandle

OPERATION: Final = "TRUNCATE TIME TRAVEL"


@dataclass(frozen=True)
class Truncated:
    """What a truncation of time travel did, or would do."""

    status: str
    """`success`, `no_action` where nothing is left to do, `dry_run`, or `partial` where clean-up failed after the commit."""
    checkpoint_version: int
    """The oldest version that can be opened afterwards. A dry run names the version that the commit would be."""
    versions_deleted: int
    """Version files that are gone, or would be."""
    checkpoints_deleted: int
    """States and JSON checkpoints that are gone, or would be."""
    files_preserved: int
    """Data files of the newest version. All of them stay."""
    message: str


@dataclass(frozen=True)
class TruncateResult:
    """What a truncation did, and the table afterwards."""

    handle: TableHandle
    truncated: Truncated


@METRICS.measured("truncate_time_travel", versions_deleted=lambda done: done.truncated.versions_deleted)
def truncate_time_travel(handle: TableHandle, *, dry_run: bool = False) -> TruncateResult:
    """Give up all versions but the newest, whose rows stay. Raises what `Table.commit_files` raises.

    A table that nobody wrote to since its last truncation is not committed to again: only clean-up runs once more.
    """
    newest = refresh_now(handle)
    check_same_table(handle.snapshot, newest)
    handle = handle.moved(newest)
    preserved = handle.files().num_rows
    if handle.version == 0:
        return TruncateResult(handle, Truncated("no_action", 0, 0, 0, preserved, "the table has no older version"))
    if dry_run:
        return TruncateResult(handle, _preview(handle, preserved))
    had_floor = handle.snapshot.floor == handle.version
    if not had_floor:
        done = commit(handle, Change(data_change=False), operation=OPERATION, time_travel_floor=True)
        handle = handle.moved(done.snapshot)
    try:
        after, report = _cleaned(handle)
        younger = _left_below(after)
    except IndexTablesError as error:
        message = f"version {handle.snapshot.floor} is the oldest now, but what follows failed: {error}"
        return TruncateResult(handle, Truncated("partial", handle.snapshot.floor, 0, 0, preserved, message))
    return TruncateResult(after, _summary(after, report, younger, preserved, had_floor=had_floor))


def _cleaned(handle: TableHandle) -> tuple[TableHandle, CleanupReport]:
    """Write the state of the floor, and delete what may go."""
    after = handle.moved(checkpoint(handle, compact=True).snapshot)
    report = clean_up(after, dry_run=False)
    collect_manifests(after, dry_run=False)
    return after, report


def _preview(handle: TableHandle, preserved: int) -> Truncated:
    """What would go at once. The state that a truncation writes is too young to let more go."""
    floor = handle.version + 1
    report = clean_up(handle.moved(handle.snapshot.changed(floor=floor)), dry_run=True)
    versions, states = _counted(report.deleted)
    left = len(_below(list_versions(handle.log.store, 0).versions, floor)) - versions
    message = f"version {floor} would be the oldest; {_later(handle, left)}"
    return Truncated("dry_run", floor, versions, states, preserved, message)


def _summary(handle: TableHandle, report: CleanupReport, younger: int, preserved: int, *, had_floor: bool) -> Truncated:
    versions, states = _counted(report.deleted)
    floor = handle.snapshot.floor
    status = "partial" if report.failed else "no_action" if had_floor and not report.deleted else "success"
    failed = f"; {len(report.failed)} objects could not be deleted" if report.failed else ""
    message = f"version {floor} is the oldest now; {_later(handle, younger)}{failed}"
    return Truncated(status, floor, versions, states, preserved, message)


def _counted(keys: Iterable[str]) -> tuple[int, int]:
    """How many of the keys are version files, and how many are states or JSON checkpoints."""
    versions = states = 0
    for key in keys:
        name = parse_log_key(key)
        versions += name is not None and name.is_version
        states += parse_state_key(key) is not None or (name is not None and name.is_checkpoint and name.part is None)
    return versions, states


def _left_below(handle: TableHandle) -> int:
    return len(_below(list_versions(handle.log.store, 0).versions, handle.snapshot.floor))


def _below(versions: Iterable[int], floor: int) -> list[int]:
    """The versions that a clean-up may delete some day. Version 0 is the table's identity and stays."""
    return [number for number in versions if 0 < number < floor]


def _later(handle: TableHandle, left: int) -> str:
    if not left:
        return "no older version file is left"
    hours = handle.snapshot.safety_age_seconds / 3600
    return (
        f"{left} older version files go with a later clean-up, once they are {hours:g} hours old (the safety age) and a state "
        "above them is an hour old"
    )


__all__ = ["OPERATION", "TruncateResult", "Truncated", "truncate_time_travel"]
