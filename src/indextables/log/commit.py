"""Committing: one put-if-absent of the next version file, and the honest answer to what became of it.

refresh ─▶ decide ─▶ create N+1 ──▶ won: done
   ▲                    │ ├───────▶ another's: lost; wait, and again with the next number
   └────────────────────┘ └───────▶ no answer: read N+1 back. Ours: won. Another's: lost. Absent: the same number,
                                     the same body once more; a second number is never tried while one is open.
                                     Still open at the end: CommitOutcomeUnknown, and nothing it names is deleted.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from indextables._version import __version__
from indextables.core import options as opt
from indextables.core.errors import (
    AccessDenied,
    CommitError,
    CommitOutcomeUnknown,
    CorruptLog,
    ForeignTable,
    IndexTablesError,
    InvalidKey,
    LogError,
    ObjectNotFound,
    SchemaError,
    StorageError,
    StoreMisconfigured,
    TableReplaced,
    TooManyConflicts,
    UploadTooOld,
    VersionGap,
    VersionNotFound,
)
from indextables.log.actions import Actions, CommitInfo
from indextables.log.codec import decode_actions, encode_actions, pack
from indextables.log.conflicts import Change, Decision, check_change, decide
from indextables.log.log_paths import version_key
from indextables.log.open_snapshot import open_log
from indextables.log.protocol import check_writable
from indextables.log.refresh import head_or_none, read_files, refresh_now, remember, reopen, too_old, with_tip
from indextables.log.snapshot import Snapshot, apply_version
from indextables.log.state.write import write_state
from indextables.log.table_log import TableLog, check_paths

logger = logging.getLogger("indextables")

ENGINE = f"indextables/{__version__}"
_FRESH_SECONDS = 600.0
"""A create that was answered later than this after the last check is verified."""
_TRIES_PER_NUMBER = 5

REFUSALS = (AccessDenied, InvalidKey, StoreMisconfigured)
"""Answers that mean the request was not carried out, unlike every other failure of a create."""

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


def commit(
    log: TableLog,
    read: Snapshot,
    change: Change,
    *,
    operation: str,
    parameters: dict[str, Any] | None = None,
    uploads_began: float | None = None,
    time_travel_floor: bool = False,
) -> Committed:
    """Commit a change that was planned on `read`.

    `uploads_began` is when the first file that it adds began to be uploaded (`Clock.boot`). With `time_travel_floor` the
    version becomes the oldest that time travel goes to.
    """
    if not isinstance(operation, str):
        raise SchemaError(f"table {log.url}: the name of an operation is text, not {operation!r}")
    check_change(change)
    results = [result for group in change.groups for result in group.results]
    check_paths(log.url, [add.path for add in (*change.adds, *results)], "commit")
    txn_id = log.clock.uuid()
    current = read
    restart = False
    attempts = log.options[opt.TRANSACTION_RETRY_MAX_ATTEMPTS]
    for attempt in range(attempts):
        current = _catch_up(log, current, read, restart=restart)
        _check_writable(log, current)
        _check_upload_age(log, current, uploads_began)
        now_ms = max(log.clock.wall_ms(), current.timestamp + 1)
        try:
            current, decision = _decide(log, change, read, current, now_ms)
        except VersionNotFound as error:
            if attempt + 1 == attempts:
                raise
            logger.info(
                "table %s: what this commit stood on was cleaned up meanwhile (%s); beginning anew", log.url, error
            )
            restart = True
            continue
        _check_writable(log, current)
        if decision.actions is None:
            return Committed(current, txn_id, written=False, reason=decision.reason, metrics={})
        number = current.version + 1
        metrics = _metrics(decision.actions, attempt)
        info = CommitInfo(
            txn_id=txn_id,
            table_id=current.table_id,
            timestamp=now_ms,
            time_travel_floor=number if time_travel_floor else None,
            operation=operation,
            operation_parameters=parameters or {},
            operation_metrics=metrics,
            engine_info=ENGINE,
            read_version=read.version,
        )
        actions = msgspec.structs.replace(decision.actions, commit_info=info)
        if current.state_committed:
            fate = _adopt(log, current, number, now_ms, actions)
        else:
            fate = _create(log, current, number, _body(log, actions), txn_id)
        if fate == "won":
            _verify_late_answer(log, current, number, txn_id)
            following = replace(apply_version(current, number, now_ms, actions), state_committed=False)
            return Committed(remember(log, with_tip(log, following)), txn_id, written=True, metrics=metrics)
        restart = fate == "restart"
        log.clock.sleep(_backoff(log, attempt))
    raise TooManyConflicts(
        f"table {log.url}: other writers won {attempts} times in a row; write less often, or raise "
        f"{opt.TRANSACTION_RETRY_MAX_ATTEMPTS.key}",
        url=log.url,
        attempts=attempts,
    )


def _decide(log: TableLog, change: Change, read: Snapshot, current: Snapshot, now_ms: int) -> tuple[Snapshot, Decision]:
    """What to write, and the snapshot it was decided on: the same version, opened again where its manifests are gone."""
    try:
        return current, decide(change, read, current, now_ms)
    except (ObjectNotFound, CorruptLog) as error:
        logger.info("table %s: version %d is opened again: %s", log.url, current.version, error)
    current, _ = read_files(log, current, None)
    return current, decide(change, read, current, now_ms)


def _catch_up(log: TableLog, current: Snapshot, read: Snapshot, *, restart: bool) -> Snapshot:
    newest = reopen(log, current) if restart else refresh_now(log, current)
    if newest.table_id != read.table_id:
        raise TableReplaced(
            f"table {log.url} was dropped and created again since it was opened; open it anew", url=log.url
        )
    return newest


def _check_writable(log: TableLog, current: Snapshot) -> None:
    if current.gap is not None:
        raise VersionGap(
            f"table {log.url}: version {current.gap} is missing though newer ones are there; repair the log before writing",
            url=log.url,
            missing=current.gap,
        )
    check_writable(log.url, current.protocol)
    if current.state_committed and not log.options[opt.TRANSACTION_ADOPT_FOREIGN]:
        raise ForeignTable(
            f"table {log.url} is committed by another implementation as states, without version files, and that implementation "
            f"would not see what we write; set {opt.TRANSACTION_ADOPT_FOREIGN.key}=true to take it over for good",
            url=log.url,
        )


def _check_upload_age(log: TableLog, current: Snapshot, uploads_began: float | None) -> None:
    if uploads_began is None:
        return
    age = log.clock.boot() - uploads_began
    if age > current.safety_age_seconds / 2:
        raise UploadTooOld(
            f"table {log.url}: the first upload of this commit began {age / 3600:.1f} hours ago, more than half the safety "
            f"age of {current.safety_age_seconds / 3600:g} hours; write the data again",
            url=log.url,
        )


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
    limit = log.options[opt.TRANSACTION_MAX_VERSION_FILE_BYTES]
    if len(text) > limit:
        raise CommitError(
            f"table {log.url}: this commit would be a version file of {len(text)} bytes, "
            f"{opt.TRANSACTION_MAX_VERSION_FILE_BYTES.key} allows {limit}; commit fewer files at a time",
            url=log.url,
        )
    return pack(text, compress=log.options[opt.TRANSACTION_COMPRESSION_ENABLED])


def _create(log: TableLog, current: Snapshot, number: int, body: bytes, txn_id: str) -> Fate:
    """Put version `number` and find out what became of it. Raises CommitOutcomeUnknown while nobody can tell."""
    key = version_key(number)
    refused: StorageError | None = None
    failure: StorageError | None = None
    for tries in range(_TRIES_PER_NUMBER):
        if tries:
            log.clock.sleep(_backoff(log, tries - 1))
        sent = log.clock.boot()
        if sent - current.checked > _FRESH_SECONDS:
            if too_old(log, current) or _replaced(log, current, number, txn_id):
                if tries:
                    raise _unknown(log, number, txn_id, "the table was not looked at for too long")
                return "restart"
            fate = _read_back(log, number, txn_id)
            if fate is not None:
                return fate
            current = current.with_checked(sent)
        try:
            log.store.create(key, body)
        except StorageError as error:
            logger.info("create of %s: %s; reading it back", key, error)
            failure = error
            refused = error if tries == 0 and is_refusal(error) else None
        else:
            return "won"
        try:
            fate = _read_back(log, number, txn_id)
        except CommitOutcomeUnknown:
            if refused is not None:
                raise refused from None
            raise
        if fate == "won" and failure.details.get("written"):
            raise _unknown(log, number, txn_id, f"it is there, but may not survive a power cut: {failure}") from failure
        if fate is not None:
            return fate
        if refused is not None:
            raise refused
    raise _unknown(
        log, number, txn_id, f"{_TRIES_PER_NUMBER} requests failed, the last one with: {failure}"
    ) from failure


def is_refusal(error: StorageError) -> bool:
    """Whether a failed create is certain not to have happened, and not to happen any more."""
    return isinstance(error, REFUSALS) or error.details.get("written") is False


def _adopt(log: TableLog, current: Snapshot, number: int, now_ms: int, actions: Actions) -> Fate:
    """Take over a table whose commits are states: the next state is the commit, and the version file follows it."""
    following = replace(apply_version(current, number, now_ms, actions), state_committed=False)
    written = write_state(log, following, compact=True)
    if written is None or not written.ours:
        return "lost"
    try:
        log.store.create(version_key(number), _body(log, actions))
    except StorageError as error:
        if log.read_version(number) is None:
            logger.warning("table %s: state %d is committed, but its version file is not: %s", log.url, number, error)
    return "won"


def _read_back(log: TableLog, number: int, txn_id: str) -> Fate | None:
    """Whose version `number` is; None while it is absent."""
    try:
        found = log.read_version(number)
    except (StorageError, LogError) as error:
        raise _unknown(log, number, txn_id, f"reading it back failed: {error}") from error
    if found is None:
        return None
    return "won" if found.actions.txn_id == txn_id else "lost"


def _replaced(log: TableLog, current: Snapshot, number: int, txn_id: str) -> bool:
    """Whether version 0 is another than the one this commit was planned on."""
    try:
        zero = head_or_none(log, version_key(0))
    except StorageError as error:
        raise _unknown(log, number, txn_id, f"version 0 cannot be looked at: {error}") from error
    return (zero.etag if zero else None) != current.anchor


def _verify_late_answer(log: TableLog, current: Snapshot, number: int, txn_id: str) -> None:
    """A create answered long after the last check may have landed where nobody reads any more."""
    if log.clock.boot() - current.checked <= _FRESH_SECONDS:
        return
    try:
        newest = open_log(log)
        ours = log.read_version(number)
    except IndexTablesError as error:
        raise _unknown(log, number, txn_id, f"the table cannot be opened to verify it: {error}") from error
    visible = newest.table_id == current.table_id and newest.version >= number
    below_state = newest.base is not None and newest.base >= number
    if not visible or below_state or ours is None or ours.actions.txn_id != txn_id:
        raise _unknown(log, number, txn_id, "it was answered so late that a newer state may not contain it")


def _unknown(log: TableLog, number: int, txn_id: str, why: str) -> CommitOutcomeUnknown:
    return CommitOutcomeUnknown(
        f"table {log.url}: nobody can tell whether version {number} (commit {txn_id}) was written: {why}; look for it in "
        "history() before writing again, and delete none of its files",
        url=log.url,
        version=number,
        txn_id=txn_id,
    )


def _backoff(log: TableLog, attempt: int) -> float:
    base = log.options[opt.TRANSACTION_RETRY_BASE_DELAY_MS]
    longest = log.options[opt.TRANSACTION_RETRY_MAX_DELAY_MS]
    delay_ms: float = min(longest, base * 2**attempt) * log.clock.jitter()
    return delay_ms / 1000.0
