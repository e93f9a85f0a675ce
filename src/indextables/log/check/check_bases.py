"""States, manifests and JSON checkpoints that are damaged, say something else than the versions, or that nobody needs.

A damaged base that a newer usable base follows is a warning: nobody opens the newest version from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow.compute as pc

from indextables.log.check.findings import Finding, Severity, warning
from indextables.log.check.remains import Base, Remains
from indextables.log.check.replay import live_columns
from indextables.log.snapshot import Snapshot
from indextables.log.state.model import manifest_key

_REBUILD = "fsck with repair writes a newer state from the version files where these are there"

"""The way out of a base that cannot be read."""
_JUDGE = "compare with a backup, or let Table.repair write a new log that takes the word of the state"
"""The way out where two objects contradict each other."""


def check_bases(remains: Remains, differences: Mapping[str, str]) -> Iterator[Finding]:
    """What is wrong with states, manifests and checkpoints. `differences` are those that contradict the versions."""
    seen: dict[str, Finding] = {}
    for base in remains.bases:
        for found in _of_base(remains, base, differences):
            known = seen.get(found.path)
            if known is None or known.severity == "warning":
                seen[found.path] = found
    yield from seen.values()
    yield from _unneeded(remains)


def _of_base(remains: Remains, base: Base, differences: Mapping[str, str]) -> Iterator[Finding]:
    what = "state" if base.is_state else "checkpoint"
    severity: Severity = "error" if _is_newest(remains, base) else "warning"
    rest = _REBUILD if severity == "error" else "a newer state is in use"
    if base.error is not None:
        yield Finding(severity, f"{what}_damaged", base.key, f"{base.error}; {rest}")
    for key, why in base.bad_manifests:
        kind = "manifest_missing" if remains.log.head(key) is None else "manifest_damaged"
        yield Finding(severity, kind, key, f"state {base.version} cannot be used: {why}; {rest}")
    owner, table_id = base.table_id, remains.table_id
    if owner is not None and owner != table_id:
        message = f"{what} {base.version} belongs to table {owner}, not to {table_id}; readers ignore it"
        yield warning(f"{what}_of_another_table", base.key, message)
    if base.key in differences:
        message = f"{what} {base.version} contradicts the version files: {differences[base.key]}; {_JUDGE}"
        yield Finding(severity, f"{what}_differs", base.key, message)
    if base.snapshot is not None and _names_path_twice(base.snapshot):
        message = f"{what} {base.version} has a live path twice, and readers count its rows twice; {rest}"
        yield Finding(severity, "path_twice", base.key, message)


def _names_path_twice(snapshot: Snapshot) -> bool:
    paths = live_columns(snapshot, ["path"]).column("path")
    return len(pc.unique(paths)) < len(paths)


def _is_newest(remains: Remains, base: Base) -> bool:
    return not any(other.version > base.version and remains.usable(other) for other in remains.bases)


def _unneeded(remains: Remains) -> Iterator[Finding]:
    """Manifests and parts that nothing names. While a state cannot be read, nobody knows which those are."""
    states = [base for base in remains.bases if base.is_state]
    if all(base.state is not None for base in states):
        named = {
            manifest_key(item.path, base.version) for base in states if base.state for item in base.state.manifests
        }
        for key in remains.manifests:
            if key not in named:
                yield warning("orphaned_manifest", key, "no state names this manifest; purge removes it when it is old")
    checkpoints = {base.version for base in remains.bases if not base.is_state}
    for key, version in remains.parts.items():
        if version not in checkpoints:
            message = f"there is no checkpoint {version} that this part could belong to; clean-up removes it"
            yield warning("orphaned_part", key, message)
