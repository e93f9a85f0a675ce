"""Tables whose history is written commit by commit, without rows, and what a stream must give of it: a plain list.

The model knows nothing of offsets. It keeps what each version added, removed and rearranged, and the files that were live.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from indextables.log.actions import AddAction
from indextables.log.cleanup import clean_up
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MetadataUpdate, Replace, Rewrite
from indextables.log.create_log import create_log
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state.checkpoint import checkpoint
from indextables.log.table_log import TableLog
from indextables.table.handle import TableHandle
from indextables.table.stream import Limits, Offset, StreamOptions, StreamPlanner
from log.support import SCHEMA, START_MS, MemoryStore, make_log

RETENTION = {"logRetention.duration": 10 * 86_400_000}


@dataclass
class Version:
    """What a commit did: names of files."""

    adds: list[str] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    live: list[str] = field(default_factory=list)
    """The files that were live after the commit, the oldest first."""


class History:
    """A table in memory, and its model."""

    def __init__(self, store: Any = None, options: dict[str, Any] | None = None, schema: str = SCHEMA) -> None:
        self.store = store if store is not None else MemoryStore()
        self.clock = self.store.clock
        self.options = RETENTION | (options or {})
        self.log = make_log(self.store, self.options)
        self.snapshot: Snapshot = create_log(self.log, schema_string=schema)
        self.versions: list[Version] = [Version()]
        self._number = 0

    @property
    def at(self) -> LogAtVersion:
        return LogAtVersion(self.log, self.snapshot)

    @property
    def newest(self) -> int:
        return len(self.versions) - 1

    @property
    def live(self) -> list[str]:
        return self.versions[-1].live

    def new_files(self, count: int, **fields: Any) -> tuple[AddAction, ...]:
        """Files whose names say nothing about their order, with sizes and rows that differ."""
        made = []
        for _ in range(count):
            self._number += 1
            path = f"{self._number * 7919 % 100_003:06d}-{self._number}.split"
            size, rows = self._number % 5 * 100, self._number % 3
            values = {"size": size, "num_records": rows, "modification_time": START_MS + self._number // 3, **fields}
            made.append(AddAction(path, **values))
        return tuple(made)

    def commit(self, change: Change, adds: list[str], removes: list[str], live: list[str]) -> None:
        self.clock.advance(1)
        done = commit(self.at, change, operation="WRITE")
        assert done.written, done.reason
        self.snapshot = done.snapshot
        self.versions.append(Version(adds, removes, live))
        assert self.snapshot.version == self.newest

    def append(self, count: int = 1) -> list[str]:
        files = self.new_files(count)
        names = [file.path for file in files]
        self.commit(Change(adds=files), names, [], [*self.live, *names])
        return names

    def merge(self, count: int = 2) -> None:
        """The oldest files become one. The result holds the rows of its sources."""
        sources = self.live[:count]
        (result,) = self.new_files(1)
        change = Change(rewrites=(Rewrite(tuple(sources), (result,), data_change=False),))
        self.commit(change, [], [], [*self.live[count:], result.path])

    def overwrite(self, count: int = 1) -> None:
        files = self.new_files(count)
        names = [file.path for file in files]
        self.commit(Change(adds=files, replace=Replace()), names, self.live, names)

    def delete(self, count: int = 1) -> None:
        gone = self.live[:count]
        self.commit(Change(removes=tuple(gone)), [], gone, self.live[count:])

    def set_property(self) -> None:
        update = MetadataUpdate(properties={"team": str(self.newest)})
        self.commit(Change(metadata=update), [], [], self.live)

    def set_columns(self, schema: str) -> None:
        self.commit(Change(metadata=MetadataUpdate(schema_string=schema)), [], [], self.live)

    def checkpoint(self, *, as_json: bool = False) -> None:
        if as_json:
            write_checkpoint(self.at)
        else:
            checkpoint(self.at, compact=False)

    def clean_up(self, days: float = 30) -> None:
        """So much later: what the retention does not keep goes."""
        if days:
            self.clock.advance(days * 86_400)
        clean_up(LogAtVersion(self.log, open_log(self.log)))

    @property
    def kept(self) -> set[int]:
        """Versions whose files are there."""
        names = (key.rpartition("/")[2] for key in self.store.objects)
        return {int(name[:20]) for name in names if len(name) == 25 and name.endswith(".json")}

    def oldest_possible(self) -> int:
        oldest = self.newest
        while oldest - 1 in self.kept:
            oldest -= 1
        return oldest

    def planner(self, log: TableLog | None = None, **options: Any) -> StreamPlanner:
        """A planner as another process makes one: it knows nothing but the table's place."""
        log = log or make_log(self.store, self.options)
        return StreamPlanner(TableHandle(log, open_log(log)), StreamOptions(**options))

    def given(self, version: int, **options: Any) -> list[str]:
        """What a stream gives of a version."""
        found = self.versions[version]
        return [] if found.removes and options.get("skip_change_commits") else found.adds


def paths(planner: StreamPlanner, start: Offset, end: Offset) -> list[str]:
    """The files between two offsets."""
    return planner.files(start, end).column("path").to_pylist()


def drained(planner: StreamPlanner, start: Offset, limits: Limits | None = None) -> tuple[list[str], Offset]:
    """All that a stream gives from an offset on, step by step, and where it ends."""
    found: list[str] = []
    while (end := planner.latest(start, limits)) != start:
        step = paths(planner, start, end)
        found += step
        planner.done(end)
        start = end
    return found, start


def schema_of(**columns: str) -> str:
    """Spark's JSON of a schema: `name="long"`, and `name="long!"` for one that must have values."""
    fields = [
        {"name": name, "type": kind.rstrip("!"), "nullable": not kind.endswith("!"), "metadata": {}}
        for name, kind in columns.items()
    ]
    return json.dumps({"type": "struct", "fields": fields})
