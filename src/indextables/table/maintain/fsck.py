"""`Table.fsck`: everything that is wrong with a table, one finding a row. Works where the table cannot be opened.

    list data files ─▶ check the log ─▶ check every live split ─▶ orphans, doubled rows, skips ─▶ findings
                            └─ with `repair`: what is safe in place, then the log is checked once more

Data files are listed before the log is read: a split that a commit names meanwhile is not taken for an orphan.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from indextables.core.errors import InvalidKey, TableNotFound
from indextables.core.metrics import METRICS
from indextables.core.options import Options
from indextables.log.check.check_log import CheckedLog, check_log
from indextables.log.check.findings import Finding, error, findings_table, warning
from indextables.log.log_paths import LOG_DIR
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.table.format_gate import holds_bundles
from indextables.table.maintain.checks.check_places import check_places, list_splits
from indextables.table.maintain.checks.check_splits import check_splits
from indextables.table.maintain.checks.row_identity import RowIdentity, doubled
from indextables.table.maintain.checks.safe_repair import repair_in_place
from indextables.table.open_log import open_log
from indextables.table.open_table import open_table_of
from indextables.table.progress import ProgressCounter, Watcher


def check_table(
    url: str | os.PathLike[str],
    options: Mapping[str, Any] | Options | None = None,
    *,
    repair: bool = False,
    data_only: bool = False,
    progress: Watcher | None = None,
) -> pa.Table:
    """What is wrong with the table at `url`, also where it cannot be opened; see `Table.fsck`.

    With `data_only` the live splits of a table that can be opened are looked at, and nothing else. Raises TableNotFound where
    there is neither a log nor a split, StorageError, UnsupportedProtocol, and with `data_only` what opening raises.
    """
    log = open_log(url, options)
    if data_only:
        handle = open_table_of(log)
        handle.require_bundles("checking")
        return findings_table(_splits(log, handle.snapshot, handle.files(), progress))
    return fsck(log, repair=repair, progress=progress)


@METRICS.measured("fsck", findings=lambda found: found.num_rows)
def fsck(log: TableLog, *, repair: bool = False, progress: Watcher | None = None) -> pa.Table:
    """What is wrong with a table. With `repair`, what is safe in place is repaired, and its finding says so."""
    counter = ProgressCounter(progress)
    there, unlisted = _listed(log, counter)
    checked = check_log(log, counter.look)
    if checked.remains.is_empty and there is not None:
        return findings_table(_without_log(log, there))
    found = list(checked.findings)
    if repair:
        repaired = repair_in_place(checked)
        if repaired:
            found = _after(found, check_log(log, counter.look), repaired)
    found += _data(checked, there, progress)
    return findings_table([*unlisted, *found])


def _listed(log: TableLog, counter: ProgressCounter) -> tuple[dict[str, int] | None, list[Finding]]:
    """The data files at the table's place; None, with a finding, where a name among them ends every listing."""
    try:
        return list_splits(log, counter), []
    except InvalidKey as problem:
        why = f"{problem.message}; until then orphans are not found, and purge deletes nothing"
        return None, [error("unusable_key", str(problem.details.get("key") or log.url), why)]


def _without_log(log: TableLog, there: Mapping[str, int]) -> Iterator[Finding]:
    if not there:
        raise TableNotFound(f"there is no table at {log.url}; create one with Table.create", url=log.url)
    message = f"there is no log beside {len(there)} splits; Table.repair writes one from their footers"
    yield error("log_missing", LOG_DIR, message)


def _after(before: list[Finding], now: CheckedLog, repaired: str) -> list[Finding]:
    """The findings about the log after a repair: what is better than before says why."""
    worst = {(found.kind, found.path): found for found in now.findings}
    after = list(now.findings)
    for found in before:
        still = worst.get((found.kind, found.path))
        if still is not None and still.severity == found.severity:
            continue
        if still is not None:
            after.remove(still)
        after.append(replace(found, severity="warning", message=f"repaired, {repaired}: {found.message}"))
    return after


def _data(checked: CheckedLog, there: Mapping[str, int] | None, progress: Watcher | None) -> Iterator[Finding]:
    """What is wrong with the splits of the newest version, as readers open it or as far as the log can be read."""
    snapshot = checked.opened or checked.replayed.snapshot
    if snapshot is None or not holds_bundles(snapshot.protocol):
        return
    yield from _splits(checked.remains.log, snapshot, snapshot.files, progress)
    live = set(snapshot.files.column("path").to_pylist())
    if there is not None:
        yield from check_places(checked.remains, there, live, snapshot.metadata.partition_columns)
    yield from _skips(snapshot, live)


def _splits(log: TableLog, snapshot: Snapshot, files: pa.Table, progress: Watcher | None) -> Iterator[Finding]:
    """What is wrong with live splits, each by itself and all of them together."""
    identities: list[RowIdentity] = []
    for split in check_splits(log, files, tuple(snapshot.metadata.partition_columns), progress):
        yield from split.findings
        if split.identity is not None:
            identities.append(split.identity)
    for first, second in doubled(identities):
        message = (
            f"{second.path} holds rows of {first.path}, and both are live, so that these rows are counted twice; remove the "
            "one whose rows the other has with commit_files(removes=[…])"
        )
        yield error("rows_twice", second.path, message)


def _skips(snapshot: Snapshot, live: set[str]) -> Iterator[Finding]:
    newest = {skip.path: skip for skip in snapshot.skips if skip.path in live}
    for path, skip in newest.items():
        message = f"{skip.operation} left {path} out {skip.skip_count} times: {skip.reason}"
        yield warning("split_skipped", path, message)
