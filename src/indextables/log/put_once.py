"""Writing an object that nobody may write twice, and finding out what became of the request.

A failed create says little: the object may be there all the same, it may arrive later, or another writer's object is in its
place. So the key is read back after every failed create:

    create ──▶ answered ──────────────────────────────────────▶ Won
        └────▶ failed ──▶ read back ──▶ our object ───────────▶ Won
                              ├───────▶ another object ───────▶ Theirs
                              ├───────▶ nothing ──────────────▶ Refused, if the store refused the create; else Absent
                              └───────▶ no answer ────────────▶ Refused, if the store refused the create; else Unknown

After Absent the create may still arrive. Its writer sends the same body to the same key again, and does not believe a later
Refused: that answer is about the later request. Which loop to use, and when to give up, is the caller's choice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from indextables.core import options as opt
from indextables.core.clock import BackOff, Clock
from indextables.core.errors import (
    AccessDenied,
    InvalidKey,
    LogError,
    ObjectNotFound,
    StorageError,
    StoreMisconfigured,
)
from indextables.core.options import Options
from indextables.storage.store import Store, StoredObject

logger = logging.getLogger("indextables")

_REFUSALS = (AccessDenied, InvalidKey, StoreMisconfigured)
"""Errors by which a store says that it did not carry out a request. After every other error the request may be carried out."""


@dataclass(frozen=True, slots=True)
class Won:
    """The object at the key is ours, and durable."""


@dataclass(frozen=True, slots=True)
class Theirs:
    """Another writer's object is at the key."""

    found: StoredObject


@dataclass(frozen=True, slots=True)
class Absent:
    """The key was empty after the create failed. The create may still arrive."""

    error: StorageError
    """The failure of the create."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The store refused this create. Our object is not at the key unless an earlier create of it was sent."""

    error: StorageError
    """The refusal."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can tell whether our object is at the key, or whether it will stay there."""

    error: StorageError | LogError
    why: str
    """A clause for a message: what failed, with the error's own text."""


Outcome = Won | Theirs | Absent | Refused | Unknown


def create_and_read_back(store: Store, key: str, body: bytes, is_ours: Callable[[StoredObject], bool]) -> Outcome:
    """Create an object once and say what became of it. Raises no StorageError.

    `is_ours` recognises our object among those that are read back; a LogError from `is_ours` means that it cannot tell.
    """
    try:
        store.create(key, body)
    except StorageError as error:
        logger.info("create of %s: %s; reading it back", key, error)
        failure = error
    else:
        return Won()
    outcome = read_back(store, key, is_ours)
    match outcome:
        case None:
            return Refused(failure) if is_refusal(failure) else Absent(failure)
        case Unknown():
            return Refused(failure) if is_refusal(failure) else outcome
        case Won() if failure.details.get("written"):
            return Unknown(failure, f"it is there, but may not survive a power cut: {failure}")
        case _:
            return outcome


def read_back(store: Store, key: str, is_ours: Callable[[StoredObject], bool]) -> Won | Theirs | Unknown | None:
    """Whose object is at the key; None where there is no object."""
    try:
        found = store.get(key)
        return Won() if is_ours(found) else Theirs(found)
    except ObjectNotFound:
        return None
    except (StorageError, LogError) as error:
        return Unknown(error, f"reading it back failed: {error}")


def is_refusal(error: StorageError) -> bool:
    """Whether a failed create certainly did not happen, and will not: the store refused it, or a disk was full."""
    return isinstance(error, _REFUSALS) or error.details.get("written") is False


def put_under_new_name(
    new_key: Callable[[], str], put: Callable[[str], None], *, clock: Clock, attempts: int, back_off: BackOff
) -> str:
    """Put an object under a name that is used once, and return its key. Raises StorageError.

    After a failed put the next one gets another name: the first request may still arrive. A refusal is not repeated.
    """
    for attempt in range(attempts):
        key = new_key()
        try:
            put(key)
        except StorageError as error:
            if attempt + 1 == attempts or is_refusal(error):
                raise
            logger.info("put of %s: %s; trying another name", key, error)
            back_off.wait(clock, attempt)
        else:
            return key
    raise AssertionError("the last attempt returns or raises")


def commit_back_off(options: Options) -> BackOff:
    """The waits between two attempts to create a version file."""
    return BackOff(options[opt.TRANSACTION_RETRY_BASE_DELAY_MS], options[opt.TRANSACTION_RETRY_MAX_DELAY_MS])


def state_back_off(options: Options) -> BackOff:
    """The waits between two attempts to create a state, one of its manifests, or a JSON checkpoint."""
    return BackOff(options[opt.STATE_RETRY_BASE_DELAY_MS], options[opt.STATE_RETRY_MAX_DELAY_MS])
