"""Version files that are damaged, missing, misplaced, or another table's.

A version below a usable state or checkpoint is needed for time travel only, so its damage is a warning. Clean-up deletes versions
from the oldest on and keeps version 0: a number is missed only where an older version than it, beside version 0, is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from indextables.log.check.findings import REPAIR, Finding, Severity, warning
from indextables.log.check.remains import Remains
from indextables.log.log_paths import version_key


def check_versions(remains: Remains, misplaced: Mapping[int, str]) -> Iterator[Finding]:
    """What is wrong with the version files."""
    for number, why in remains.bad_versions.items():
        yield _finding(remains, "version_damaged", number, why)
    for number, version in remains.versions.items():
        if number == 0 and version.actions.metadata is None:
            yield _finding(remains, "version_damaged", 0, "version 0 has no metaData")
        owner = version.actions.table_id
        if owner is not None and owner != remains.table_id:
            message = f"version {number} was written for table {owner}, not for {remains.table_id}; it counts as empty"
            yield warning("version_of_another_table", version_key(number), message)
    for number, why in misplaced.items():
        yield _finding(
            remains, "version_misplaced", number, f"version {number} was not committed as this version: {why}"
        )
    yield from _missing(remains)


def _missing(remains: Remains) -> Iterator[Finding]:
    there = sorted([*remains.versions, *remains.bad_versions])
    newest_base = max((base.version for base in remains.bases if remains.usable(base)), default=-1)
    if remains.is_ours and 0 not in there:
        yield _finding(remains, "version_missing", 0, "version 0, which says which table this is, is missing")
    elif there and 0 not in there and newest_base < 0:
        yield _finding(remains, "version_missing", 0, "version 0 is missing, and no state can be used in its place")
    oldest = min((number for number in there if number > 0), default=None)
    for number in range(1, there[-1] if there else 0):
        if number in remains.versions or number in remains.bad_versions:
            continue
        cleaned_up = remains.covered(number) and (oldest is None or number < oldest)
        if not cleaned_up:
            yield _finding(
                remains, "version_missing", number, f"version {number} is missing though newer ones are there"
            )
    if remains.is_ours and there and newest_base > there[-1]:
        message = f"version {newest_base} is missing though its state is there, so nothing can be committed; {REPAIR}"
        yield Finding("error", "version_missing", version_key(newest_base), message)


def _finding(remains: Remains, kind: str, number: int, why: str) -> Finding:
    """A finding about a version file, as bad as the need for the file."""
    needed = number == 0 or not remains.covered(number)
    severity: Severity = "error" if needed else "warning"
    rest = REPAIR if needed else "a newer state replaces it, and only time travel misses it"
    return Finding(severity, kind, version_key(number), f"{why}; {rest}")
