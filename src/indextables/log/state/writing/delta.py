"""What changed between a state and a later version, and where in the state's manifests it lies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of
from indextables.log.actions import AddAction
from indextables.log.file_entries import Version
from indextables.log.state.load_manifest import load_manifest
from indextables.log.state.model import State
from indextables.log.table_log import TableLog

_RANDOM_NAME = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")


@dataclass
class Delta:
    """The versions after a state, folded: the files that they add and that stay, and the paths that they remove."""

    added: dict[str, tuple[AddAction, int, int]] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    to_locate: set[str] = field(default_factory=set)
    """Paths for which it matters whether the state's manifests have an entry of them."""


def delta_since(state: State, versions: Iterable[Version]) -> Delta:
    """Fold the versions after a state.

    A path that was removed needs a tombstone if the state has an entry of it. A path that was added is looked for too if it
    may have one: it is tombstoned, it was removed since, or its name is not a random one that nobody can have used before.
    """
    delta = Delta()
    for version, timestamp, actions in versions:
        for remove in actions.removes:
            delta.added.pop(remove.path, None)
            delta.removed.add(remove.path)
        for add in actions.adds:
            if add.path in delta.removed or add.path in state.tombstones or not _RANDOM_NAME.search(add.path):
                delta.to_locate.add(add.path)
            delta.added[add.path] = (add, version, timestamp)
    delta.removed -= delta.added.keys()
    delta.to_locate |= delta.removed
    return delta


def locate_paths(log: TableLog, state: State, paths: Iterable[str]) -> dict[int, list[str]]:
    """For the number of a manifest in the state: those of `paths` of which the manifest has an entry. Manifests without any are
    left out.
    """
    wanted = array_of(sorted(paths), pa.string())
    if not len(wanted):
        return {}
    calls = [partial(_paths_in, log, state, number, wanted) for number in range(len(state.manifests))]
    found = log.side_by_side(calls)
    return {number: there for number, there in enumerate(found) if there}


def _paths_in(log: TableLog, state: State, number: int, wanted: pa.Array) -> list[str]:
    column = load_manifest(log, state.version, state.manifests[number], ["path"]).column("path")
    there: list[str] = column.filter(pc.is_in(column, value_set=wanted)).to_pylist()
    return there


def count_by_manifest(paths_by_manifest: dict[int, list[str]], counted: AbstractSet[str]) -> dict[int, int]:
    """For the number of a manifest: how many of its paths are among those to be counted."""
    wanted = set(counted)
    return {number: sum(path in wanted for path in paths) for number, paths in paths_by_manifest.items()}
