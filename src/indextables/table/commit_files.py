"""`Table.commit_files`: the low-level verb for engines that write data files themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from indextables.core.errors import CommitError, SchemaError
from indextables.core.options import PREFIX, Options
from indextables.log.actions import SCHEMA_KEY, AddAction, TxnAction
from indextables.log.commit import Committed, commit
from indextables.log.conflicts import Change, MetadataUpdate
from indextables.log.snapshot import Snapshot
from indextables.log.stats import limit_stats
from indextables.log.tablelog import TableLog

Txn = TxnAction | tuple[str, int]


def commit_files(
    log: TableLog,
    snapshot: Snapshot,
    *,
    adds: Iterable[AddAction],
    removes: Iterable[str],
    properties: Mapping[str, Any] | None,
    txn: Txn | None,
    operation: str,
    data_change: bool,
) -> Committed:
    """Commit files that are in place already, removals, properties, and how far an exactly-once writer has come."""
    change = Change(
        adds=tuple(_checked(add, log.options, snapshot) for add in adds),
        removes=_paths(removes),
        metadata=MetadataUpdate(properties=_properties(properties)) if properties else None,
        txn=_txn(txn),
        data_change=data_change,
    )
    parameters = {"properties": ",".join(sorted(properties))} if properties else {}
    return commit(log, snapshot, change, operation=operation, parameters=parameters)


def _checked(add: AddAction, options: Options, snapshot: Snapshot) -> AddAction:
    if not isinstance(add, AddAction):
        raise CommitError(f"adds must be AddAction values, not {type(add).__name__}")
    columns = snapshot.metadata.partition_columns
    values = _partition_values(add, columns)
    low, high = limit_stats(
        add.min_values, add.max_values, schema=snapshot.schema, partition_columns=columns, options=options
    )
    return msgspec.structs.replace(add, partition_values=values, min_values=low, max_values=high)


def _partition_values(add: AddAction, columns: Sequence[str]) -> dict[str, str | None]:
    by_lower = {column.lower(): column for column in columns}
    values: dict[str, str | None] = {}
    for key, value in (add.partition_values or {}).items():
        column = by_lower.get(str(key).lower())
        if column is None:
            raise SchemaError(
                f"{add.path!r} has a value for {key!r}, which is not a partition column (these are: "
                f"{', '.join(columns) or 'none'})"
            )
        if value is not None and not isinstance(value, str):
            raise SchemaError(f"{add.path!r}: partition value {column}={value!r} must be text, as it stands in the log")
        if value is not None:
            values[column] = value
    return values


def _paths(removes: Iterable[str]) -> tuple[str, ...]:
    if isinstance(removes, str):
        raise CommitError(f"removes must be a list of paths, not the text {removes!r}")
    paths = tuple(removes)
    for path in paths:
        if not isinstance(path, str):
            raise CommitError(f"removes must be paths (text), not {type(path).__name__}")
    return paths


def _properties(properties: Mapping[str, Any]) -> dict[str, str | None]:
    """Properties under our prefix must be options that a table can carry; all others are the user's own."""
    ours = {key: value for key, value in properties.items() if key.lower().startswith(PREFIX) and value is not None}
    canonical = {key.lower(): (key, value) for key, value in Options(ours).explicit().items()}
    result: dict[str, str | None] = {}
    for key, value in properties.items():
        if key.startswith(SCHEMA_KEY):
            raise SchemaError(f"property {key!r} is written by the table itself")
        known = canonical.get(key.lower())
        if known is not None:
            result[known[0]] = known[1]
        else:
            result[key] = None if value is None else str(value)
    return result


def _txn(txn: Txn | None) -> TxnAction | None:
    if txn is None or isinstance(txn, TxnAction):
        return txn
    app_id, version = txn
    return TxnAction(str(app_id), int(version))
