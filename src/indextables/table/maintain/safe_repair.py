"""What `fsck(repair=True)` writes: a pointer, or a newer state. Only additions, and only what the log itself proves.

    damaged state, manifest or JSON checkpoint ─▶ an empty version (CHECKPOINT) and its state, from the version files
    pointer that is missing, damaged or behind  ─▶ the pointer to the newest usable state

Version files are never written again, deleted or replaced, and no number is used twice: the new version is committed as every
other one is. A gap, a damaged version that is needed, a state that contradicts the versions, a missing split: those stay
findings, with the way out, because nobody can prove what is right.
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace

from indextables.core.errors import LogWarning
from indextables.log.check.check_log import CheckedLog
from indextables.log.check.check_pointer import newest_base
from indextables.log.check.remains import Base
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.file_set import FileSet
from indextables.log.pointer import Pointer, write_pointer
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.checkpoint import checkpoint
from indextables.log.state.write import point_to
from indextables.log.table_log import TableLog

logger = logging.getLogger("indextables")

_OF_BASES = frozenset(
    {
        "state_damaged",
        "manifest_missing",
        "manifest_damaged",
        "checkpoint_damaged",
        "path_twice",
    }
)
"""Kinds of findings that a newer state makes harmless."""
_OF_POINTER = frozenset({"pointer_missing", "pointer_damaged", "pointer_to_nothing", "pointer_behind"})
"""Kinds of findings that a new pointer makes good."""


def repair_in_place(checked: CheckedLog) -> str | None:
    """Repair what can be repaired without a doubt. Returns what was written, as a clause; None where nothing was.

    Raises what a commit raises.
    """
    kinds = {found.kind for found in checked.findings}
    needed = {found.kind for found in checked.findings if found.severity == "error"}
    if needed & _OF_BASES and _may_commit(checked, needed):
        return _new_state(checked)
    if kinds & _OF_POINTER and checked.opened is not None:
        base = newest_base(checked.remains)
        if base is not None:
            _point_to(checked.remains.log, base)
            return f"the pointer names state {base.version} now"
    return None


def _may_commit(checked: CheckedLog, needed: set[str]) -> bool:
    """Whether the version files give the newest version for certain, so that a state of it can be written."""
    opened, replayed = checked.opened, checked.replayed
    return (
        needed <= _OF_BASES
        and checked.remains.is_ours
        and replayed.certain
        and replayed.snapshot is not None
        and opened is not None
        and not opened.state_committed
        and opened.gap is None
        and opened.version == replayed.snapshot.version
    )


def _new_state(checked: CheckedLog) -> str | None:
    """Commit an empty version and write its state. What the state holds is replayed from objects that are known to be whole."""
    log, opened, known = checked.remains.log, checked.opened, checked.replayed.snapshot
    assert opened is not None
    assert known is not None
    sound = replace(
        known,
        file_set=FileSet(known.files),  # of no state, so that none is read again
        base=None,
        registry={**opened.registry, **known.registry},
        anchor=opened.anchor,
        tip=opened.tip,
        checked=opened.checked,
    )
    log.cache.forget(log.url, sound.table_id)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogWarning)
        committed = commit(LogAtVersion(log, sound), Change(data_change=False), operation="CHECKPOINT")
        done = checkpoint(LogAtVersion(log, committed.snapshot), compact=True)
    log.cache.forget(log.url, sound.table_id)
    if not done.written:
        logger.warning("table %s: version %d was committed, and its state could not be written", log.url, done.version)
        return None
    return f"version {done.version} has a new state"


def _point_to(log: TableLog, base: Base) -> None:
    if base.state is not None:
        point_to(log, base.state)
        return
    assert base.snapshot is not None
    write_pointer(log.store, Pointer(version=base.version, num_files=base.snapshot.files.num_rows))
