"""`Table.commit_files`: the low-level verb for engines that write data files themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from indextables.core.errors import CommitError, OptionError, SchemaError, UnsafePath
from indextables.core.metrics import METRICS
from indextables.core.options import PREFIX, SAFETY_AGE_HOURS, Family, Option, Options, table_options, table_value
from indextables.core.options.bag import resolve
from indextables.log.actions import SCHEMA_KEY, AddAction, TxnAction
from indextables.log.bound_limits import StatsLimits
from indextables.log.commit import Committed, commit
from indextables.log.conflicts import Change, MetadataUpdate, check_change
from indextables.storage.object_keys import inside_root
from indextables.table.handle import TableHandle
from indextables.table.open_table import at_read_version
from indextables.table.write.arrived_files import NOTHING_SAID, arrived, vouched_for
from indextables.table.write.usable_options import check_usable

Txn = TxnAction | tuple[str, int]


@METRICS.measured("commit_files")
def commit_files(
    handle: TableHandle,
    *,
    adds: Iterable[AddAction],
    removes: Iterable[str],
    properties: Mapping[str, Any] | None,
    txn: Txn | None,
    operation: str,
    data_change: bool,
    if_version: int | None = None,
    check_files: bool = False,
    uploaded_hours_ago: float | None = None,
) -> Committed:
    """Commit files that are in place already, removals, properties, and how far an exactly-once writer has come.

    With `if_version` the table must have the rows of that version when the commit is made, or FilesChanged is raised. With
    `check_files` the store is asked for every file that is added.
    """
    if if_version is not None:
        handle = at_read_version(handle, if_version)
    limits = handle.stats_limits
    said = NOTHING_SAID if uploaded_hours_ago is None else vouched_for(handle, uploaded_hours_ago)
    change = Change(
        adds=tuple(_checked(add, limits, handle) for add in _listed("adds", adds)),
        removes=_paths(removes),
        metadata=MetadataUpdate(properties=_usable(handle, _properties(properties))) if properties else None,
        txn=_txn(txn),
        data_change=data_change,
        computed_from_all=if_version is not None,
    )
    parameters = {"properties": ",".join(sorted(properties))} if properties else {}
    check_change(change)
    try:
        files = arrived(handle, change.adds) if check_files else said
    except CommitError:
        seen = _written_before(handle, change.txn)
        if seen is None:
            raise
        return seen
    return commit(
        handle,
        replace(change, needs=files.live),
        operation=operation,
        parameters=parameters,
        uploads_began=files.began if change.adds else None,
    )


def _written_before(handle: TableHandle, txn: TxnAction | None) -> Committed | None:
    """The answer to a batch that is in the table already, whose files may be gone or old by now."""
    if txn is None:
        return None
    newest = handle.refreshed().snapshot
    latest = newest.latest_txn(txn.app_id)
    if latest is None or latest.version < txn.version:
        return None
    reason = f"batch {txn.version} of {txn.app_id} is in the table already"
    return Committed(newest, handle.log.clock.uuid(), written=False, reason=reason, metrics={})


def _checked(add: AddAction, limits: StatsLimits, handle: TableHandle) -> AddAction:
    if not isinstance(add, AddAction):
        raise CommitError(f"adds must be AddAction values, not {type(add).__name__}")
    if not isinstance(add.path, str):
        raise CommitError(f"the path of an AddAction is text, not {type(add.path).__name__}")
    path = inside_root(handle.url, add.path)
    if path is None:
        raise UnsafePath(
            f"commit: path {add.path!r} is not inside the table {handle.url}; refusing to use it", path=add.path
        )
    for name in ("partition_values", "min_values", "max_values"):
        if not isinstance(getattr(add, name) or {}, Mapping):
            raise SchemaError(f"{path!r}: {name} is a dict of texts by column, not {type(getattr(add, name)).__name__}")
    values = _partition_values(add, handle.partition_columns)
    low, high = limits.minima(add.min_values), limits.maxima(add.max_values)
    return msgspec.structs.replace(add, path=path, partition_values=values, min_values=low, max_values=high)


def _listed(name: str, values: Any) -> Iterable[Any]:
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping):
        raise CommitError(f"{name} must be a list, not {type(values).__name__}")
    return values


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
        if column in values:
            raise SchemaError(f"{add.path!r} has two values for partition column {column!r}")
        if value is not None:
            values[column] = value
    return values


def _paths(removes: Iterable[str]) -> tuple[str, ...]:
    if isinstance(removes, str):
        raise CommitError(f"removes must be a list of paths, not the text {removes!r}")
    paths = tuple(_listed("removes", removes))
    for path in paths:
        if not isinstance(path, str):
            raise CommitError(f"removes must be paths (text), not {type(path).__name__}")
    return paths


def _properties(properties: Mapping[str, Any]) -> dict[str, str | None]:
    """Options that a table carries, with our prefix or without it, are checked and get their one spelling. Nothing else may
    stand under the prefix; all other properties are the user's own.
    """
    result: dict[str, str | None] = {}
    options: dict[str, Any] = {}
    for key, value in properties.items():
        if key.startswith(SCHEMA_KEY):
            raise SchemaError(f"property {key!r} is written by the table itself")
        entry = resolve(key)
        if not key.lower().startswith(PREFIX) and (entry is None or entry.scope != "table"):
            result[key] = None if value is None else str(value)
        elif value is None:
            result |= {key: None, _spelled(key, entry): None}
        else:
            options[key] = value
    checked = Options(options)
    session = sorted(checked.explicit().keys() - table_options(checked).keys())
    if session:
        raise OptionError(f"{', '.join(session)} cannot be a property of a table: set it where the table is opened")
    return result | checked.explicit()


def _usable(handle: TableHandle, properties: dict[str, str | None]) -> dict[str, str | None]:
    """The properties, unless the table could not be used with them. Raises OptionError."""
    if any(key.lower().startswith(PREFIX) for key in properties):
        configuration = handle.snapshot.metadata.configuration
        kept = {key: value for key, value in configuration.items() if key not in properties}
        new = {key: value for key, value in properties.items() if value is not None}
        check_usable(handle.schema, handle.partition_columns, {**kept, **new})
        _check_safety_age(handle, {**kept, **new})
    return properties


def _check_safety_age(handle: TableHandle, configuration: dict[str, str]) -> None:
    """Raise OptionError where the safety age would become shorter: clients that opened the table before rely on its length."""
    now, then = handle.snapshot.safety_age_seconds / 3600, table_value(configuration, SAFETY_AGE_HOURS)
    if then < now:
        raise OptionError(
            f"table {handle.url}: {SAFETY_AGE_HOURS.key} is {now:g} hours and cannot become {then:g}: whoever opened the table "
            "before relies on it; clone the table to begin with another one, or choose it when a table is created"
        )


def _spelled(key: str, entry: Option[Any] | Family | None) -> str:
    full = key if key.lower().startswith(PREFIX) else PREFIX + key
    return full if entry is None else entry.key + full[len(entry.key) :]


def _txn(txn: Txn | None) -> TxnAction | None:
    if txn is None or isinstance(txn, TxnAction):
        return txn
    match txn:
        case (str(app_id), int(batch)) if app_id and not isinstance(batch, bool):
            return TxnAction(app_id, batch)
    raise CommitError(f"txn is (name of the writer, number of its batch), such as ('nightly-load', 42), not {txn!r}")
