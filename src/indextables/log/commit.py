"""Committing: one put-if-absent of the next version file, and the honest answer to what became of it.

refresh ─▶ decide ─▶ create N+1 ──▶ won: done
   ▲                    │ ├───────▶ another's: lost; wait, and again with the next number
   └────────────────────┘ └───────▶ no answer: read N+1 back. Ours: won. Another's: lost. Absent: the same number,
                                     the same body once more; a second number is never tried while one is open.
                                     Still open at the end: CommitOutcomeUnknown, and nothing it names is deleted.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, assert_never

import msgspec

from indextables._version import __version__
from indextables.core import options as opt
from indextables.core.errors import (
    CommitError,
    CommitOutcomeUnknown,
    CorruptLog,
    ForeignTable,
    IndexTablesError,
    ObjectNotFound,
    SchemaError,
    StorageError,
    TooManyConflicts,
    UploadTooOld,
    VersionGap,
    VersionNotFound,
)
from indextables.core.metrics import METRICS, member_of
from indextables.log.actions import Actions, CommitInfo
from indextables.log.codec import decode_actions, encode_actions, pack
from indextables.log.conflicts import Change, Decision, check_change, decide
from indextables.log.log_paths import version_key
from indextables.log.open_snapshot import open_log
from indextables.log.protocol import check_writable
from indextables.log.put_once import (
    Absent,
    Refused,
    Theirs,
    Unknown,
    Won,
    commit_back_off,
    create_and_read_back,
    read_back,
)
from indextables.log.refresh import refresh_now, reopen, too_old, with_tip
from indextables.log.snapshot import LogAtVersion, Snapshot, apply_version, check_same_table
from indextables.log.snapshot_files import read_files
from indextables.log.state.write import StateUnknown, write_state
from indextables.log.table_log import TableLog, check_paths
from indextables.storage.store import StoredObject

logger = logging.getLogger("indextables")

ENGINE = f"indextables/{__version__}"
_FRESH_SECONDS = 600.0
"""A create that was answered later than this after the last check is verified."""
_TRIES_PER_NUMBER = 5
"""Requests to create one version file, all with the same body, before its outcome is reported as unknown."""

Fate = Literal["won", "lost", "restart"]


@dataclass(frozen=True)
class Committed:
    """What became of a commit that did not fail."""

    snapshot: Snapshot
    txn_id: str
    written: bool
    """False when there was nothing to write: `reason` says why."""
    reason: str = ""
    metrics: dict[str, int] | None = None
    actions: Actions | None = None
    """What the version says; None where nothing was written."""
    before: Snapshot | None = None
    """The version that the commit follows; None where nothing was written."""


@METRICS.measured("commit", attempts=member_of("metrics", "numAttempts"))
def commit(
    at: LogAtVersion,
    change: Change,
    *,
    operation: str,
    parameters: dict[str, Any] | None = None,
    uploads_began: float | None = None,
    time_travel_floor: bool = False,
) -> Committed:
    """Commit a change that was planned on a version of the table.

    `uploads_began` is when the first file that it adds began to be uploaded (`Clock.boot`). With `time_travel_floor` the
    version becomes the oldest that time travel goes to.
    """
    log, read = at.log, at.snapshot
    if not isinstance(operation, str):
        raise SchemaError(f"table {log.url}: the name of an operation is text, not {operation!r}")
    check_change(change)
    check_paths(log.url, [add.path for add in change.new_files], "commit")
    signature = _Signature(log.clock.uuid(), operation, parameters or {}, read.version, time_travel_floor)
    current = at
    restart = False
    attempts = log.settings.commit_attempts
    for attempt in range(attempts):
        current = _catch_up(current, read, restart=restart)
        _check_writable(current)
        _check_upload_age(current, uploads_began)
        now_ms = max(log.clock.wall_ms(), current.snapshot.timestamp + 1)
        try:
            current, decision = _decide(change, read, current, now_ms)
        except VersionNotFound as error:
            if attempt + 1 == attempts:
                raise
            logger.info(
                "table %s: what this commit stood on was cleaned up meanwhile (%s); beginning anew", log.url, error
            )
            restart = True
            continue
        _check_writable(current)
        if decision.actions is None:
            return Committed(current.snapshot, signature.txn_id, written=False, reason=decision.reason, metrics={})
        metrics = _metrics(decision.actions, attempt)
        info = signature.info(current.snapshot, now_ms, metrics)
        actions = msgspec.structs.replace(decision.actions, commit_info=info)
        fate = _put_next(current, now_ms, actions, signature.txn_id, uploads_began)
        if fate == "won":
            _verify_late_answer(current, signature.txn_id)
            _verify_late_files(current, actions, signature.txn_id, uploads_began)
            newest = with_tip(_following(current, now_ms, actions))
            newest = log.remember_snapshot(newest)
            return Committed(newest, signature.txn_id, True, "", metrics, actions, current.snapshot)
        METRICS.observe("indextables.commit.conflicts", 1)
        restart = fate == "restart"
        commit_back_off(log.options).wait(log.clock, attempt)
    raise TooManyConflicts(
        f"table {log.url}: other writers won {attempts} times in a row; write less often, or raise "
        f"{opt.TRANSACTION_RETRY_MAX_ATTEMPTS.key}",
        url=log.url,
        attempts=attempts,
    )


class _Signature(msgspec.Struct, frozen=True):
    """What a commit says of itself in its version file, the same at every attempt."""

    txn_id: str
    operation: str
    parameters: dict[str, Any]
    read_version: int
    time_travel_floor: bool

    def info(self, current: Snapshot, now_ms: int, metrics: dict[str, int]) -> CommitInfo:
        """The `commitInfo` of the version after `current`."""
        return CommitInfo(
            txn_id=self.txn_id,
            table_id=current.table_id,
            timestamp=now_ms,
            time_travel_floor=current.version + 1 if self.time_travel_floor else None,
            operation=self.operation,
            operation_parameters=self.parameters,
            operation_metrics=metrics,
            engine_info=ENGINE,
            read_version=self.read_version,
        )


def _put_next(current: LogAtVersion, now_ms: int, actions: Actions, txn_id: str, uploads_began: float | None) -> Fate:
    """Put the version after `current`, in the way that the table is committed."""
    if current.snapshot.state_committed:
        return _adopt(current, now_ms, actions, txn_id)
    return create_version(current, _body(current.log, actions), txn_id, uploads_began)


def _following(current: LogAtVersion, now_ms: int, actions: Actions) -> LogAtVersion:
    """The table after the version that this commit wrote: version files say what happens to it from there on."""
    snapshot = apply_version(current.snapshot, current.snapshot.version + 1, now_ms, actions)
    return LogAtVersion(current.log, snapshot.changed(state_committed=False))


def _decide(change: Change, read: Snapshot, current: LogAtVersion, now_ms: int) -> tuple[LogAtVersion, Decision]:
    """What to write, and the version it was decided on: the same one, opened again where its manifests are gone."""
    try:
        return current, decide(change, read, current.snapshot, now_ms)
    except (ObjectNotFound, CorruptLog) as error:
        logger.info("table %s: version %d is opened again: %s", current.log.url, current.snapshot.version, error)
    again, _ = read_files(current, None)
    return LogAtVersion(current.log, again), decide(change, read, again, now_ms)


def _catch_up(current: LogAtVersion, read: Snapshot, *, restart: bool) -> LogAtVersion:
    newest = reopen(current) if restart else refresh_now(current)
    check_same_table(read, newest)
    return LogAtVersion(current.log, newest)


def _check_writable(current: LogAtVersion) -> None:
    log, snapshot = current.log, current.snapshot
    if snapshot.gap is not None:
        raise VersionGap(
            f"table {log.url}: version {snapshot.gap} is missing though newer ones are there; repair the log before writing",
            url=log.url,
            missing=snapshot.gap,
        )
    check_writable(log.url, snapshot.protocol)
    if snapshot.state_committed and not log.options[opt.TRANSACTION_ADOPT_FOREIGN]:
        raise ForeignTable(
            f"table {log.url} is committed by another implementation as states, without version files, and that implementation "
            f"would not see what we write; set {opt.TRANSACTION_ADOPT_FOREIGN.key}=true to take it over for good",
            url=log.url,
        )


def _check_upload_age(current: LogAtVersion, uploads_began: float | None) -> None:
    if uploads_began is None:
        return
    url, safety_age_seconds = current.log.url, current.snapshot.safety_age_seconds
    age = current.log.clock.boot() - uploads_began
    if age > safety_age_seconds / 2:
        raise UploadTooOld(
            f"table {url}: the first upload of this commit began {age / 3600:.1f} hours ago, more than half the safety "
            f"age of {safety_age_seconds / 3600:g} hours; write the data again",
            url=url,
        )


def _check_age_of_try(current: LogAtVersion, uploads_began: float | None, tries: int, txn_id: str) -> None:
    """Raise UploadTooOld before the first request for a version, CommitOutcomeUnknown before a later one."""
    try:
        _check_upload_age(current, uploads_began)
    except UploadTooOld as error:
        if tries == 0:
            raise
        raise _unknown(current.log, current.snapshot.version + 1, txn_id, str(error)) from error


def _metrics(actions: Actions, attempt: int) -> dict[str, int]:
    return {
        "numAddedFiles": len(actions.adds),
        "numRemovedFiles": len(actions.removes),
        "numAddedBytes": sum(add.size for add in actions.adds),
        "numAddedRecords": sum(add.num_records or 0 for add in actions.adds),
        "numAttempts": attempt + 1,
    }


def _body(log: TableLog, actions: Actions) -> bytes:
    try:
        text = encode_actions(actions)
        rest = msgspec.structs.replace(actions, adds=(), removes=())  # `check_change` has seen the adds
        decode_actions("this commit", encode_actions(rest))
    except (UnicodeEncodeError, TypeError, OverflowError, CorruptLog) as error:
        raise SchemaError(f"table {log.url}: a value of this commit cannot be written as JSON: {error}") from error
    limit = log.settings.version_file_bytes
    if len(text) > limit:
        raise CommitError(
            f"table {log.url}: this commit would be a version file of {len(text)} bytes, "
            f"{opt.TRANSACTION_MAX_VERSION_FILE_BYTES.key} allows {limit}; commit fewer files at a time",
            url=log.url,
        )
    return pack(text, compress=log.settings.compress)


def create_version(current: LogAtVersion, body: bytes, txn_id: str, uploads_began: float | None = None) -> Fate:
    """Put the version after `current` and find out what became of it. Raises CommitOutcomeUnknown while nobody can tell.

    The age of the uploads is looked at before each request. Before the first one, uploads that are too old raise UploadTooOld.
    """
    log, number = current.log, current.snapshot.version + 1
    key = version_key(number)
    is_ours = partial(has_txn_id, log, txn_id)
    failure: StorageError | None = None
    for tries in range(_TRIES_PER_NUMBER):
        if tries:
            commit_back_off(log.options).wait(log.clock, tries - 1)
        _check_age_of_try(current, uploads_began, tries, txn_id)
        sent = log.clock.boot()
        if sent - current.snapshot.checked > _FRESH_SECONDS:
            if too_old(current) or _replaced(current, txn_id):
                if tries:
                    raise _unknown(log, number, txn_id, "the table was not looked at for too long")
                return "restart"
            match read_back(log.store, key, is_ours):
                case Won():
                    return "won"
                case Theirs():
                    return "lost"
                case Unknown(error, why):
                    raise _unknown(log, number, txn_id, why) from error
                case None:
                    current = LogAtVersion(log, current.snapshot.with_checked(sent))
                case never:
                    assert_never(never)
        match create_and_read_back(log.store, key, body, is_ours):
            case Won():
                return "won"
            case Theirs():
                return "lost"
            case Refused(error) if tries == 0:
                raise error
            case Refused(error) | Absent(error):
                failure = error
            case Unknown(error, why):
                raise _unknown(log, number, txn_id, why) from error
            case never_too:
                assert_never(never_too)
    raise _unknown(
        log, number, txn_id, f"{_TRIES_PER_NUMBER} requests failed, the last one with: {failure}"
    ) from failure


def has_txn_id(log: TableLog, txn_id: str, found: StoredObject) -> bool:
    """Whether a version file was written by the commit with this id. Raises LogError where the file cannot be read."""
    return log.decode(found.meta.key, found.data).txn_id == txn_id


def _adopt(current: LogAtVersion, now_ms: int, actions: Actions, txn_id: str) -> Fate:
    """Take over a table whose commits are states: the next state is the commit, and the version file follows it."""
    log, number = current.log, current.snapshot.version + 1
    following = _following(current, now_ms, actions)
    body = _body(log, actions)
    try:
        written = write_state(following, compact=True, is_commit=True)
    except StateUnknown as unknown:
        raise _unknown(log, number, txn_id, str(unknown)) from unknown
    if written is None or not written.ours:
        return "lost"
    match create_and_read_back(log.store, version_key(number), body, partial(has_txn_id, log, txn_id)):
        case Won() | Theirs():
            pass
        case Absent(error) | Refused(error) | Unknown(error):
            logger.warning("table %s: state %d is committed, but its version file is not: %s", log.url, number, error)
        case never:
            assert_never(never)
    return "won"


def _replaced(current: LogAtVersion, txn_id: str) -> bool:
    """Whether version 0 is another than the one this commit was planned on."""
    log, number = current.log, current.snapshot.version + 1
    try:
        zero = log.head_version(0)
    except StorageError as error:
        raise _unknown(log, number, txn_id, f"version 0 cannot be looked at: {error}") from error
    return (zero.etag if zero else None) != current.snapshot.anchor


def _verify_late_answer(current: LogAtVersion, txn_id: str) -> None:
    """A create answered long after the last check may have landed where nobody reads any more."""
    log, number = current.log, current.snapshot.version + 1
    if log.clock.boot() - current.snapshot.checked <= _FRESH_SECONDS:
        return
    try:
        newest = open_log(log)
        ours = log.read_version(number)
    except IndexTablesError as error:
        raise _unknown(log, number, txn_id, f"the table cannot be opened to verify it: {error}") from error
    visible = newest.table_id == current.snapshot.table_id and newest.version >= number
    below_state = newest.base is not None and newest.base >= number
    if not visible or below_state or ours is None or ours.actions.txn_id != txn_id:
        raise _unknown(log, number, txn_id, "it was answered so late that a newer state may not contain it")


def _verify_late_files(current: LogAtVersion, actions: Actions, txn_id: str, uploads_began: float | None) -> None:
    """A create answered a safety age after the first upload began may name files that a purge took for orphans."""
    log, number = current.log, current.snapshot.version + 1
    if uploads_began is None or log.clock.boot() - uploads_began < current.snapshot.safety_age_seconds:
        return
    for add in actions.adds:
        try:
            gone = log.head(add.path) is None
        except StorageError as error:
            raise _unknown(log, number, txn_id, f"its file {add.path} cannot be looked at: {error}") from error
        if gone:
            why = f"it was answered so late that its file {add.path} was purged meanwhile; restore version {number - 1} if so"
            raise _unknown(log, number, txn_id, why)


def _unknown(log: TableLog, number: int, txn_id: str, why: str) -> CommitOutcomeUnknown:
    return CommitOutcomeUnknown(
        f"table {log.url}: nobody can tell whether version {number} (commit {txn_id}) was written: {why}; look for it in "
        "history() before writing again, and delete none of its files",
        url=log.url,
        version=number,
        txn_id=txn_id,
    )
