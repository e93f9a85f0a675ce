"""The splits that no log object names, and the log objects that are past their time: what a purge may delete.

    what time is it at the store ──▶ list the splits ──▶ plan the clean-up ──▶ read the log ──▶ splits that it does not name

The order matters. A split that is committed while the log is read was listed before, and is too young: a commit is refused when
its upload began more than half the safety age ago. A split that is listed, old, and not named by what the log holds afterwards
can be named by no later version either.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from indextables.core.errors import CorruptLog, ForeignTable, ObjectNotFound, VersionGap
from indextables.log.cleanup import clean_up, store_time
from indextables.log.reachability import Hashes, reachable_hashes
from indextables.log.snapshot import HOUR_MS, LogAtVersion
from indextables.log.state.collect import collect_manifests
from indextables.storage.store import ObjectMeta
from indextables.table.maintain.purging.data_files import DataFiles, list_splits, stale_temporaries
from indextables.table.progress import ProgressCounter

logger = logging.getLogger("indextables")

_ROUNDS: Final = 3
"""Times that the log is read, at most: a log object that vanishes meanwhile makes what was read void."""


@dataclass(frozen=True)
class Ages:
    """How old an object must be, in hours, before a purge deletes it."""

    split_hours: float
    log_hours: float
    """How far back time travel reaches after the purge."""

    @property
    def log_ms(self) -> int:
        """The retention of the log in milliseconds."""
        return round(self.log_hours * HOUR_MS)


@dataclass(frozen=True)
class PurgePlan:
    """What a purge may delete."""

    splits: DataFiles
    """Splits that are old enough. Some of them are orphans."""
    orphans: DataFiles
    """Splits that no log object names, but for log objects that go themselves."""
    log_keys: tuple[str, ...]
    """Versions, checkpoints with their parts, and states that are past their time."""
    manifest_keys: tuple[str, ...]
    temporaries: tuple[ObjectMeta, ...]


def plan_purge(at: LogAtVersion, ages: Ages, progress: ProgressCounter, *, preview: bool = False) -> PurgePlan:
    """Look for what may go, and delete nothing. Progress is how many objects were listed, and read of the log.

    With `preview` nothing will be deleted, and nothing must be written.

    Raises ForeignTable, VersionGap, and CorruptLog where a log object cannot be read: it might name any split.
    """
    log, snapshot = at.log, at.snapshot
    _require_purgeable(at)
    now = store_time(log, preview=preview)
    safety_ms = int(snapshot.safety_age_seconds * 1000)
    columns = snapshot.metadata.partition_columns
    before_ms = now - max(safety_ms, round(ages.split_hours * HOUR_MS)) + 1
    splits = list_splits(log, columns, before_ms, progress)
    if splits.repaired_log is not None:
        raise CorruptLog(
            f"table {log.url} has a repaired log beside its own, {splits.repaired_log}, which may name splits that its own log "
            "does not; put the repaired log in the log's place, or delete it, before a purge",
            url=log.url,
        )
    log_keys = clean_up(at, dry_run=True, retention_ms=ages.log_ms).deleted
    manifest_keys = collect_manifests(at, dry_run=True, without=frozenset(log_keys)).deleted
    named = named_splits(at, progress, without=frozenset(log_keys))
    stale = stale_temporaries(log, columns, now - safety_ms)
    return PurgePlan(splits, splits.without(named), tuple(log_keys), tuple(manifest_keys), tuple(stale))


def named_splits(at: LogAtVersion, progress: ProgressCounter, without: frozenset[str] = frozenset()) -> Hashes:
    """Hashes of the keys that the log names now. Log objects in `without` count as gone already.

    Starts again when a log object vanishes meanwhile. Raises CorruptLog.
    """
    log = at.log
    gone: ObjectNotFound | None = None
    for _ in range(_ROUNDS):
        try:
            return reachable_hashes(log, at.snapshot.table_id, without, progress.look)
        except CorruptLog as error:
            raise CorruptLog(
                f"{error}; it might name any split, so purge deletes none: FSCK REPAIR mends what can be mended, and what cannot "
                "goes by itself when it is past the retention of the log",
                **error.details,
            ) from error
        except ObjectNotFound as error:
            gone = error
            logger.info("table %s: purge reads the log again: %s", log.url, error)
    raise CorruptLog(
        f"table {log.url}: purge has deleted no split, because an object of the log is missing, {_ROUNDS} times over: {gone}; "
        "try again, and if that does not help, repair the log",
        url=log.url,
    ) from gone


def _require_purgeable(at: LogAtVersion) -> None:
    log, snapshot = at.log, at.snapshot
    if snapshot.state_committed:
        raise ForeignTable(
            f"table {log.url} is committed by another implementation as states, and nothing shows that it is not replaced "
            "meanwhile; purge it with the implementation that writes it",
            url=log.url,
        )
    if snapshot.gap is not None:
        raise VersionGap(
            f"table {log.url}: version {snapshot.gap} is missing, and might name any split; repair the log before a purge",
            missing=snapshot.gap,
        )
    if snapshot.anchor is None:
        raise ForeignTable(
            f"table {log.url} has no version 0, by which a purge would notice that the table was replaced; repair the log",
            url=log.url,
        )
