"""`Table.repair`: a new log beside a damaged one, or in place of one that is gone. The old log and all splits stay as they are.

    log objects that can be read ─▶ live files, as far as they are known ─┐
    footers of splits that nothing names, where versions are lost         ─┴─▶ those that are whole ─▶ a new log, elsewhere

The new log has a new table id. Whoever knew the table by the old one, a handle, a cache or a stream, notices at the next look
that the table was replaced, instead of going on from versions that do not exist any more.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from shlex import quote
from typing import Any, Literal

from indextables.core.errors import OptionError, TableNotFound
from indextables.core.metrics import METRICS
from indextables.core.options import Options
from indextables.log.check.check_log import check_log
from indextables.log.json_checkpoint import useful_skips, with_registry
from indextables.log.log_paths import DAMAGED, LOG_DIR, REPAIRED
from indextables.log.protocol import NEW_TABLE_PROTOCOL
from indextables.log.rebuild.log_elsewhere import LogElsewhere
from indextables.log.rebuild.new_log import NewLog, refuse_objects, write_log
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.storage.resolve import resolve
from indextables.table.maintain.checks.check_places import list_splits
from indextables.table.maintain.recovery.lost_metadata import metadata_from
from indextables.table.maintain.recovery.salvage import Salvaged, salvage
from indextables.table.open_log import open_log
from indextables.table.progress import ProgressCounter, Watcher


@dataclass(frozen=True)
class Repaired:
    """A new log."""

    source_path: str
    """The log that was read."""
    target_path: str
    """The log that was written."""
    source_version: int | None
    """The version up to which the old log could be read; None where nothing of it could."""
    total_splits: int
    """Splits that belong to the table, as far as anybody can know."""
    valid_splits: int
    """Of these, splits that are there and whole: those of the new log."""
    missing_splits: int
    """Of these, splits that are gone or damaged, and not in the new log."""
    status: Literal["success", "partial"]
    """`success` if the new log is known to hold the last version, `partial` if something is missing or was not known."""
    message: str
    """What is missing or unknown, and how to put the new log in the place of the old one."""


@dataclass(frozen=True)
class Place:
    """A table and the directory of one of its logs."""

    table: str
    log: str
    options: Options

    def open(self) -> TableLog:
        """The log."""
        return open_log(self.table, self.options, log_url=self.log)


@METRICS.measured("repair", splits_missing=lambda done: done.missing_splits)
def repair(
    source_log: str | os.PathLike[str],
    target_log: str | os.PathLike[str] | None = None,
    options: Mapping[str, Any] | Options | None = None,
    progress: Watcher | None = None,
) -> Repaired:
    """Write a new log from what can be read; see `Table.repair`."""
    checked = options if isinstance(options, Options) else Options(options)
    source = place_of(source_log, checked)
    log = source.open()
    target = source.table + f"/{REPAIRED}_{_stamp(log.clock.wall_ms())}"
    if target_log is not None:
        target = resolve(target_log, checked).url
    if target == source.log or target.startswith(f"{source.log}/"):
        raise OptionError(
            f"the new log cannot be written to {target}, inside the log to repair: name another directory"
        )
    return repair_log(log, replace(source, log=target).open(), progress)


def place_of(log: str | os.PathLike[str], options: Options) -> Place:
    """The table that a log belongs to, from the URL of the log or of the table."""
    url = resolve(log, options).url
    table, _, name = url.rpartition("/")
    if name.startswith(LOG_DIR):
        return Place(table, url, options)
    return Place(url, f"{url}/{LOG_DIR}", options)


def repair_log(source: TableLog, target: TableLog, progress: Watcher | None = None) -> Repaired:
    """Read one log and write another one. Raises TableNotFound, TableExists, StorageError, UnsupportedProtocol."""
    target_url = _log_url(target)
    refuse_objects(target, target_url)
    counter = ProgressCounter(progress)
    there = list_splits(source, counter)
    checked = check_log(source, counter.look)
    if checked.remains.is_empty and not there:
        raise TableNotFound(f"there is no table at {source.url}: neither a log nor a split", url=source.url)
    found = salvage(checked, there, counter)
    if found.snapshot is None and not found.files:
        raise TableNotFound(
            f"nothing of the table at {source.url} can be read: neither an object of its log nor the footer of a split",
            url=source.url,
        )
    known = checked.replayed.snapshot
    new, about_metadata = _new_log(source, found)
    write_log(target, new)
    doubts = [*found.doubts, *about_metadata]
    complete = not doubts and not found.missing
    return Repaired(
        source_path=_log_url(source),
        target_path=target_url,
        source_version=known.version if known is not None else None,
        total_splits=len(found.files) + len(found.missing),
        valid_splits=len(found.files),
        missing_splits=len(found.missing),
        status="success" if complete else "partial",
        message=_message(source, target_url, found, doubts, had_log=not checked.remains.is_empty),
    )


def _new_log(source: TableLog, found: Salvaged) -> tuple[NewLog, tuple[str, ...]]:
    """What the new log holds, and what could not be known about the table's metadata."""
    snapshot = found.snapshot
    parameters: dict[str, Any] = {"source": _log_url(source)}
    if snapshot is not None:
        parameters |= {"sourceTableId": snapshot.metadata.id, "sourceVersion": snapshot.version}
    if snapshot is not None and snapshot.metadata.schema_string:
        metadata = with_registry(snapshot)
        return (
            NewLog(
                snapshot.protocol if found.has_protocol else NEW_TABLE_PROTOCOL,
                metadata,
                found.files,
                [txn for app in snapshot.transactions if (txn := snapshot.latest_txn(app)) is not None],
                _live_skips(snapshot, {add.path for add in found.files}),
                parameters,
            ),
            (),
        )
    rebuilt = metadata_from(found.footers)
    txns = tuple(snapshot.transactions.values()) if snapshot is not None else ()
    return NewLog(NEW_TABLE_PROTOCOL, rebuilt.metadata, found.files, txns, (), parameters), rebuilt.doubts


def _live_skips(snapshot: Snapshot, live: set[str]) -> list[Any]:
    return [skip for skip in useful_skips(snapshot) if skip.path in live]


def _log_url(log: TableLog) -> str:
    store = log.store
    return store.log_url if isinstance(store, LogElsewhere) else f"{log.url}/{LOG_DIR}"


def _message(source: TableLog, target: str, found: Salvaged, doubts: Iterable[str], *, had_log: bool) -> str:
    said = [f"{len(found.files)} splits are in the new log"]
    if found.missing:
        example, why = next(iter(found.missing.items()))
        said.append(f"{len(found.missing)} are gone or damaged, such as {example} ({why})")
    said += doubts
    stamp = _stamp(source.clock.wall_ms())
    place = f"{source.url}/{LOG_DIR}"
    if target == place:
        return "; ".join(said)
    commands = [_move(target, place)]
    if _is_in_the_way(place, had_log=had_log):
        commands.insert(0, _move(place, f"{source.url}/{DAMAGED}_{stamp}"))
    return f"{'; '.join(said)}. While nobody reads or writes the table, run: {' && '.join(commands)}"


def _is_in_the_way(place: str, *, had_log: bool) -> bool:
    """Whether something lies where the new log belongs. On a disk also an empty directory does."""
    return os.path.lexists(place) if _is_on_disk(place) else had_log


def _is_on_disk(url: str) -> bool:
    return "://" not in url


def _move(old: str, new: str) -> str:
    """The command that moves a log, quoted for a shell. On a disk, where something lies at the new place, it fails and says so.

    `mv` would move the log into a log that somebody made there meanwhile, and only GNU's has an option against that.
    """
    if _is_on_disk(old) and _is_on_disk(new):
        told = quote(f"{new} is in the way")
        return f"if test -e {quote(new)}; then echo {told} >&2; false; else mv {quote(old)} {quote(new)}; fi"
    if old.startswith("s3://") and new.startswith("s3://"):
        return f"aws s3 mv --recursive {quote(old)} {quote(new)}"
    if old.startswith("gs://") and new.startswith("gs://"):
        return f"gcloud storage mv {quote(old + '/*')} {quote(new + '/')}"
    return f"move every object under '{old}' to '{new}'"


def _stamp(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y%m%dT%H%M%S")
