"""The truth about rows: what each operation meant to do, folded in the order of the log, against what is in the files.

every upload      a name is written once, or again with the same bytes
every version     its rows are all rows of one operation, each once; with what was there before, and without what it replaces,
                  they are exactly the rows of the live files. A merge changes no row, and says so
every answer      who is told of a success finds the rows of its operation in that version
the end           live files are there, with the bytes that they had; objects that no version ever named are left by deaths, by
                  unknown outcomes, by requests that came late and by deletes that failed, and by nothing else
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from indextables.core.errors import StorageError
from indextables.log.actions import Actions
from indextables.log.log_paths import parse_log_key
from indextables.table.maintain.merge import OPERATION, Merged
from sim.cheap import ids_in
from sim.oracle import Oracle, decode
from sim.scheduler import Scheduler
from sim.truth import meaning
from sim.world import LOG, Violation, World

Kind = Literal["append", "overwrite", "replace", "merge"]
_PER_OPERATION = 1000
"""An id says which operation wrote it."""


@dataclass
class Operation:
    """A call of a verb, what it means, and what its caller was told."""

    number: int
    who: str
    kind: Kind
    scope: str | None = None
    """The partition that it replaces, "*" for all."""
    rows: dict[int, str] = field(default_factory=dict)
    """Id to partition."""
    outcome: Literal["acked", "skipped", "failed", "unknown"] | None = None
    """None until it ends, and for ever if its process died."""
    version: int | None = None
    """Where its rows landed."""

    def __str__(self) -> str:
        return f"{self.kind} {self.number} of {self.who}"


class RowsTruth:
    """Knows which rows there are."""

    def __init__(self, world: World, oracle: Oracle, scheduler: Scheduler) -> None:
        self._world = world
        self._oracle = oracle
        self._scheduler = scheduler
        self.operations: list[Operation] = []
        self.rows: dict[int, str] = {}
        """Those of the newest version, id to partition."""
        self.damaged: set[str] = set()
        """Files whose bytes rotted."""
        self._current: dict[str, Operation] = {}
        self._bytes: dict[str, bytes] = {}
        self._uploads: dict[str, Operation | None] = {}
        """Who wrote an object; None for what came late."""
        self._named: set[str] = set()
        """What versions ever added."""
        self._folded: set[str | None] = set()
        """Commits that `rows` has."""
        self._merges: dict[str, Merged] = {}
        world.watchers.append(self._changed)

    def begin(self, who: str, kind: Kind, parts: Iterable[str] = (), scope: str | None = None) -> Operation:
        """A new operation, with a row for each of `parts`."""
        number = len(self.operations)
        rows = {number * _PER_OPERATION + each: part for each, part in enumerate(parts)}
        operation = Operation(number, who, kind, scope, rows)
        self.operations.append(operation)
        self._current[who] = operation
        return operation

    # what the store tells

    def _changed(self, what: str, key: str, data: bytes) -> None:
        if what != "write":
            return
        if not key.startswith(LOG):
            self._uploaded(key, data)
            return
        name = parse_log_key(key)
        if name is None or not name.is_version:
            return
        actions = decode(key, data)
        self._named.update(add.path for add in actions.adds)
        if name.version == 0:
            self.rows = {}  # of another table
        else:
            self._landed(name.version, actions)

    def _uploaded(self, key: str, data: bytes) -> None:
        if self._bytes.setdefault(key, data) != data:
            raise Violation("rewritten", f"{key} was written again, with other rows")
        sender = self._scheduler.sender
        self._uploads[key] = self._current.get(sender.name) if sender is not None else None

    def _landed(self, number: int, actions: Actions) -> None:
        truth, info = self._oracle.truth, actions.commit_info
        if (
            truth is None
            or info is None
            or info.txn_id in self._folded
            or truth.applied.get(info.txn_id or "") != number
        ):
            return  # a ghost, or of a table that was dropped
        self._folded.add(info.txn_id)
        added = self._in_files({add.path: add.partition_values.get("part") or "" for add in actions.adds})
        rearranged = info.operation == OPERATION
        if any(action.data_change == rearranged for action in (*actions.adds, *actions.removes)):
            raise Violation("wrong-change", f"version {number}, a {info.operation}, marks its files as the other kind")
        if rearranged:
            assert info.txn_id is not None
            self._merges[info.txn_id] = Merged(number, len(actions.removes), len(actions.adds), len(added))
        else:
            scope = meaning(info).get("replaces")
            kept = {row: part for row, part in self.rows.items() if scope not in ("*", part)}
            self.rows = kept | self._rows_of_one(number, added, scope)
        self._compare(number, truth.entries[number].live)

    def _in_files(self, files: Mapping[str, str]) -> list[tuple[int, str]]:
        return [(row, part) for path, part in files.items() for row in ids_in(self._bytes[path])]

    def _rows_of_one(self, number: int, added: list[tuple[int, str]], scope: object) -> dict[int, str]:
        """The rows that a version adds: all those of one operation, for the first time."""
        if not added:
            return {}
        operation = self.operations[added[0][0] // _PER_OPERATION]
        if operation.version is not None:
            raise Violation("row-twice", f"version {number} has the rows of {operation}, as {operation.version} has")
        if sorted(added) != sorted(operation.rows.items()) or operation.scope != scope:
            raise Violation(
                "torn", f"version {number} adds {added} for {scope}, not the {operation.rows} of {operation}"
            )
        operation.version = number
        return operation.rows

    def _compare(self, number: int, live: Mapping[str, str]) -> None:
        found = self._in_files(live)
        twice = sorted(row for row, count in Counter(row for row, _ in found).items() if count > 1)
        if twice:
            raise Violation("row-twice", f"version {number} has the rows {twice} more than once")
        lost, back = sorted(self.rows.items() - set(found)), sorted(set(found) - self.rows.items())
        if lost:
            raise Violation("row-lost", f"version {number} lacks the rows {lost}")
        if back:
            raise Violation("row-back", f"version {number} has the rows {back}, which were replaced before")

    # what actors report

    def was_acked(self, operation: Operation, version: int) -> None:
        if operation.rows and operation.version != version:
            raise Violation(
                "row-lost",
                f"{operation} was told that its rows are in version {version}, they are in {operation.version}",
            )

    def was_merged(self, operation: Operation, told: Merged, ids: Iterable[str]) -> None:
        """A merge is told what it did: that is what its versions say."""
        done = [self._merges[txn_id] for txn_id in ids if txn_id in self._merges]
        true = sum(each.sources for each in done), sum(each.results for each in done), sum(each.rows for each in done)
        if (told.sources, told.results, told.rows) != true:
            raise Violation("wrong-summary", f"{operation} was told {told}, its versions have {true}")

    # the end

    def finish(self) -> None:
        truth, objects = self._oracle.truth, self._world.objects
        for path in truth.newest.live if truth is not None and not self._oracle.dropping else ():
            if path not in self.damaged and (path not in objects or objects[path].data != self._bytes[path]):
                raise Violation("data-gone", f"{path} is live, and is not what was uploaded")
        failed = self._failed_deletes()
        for key in objects:
            if key.startswith(LOG) or key in self._named or key in failed:
                continue
            operation = self._uploads[key]
            if operation is not None and operation.outcome not in (None, "unknown"):
                raise Violation("orphan", f"{key} was left by {operation}, which was told: {operation.outcome}")

    def orphans(self) -> int:
        return sum(not key.startswith(LOG) and key not in self._named for key in self._world.objects)

    def _failed_deletes(self) -> set[str]:
        failed: set[str] = set()
        for entry in self._scheduler.trace:
            if len(entry) == 3 or entry[2].verb != "delete":
                continue
            request, answer = entry[2], entry[3]
            failed.update(request.keys if isinstance(answer, StorageError) else answer)
        return failed
