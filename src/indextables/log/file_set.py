"""The set of live files that grows version by version.

Turning actions into columns costs time in proportion to what is turned, so a commit must not do it: a `FileSet` keeps the
versions applied since its base and folds them in when somebody asks. An append to a table of a million files then touches
none of them. The base is a table, or something that reads one when it is needed (the manifests of a state).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa

from indextables.core.predicate import Predicate
from indextables.log.actions import Actions
from indextables.log.file_entries import Version, fold
from indextables.log.pruning.file_pruning import pruned
from indextables.log.pruning.skipping_counts import NOTHING_SKIPPED, SKIPPING, Skipped

_KEEP_VERSIONS = 4096
"""Versions kept after the base at most, so that a writer that never checkpoints does not hoard them."""


class FileSource(Protocol):
    """Files that are read when somebody looks."""

    def table(self) -> pa.Table:
        """All live files."""
        ...

    def matching(
        self, where: Predicate, schema: pa.Schema, partition_columns: Sequence[str] = ()
    ) -> tuple[pa.Table, Skipped]:
        """At least the files that may hold a row for which `where` is true, and how many others there are."""
        ...


class FileSet:
    """An immutable set of live files: a base, and the versions after it."""

    __slots__ = ("base", "depth", "folded", "parent", "version")

    def __init__(
        self, base: pa.Table | FileSource, parent: FileSet | None = None, version: Version | None = None
    ) -> None:
        self.base = base
        self.parent = parent
        self.version = version
        self.depth: int = parent.depth + 1 if parent is not None else 0
        self.folded: pa.Table | None = base if parent is None and isinstance(base, pa.Table) else None

    def after(self, version: int, timestamp: int, actions: Actions) -> FileSet:
        """The set once `actions` have been applied. Costs nothing until somebody looks."""
        if not actions.adds and not actions.removes:
            return self
        following = FileSet(self.base, self, (version, timestamp, actions))
        return following if following.depth <= _KEEP_VERSIONS else FileSet(following.table())

    def pending(self) -> list[Version]:
        """The versions after the base, oldest first."""
        return self._since(stop_at_folded=False)[1]

    def table(self) -> pa.Table:
        """The live files."""
        if self.folded is None:
            known, versions = self._since(stop_at_folded=True)
            self.folded = fold(known if known is not None else _whole(self.base), versions)
        return self.folded

    def matching(self, where: Predicate, schema: pa.Schema, partition_columns: tuple[str, ...]) -> pa.Table:
        """Live files without those that cannot hold a row for which `where` is true. The others are counted in `SKIPPING`."""
        before = NOTHING_SKIPPED
        if isinstance(self.base, pa.Table):
            files = self.table()
        else:
            known, versions = self._since(stop_at_folded=True)
            if known is None:
                known, before = self.base.matching(where, schema, partition_columns)
            files = fold(known, versions)
        kept, skipped = pruned(files, where, schema, partition_columns)
        SKIPPING.value.add(kept.num_rows, before + skipped)
        return kept

    def _since(self, *, stop_at_folded: bool) -> tuple[pa.Table | None, list[Version]]:
        """The nearest table that is known, and the versions after it."""
        versions: list[Version] = []
        node: FileSet = self
        while not (stop_at_folded and node.folded is not None) and node.parent is not None and node.version is not None:
            versions.append(node.version)
            node = node.parent
        versions.reverse()
        return (node.folded if stop_at_folded else None), versions

    def __reduce__(self) -> tuple[Any, ...]:
        """A recipe where the base is one, so that a snapshot of a million files stays small on its way to another process."""
        if isinstance(self.base, pa.Table):
            return FileSet, (self.table(),)
        return _rebuild, (self.base, self.pending())


def _rebuild(base: FileSource, versions: list[Version]) -> FileSet:
    files = FileSet(base)
    for version, timestamp, actions in versions:
        files = files.after(version, timestamp, actions)
    return files


def _whole(base: pa.Table | FileSource) -> pa.Table:
    return base if isinstance(base, pa.Table) else base.table()
