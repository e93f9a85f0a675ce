"""The live files of a damaged log, as far as anybody can know.

    the log gives the newest version for certain ──▶ its files, those that are whole
    versions are lost, or the whole log is        ──▶ the files that the rest of the log has as live, and the splits that nothing
                                                      names, chosen by their footers

Splits are looked at by their footers, whose checksum covers what the new log says of them. `fsck` compares every byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import msgspec

from indextables.core.errors import ObjectNotFound, SplitError
from indextables.log.actions import AddAction, registered_schemas
from indextables.log.check.check_log import CheckedLog
from indextables.log.check.version_order import misplaced_versions
from indextables.log.file_entries import rows_to_adds
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.split.bundle.bundle_reader import read_footer
from indextables.split.bundle.bundle_writer import Sealed
from indextables.split.bundle.footer import Footer
from indextables.storage.object_keys import inside_root
from indextables.table.build.split_entries import added
from indextables.table.format_gate import holds_bundles
from indextables.table.maintain.checks.row_identity import identity_of
from indextables.table.maintain.recovery.choose_splits import Chosen, choose_splits
from indextables.table.progress import ProgressCounter

_AT_A_TIME: Final = 32
"""Footers that are read side by side: each of them is a request of some kilobytes."""
_NAMED: Final = 3
"""Paths that a message names at most, of those that it is about."""


@dataclass
class Salvaged:
    """What of a table can be brought back."""

    snapshot: Snapshot | None
    """What the log still says of the table; None where it says nothing."""
    files: list[AddAction] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    """Splits of the table that are gone or damaged, each with the reason."""
    footers: list[Footer] = field(default_factory=list)
    """The footers of the files, where these are ours."""
    doubts: list[str] = field(default_factory=list)
    """What could not be known, as clauses of a message."""
    has_protocol: bool = True
    """False if the log does not say which protocol the table has."""


def salvage(checked: CheckedLog, there: Mapping[str, int], progress: ProgressCounter) -> Salvaged:
    """The files of the newest version that are whole. `there`: keys and sizes of all splits at the table's place."""
    replayed = checked.replayed
    snapshot = replayed.snapshot
    found = Salvaged(snapshot, has_protocol=replayed.has_protocol)
    known = [] if snapshot is None else rows_to_adds(snapshot.files)
    if snapshot is not None and replayed.has_protocol and not holds_bundles(snapshot.protocol):
        _existing(checked.remains.log, known, there, found)
        if not replayed.certain:
            found.doubts.append(_lost_versions(replayed.unknown))
        return found
    if replayed.contradicted is not None:
        found.doubts.append(f"{replayed.contradicted} contradicts version files, and its word was taken")
    if replayed.certain and replayed.has_metadata:
        _with_footers(checked.remains.log, known, there, found, progress)
        return found
    _chosen(checked, known, there, found, progress)
    return found


def _existing(log: TableLog, known: list[AddAction], there: Mapping[str, int], found: Salvaged) -> None:
    """Files of another implementation: nobody here can read their footers."""
    for add in known:
        why = _wrong_size(log, add, there)
        if why is None:
            found.files.append(add)
        else:
            found.missing[add.path] = why


def _with_footers(
    log: TableLog, known: list[AddAction], there: Mapping[str, int], found: Salvaged, progress: ProgressCounter
) -> dict[str, Footer]:
    """Take the files that are whole, and return their footers by path."""
    calls = [partial(_footer_of, log, add, there, progress) for add in known]
    footers: dict[str, Footer] = {}
    registry = found.snapshot.registry if found.snapshot is not None else {}
    metadata = found.snapshot.metadata if found.snapshot is not None else None
    registry = {**registry, **(registered_schemas(metadata.configuration) if metadata is not None else {})}
    for add, footer in zip(known, log.workers.together(calls, limit=_AT_A_TIME), strict=True):
        if isinstance(footer, str):
            found.missing[add.path] = footer
            continue
        footers[add.path] = footer
        lacks_mapping = add.doc_mapping_json is None and add.doc_mapping_ref not in registry
        found.files.append(_with_mapping(add, footer) if lacks_mapping else add)
        found.footers.append(footer)
    return footers


def _with_mapping(add: AddAction, footer: Footer) -> AddAction:
    return msgspec.structs.replace(add, doc_mapping_json=footer.doc_mapping, doc_mapping_ref=None)


def _chosen(
    checked: CheckedLog,
    known: list[AddAction],
    there: Mapping[str, int],
    found: Salvaged,
    progress: ProgressCounter,
) -> None:
    """Versions are lost: splits that nothing names may be theirs, and files that are live here may have been removed there."""
    log = checked.remains.log
    live = _with_footers(log, known, there, found, progress)
    named = {inside_root(log.url, path) for path in _known_dead(checked)}
    others = [key for key in there if key not in named and key not in {inside_root(log.url, add.path) for add in known}]
    read = dict(
        zip(
            others,
            log.workers.together([partial(_any_footer, log, key, progress) for key in others], limit=_AT_A_TIME),
            strict=True,
        )
    )
    unreadable = {key: footer for key, footer in read.items() if isinstance(footer, str)}
    unnamed = {key: footer for key, footer in read.items() if not isinstance(footer, str)}
    chosen = choose_splits(
        [identity_of(path, footer) for path, footer in live.items()],
        [identity_of(key, footer) for key, footer in unnamed.items()],
        _deleted_numbers(checked, there)
        - {number for footer in live.values() for number in identity_of("", footer).numbers},
    )
    kept = [add for add in found.files if add.path in chosen.kept]
    back = [key for key in unnamed if key in chosen.kept]
    found.files = kept + [_entry(key, unnamed[key], there[key]) for key in back]
    found.footers = [live[add.path] for add in kept] + [unnamed[key] for key in back]
    found.doubts += _doubts(checked, chosen, back, unreadable)


def _doubts(checked: CheckedLog, chosen: Chosen, back: list[str], unreadable: Mapping[str, str]) -> list[str]:
    doubts = (
        [_lost_versions(checked.replayed.unknown)]
        if checked.replayed.snapshot is not None
        else ["nothing of the log can be read"]
    )
    if back:
        doubts.append(
            f"{len(back)} splits that nothing names were taken in by their footers, which do not tell rows that were deleted, "
            "overwritten or never committed from live ones"
        )
    if chosen.superseded:
        doubts.append(f"{len(chosen.superseded)} splits were left out because merge results hold their rows")
    if chosen.deleted:
        doubts.append(
            f"{len(chosen.deleted)} splits were left out because they hold rows that were deleted ({_some(chosen.deleted)})"
        )
    if chosen.conflicting:
        doubts.append(
            f"{len(chosen.conflicting)} splits share rows with others and have rows beside ({_some(chosen.conflicting)})"
        )
    if chosen.unclear and back:
        doubts.append(
            f"{len(chosen.unclear)} merge results do not say what they were made of, so that rows may be there twice "
            f"({_some(chosen.unclear)})"
        )
    if unreadable:
        doubts.append(f"{len(unreadable)} splits that nothing names are damaged ({_some(unreadable)})")
    return doubts


def _lost_versions(unknown: tuple[int, ...]) -> str:
    if not unknown:
        return "the log does not say what the table's columns are"
    shown = ", ".join(map(str, unknown[:_NAMED])) + (", …" if len(unknown) > _NAMED else "")
    return f"what version {shown} said is lost, so that rows removed there may be back, and rows added there may be missing"


def _some(paths: Iterable[str]) -> str:
    listed = list(paths)
    return ", ".join(listed[:_NAMED]) + (", …" if len(listed) > _NAMED else "")


def _known_dead(checked: CheckedLog) -> set[str]:
    """Paths that versions in their right place and usable states name. All of them but the live ones are dead."""
    remains = checked.remains
    misplaced = misplaced_versions(remains)
    named: set[str] = set()
    for number, version in remains.versions.items():
        if number not in misplaced and version.belongs_to(remains.table_id or ""):
            named.update(add.path for add in version.actions.adds)
            named.update(remove.path for remove in version.actions.removes)
    for base in remains.bases:
        if remains.usable(base):
            named |= base.paths
    return named


def _deleted_numbers(checked: CheckedLog, there: Mapping[str, int]) -> set[int]:
    """The numbers of rows that the log says were deleted, from the footers of splits that are still there."""
    remains = checked.remains
    misplaced = misplaced_versions(remains)
    paths = {
        remove.path
        for number, version in remains.versions.items()
        if number not in misplaced
        for remove in version.actions.removes
        if remove.data_change and remove.path in there
    }
    footers = remains.log.workers.together(
        [partial(_any_footer, remains.log, path, None) for path in paths], limit=_AT_A_TIME
    )
    return {number for footer in footers if not isinstance(footer, str) for number in identity_of("", footer).numbers}


def _footer_of(log: TableLog, add: AddAction, there: Mapping[str, int], progress: ProgressCounter) -> Footer | str:
    """The footer of a file of the log, or why the file is not whole."""
    return _wrong_size(log, add, there) or _any_footer(log, inside_root(log.url, add.path) or add.path, progress)


def _any_footer(log: TableLog, key: str, progress: ProgressCounter | None) -> Footer | str:
    if progress is not None:
        progress.look(1)
    try:
        return read_footer(log.store, key)
    except ObjectNotFound:
        return "it is gone"
    except SplitError as damaged:
        return str(damaged)


def _wrong_size(log: TableLog, add: AddAction, there: Mapping[str, int]) -> str | None:
    """Why a file is not the one that the log names; None where it is."""
    key = inside_root(log.url, add.path) or add.path
    size = there.get(key)
    if size is None:
        meta = log.head(key)
        if meta is None:
            return "it is gone"
        size = meta.size
    return None if size == add.size else f"it has {size} bytes, the log says {add.size}"


def _entry(key: str, footer: Footer, size: int) -> AddAction:
    """The log's entry of a split, from its footer."""
    regions = footer.index[-1] if footer.index else None
    start = regions.offset + regions.length if regions is not None else footer.rows_length
    return added(key, Sealed(footer, size, start))
