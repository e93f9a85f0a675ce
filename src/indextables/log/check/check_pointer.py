"""`_last_checkpoint`: a hint that saves requests. Whatever is wrong with it is a warning, because nobody depends on it."""

from __future__ import annotations

from collections.abc import Iterator

from indextables.log.check.findings import Finding, warning
from indextables.log.check.remains import Base, Remains
from indextables.log.log_paths import POINTER
from indextables.log.pointer import read_pointer

_REPAIR = "fsck with repair writes it again, and so does the next checkpoint"


def check_pointer(remains: Remains) -> Iterator[Finding]:
    """What is wrong with the pointer."""
    log = remains.log
    newest = newest_base(remains)
    hint = read_pointer(log.store)
    if hint is None or hint.version is None:
        there = log.head(POINTER) is not None
        if there:
            yield warning("pointer_damaged", POINTER, f"the pointer cannot be read; {_REPAIR}")
        elif newest is not None:
            message = f"there is no pointer to state {newest.version}, so opening lists the whole log; {_REPAIR}"
            yield warning("pointer_missing", POINTER, message)
        return
    named = [base for base in remains.bases if base.version == hint.version]
    if not any(remains.usable(base) for base in named):
        message = f"the pointer names state {hint.version}, which is not there or cannot be used; {_REPAIR}"
        yield warning("pointer_to_nothing", POINTER, message)
    elif newest is not None and newest.version > hint.version:
        message = f"the pointer names state {hint.version}, the newest is {newest.version}; {_REPAIR}"
        yield warning("pointer_behind", POINTER, message)


def newest_base(remains: Remains) -> Base | None:
    """The newest state or checkpoint that can be used."""
    usable = [base for base in remains.bases if remains.usable(base)]
    return max(usable, key=lambda base: (base.version, base.is_state), default=None)
