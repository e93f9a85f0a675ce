"""Tables on a store of the test's own, and what a `Table` holds inside. No other test knows the private attributes of `Table`.

open_on(store)            the table in a store, opened as any reader opens it
on_store(table, store)    an open table at its version, on another store: one that counts, waits or refuses
at_snapshot(table, …)     the table as it would be with another snapshot
handle_of(table)          its log and its snapshot
store_of(table)           its store
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from indextables import Table
from indextables.core.options import Options
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.storage.store import Store
from indextables.table.handle import TableHandle


def handle_of(table: Table) -> TableHandle:
    """The log and the snapshot that the verbs of this table are given."""
    return table._handle


def store_of(table: Table) -> Store:
    """The store that the table's log reads and writes."""
    return handle_of(table).log.store


def open_on(store: Store, options: Mapping[str, Any] | None = None, *, version: int | None = None, **log: Any) -> Table:
    """The table in a store, at its newest version or at an older one. `log` are further arguments of `TableLog`."""
    opened = TableLog(store, Options(options), **log)
    return Table(TableHandle(opened, open_log(opened, version)))


def on_store(table: Table, store: Store | None = None, options: Mapping[str, Any] | None = None, **log: Any) -> Table:
    """The table at its version with a log of its own, on another store and with other options if they are given."""
    handle = handle_of(table)
    opened = TableLog(store or handle.log.store, handle.options if options is None else Options(options), **log)
    return Table(TableHandle(opened, handle.snapshot))


def at_snapshot(table: Table, snapshot: Snapshot) -> Table:
    """The table with the same log and another snapshot."""
    return Table(TableHandle(handle_of(table).log, snapshot))


def reopened(table: Table) -> Table:
    """Another object for the same table at the same version, with the same log."""
    return at_snapshot(table, handle_of(table).snapshot)
