"""Statements that change what a table holds: DROP PARTITIONS, RESTORE, CLONE, properties, the protocol."""

from __future__ import annotations

from typing import Any, Final

from indextables.core.errors import OptionError
from indextables.core.options import PREFIX
from indextables.core.options.bag import check_property
from indextables.sql.answer import TEXT, WHOLE, Executor, Setting, columns
from indextables.sql.commands import Clone, DropPartitions, Restore, SetProperties, UnsetProperties, UpgradeProtocol
from indextables.table import Commit, Table

DROP: Final = columns(
    table_path=TEXT,
    status=TEXT,
    partitions_dropped=WHOLE,
    splits_removed=WHOLE,
    total_size_bytes=WHOLE,
    version=WHOLE,
    message=TEXT,
)
RESTORE: Final = columns(
    table_path=TEXT,
    status=TEXT,
    version=WHOLE,
    restored_version=WHOLE,
    files_added=WHOLE,
    files_removed=WHOLE,
    message=TEXT,
)
CLONE: Final = columns(
    table_path=TEXT,
    status=TEXT,
    version=WHOLE,
    source_path=TEXT,
    source_version=WHOLE,
    files=WHOLE,
    total_size_bytes=WHOLE,
    message=TEXT,
)
ALTER: Final = columns(table_path=TEXT, status=TEXT, version=WHOLE, message=TEXT)


def drop_partitions(command: DropPartitions, at: Setting) -> list[dict[str, Any]]:
    """Remove all rows of some partitions."""
    table = at.tables(command.table)
    done = table.drop_partitions(command.where)
    return [{"table_path": table.url, **{name: getattr(done, name) for name in DROP.names[1:]}}]


def restore(command: Restore, at: Setting) -> list[dict[str, Any]]:
    """Commit the files of an older version once more."""
    table = at.tables(command.table)
    done = table.restore(version=command.version, timestamp=command.timestamp)
    return [{"table_path": table.url, **{name: getattr(done, name) for name in RESTORE.names[1:]}}]


def clone(command: Clone, at: Setting) -> list[dict[str, Any]]:
    """A full copy of a version."""
    source = at.tables(command.table)
    copy = source.clone(command.target, version=command.version, options=at.options, progress=at.progress)
    files = copy.files()
    version = source.version if command.version is None else command.version
    return [
        {
            "table_path": copy.url,
            "status": "success",
            "version": copy.version,
            "source_path": source.url,
            "source_version": version,
            "files": files.num_rows,
            "total_size_bytes": sum(files.column("size").to_pylist()),
            "message": f"version {version} of {source.url} was copied",
        }
    ]


def set_properties(command: SetProperties, at: Setting) -> list[dict[str, Any]]:
    """Set properties of a table. Raises OptionError for an option that a table cannot carry, or a name that is almost one."""
    named: set[str] = set()
    for name, _ in command.properties:
        check_property(name)
        if _bare(name) in named:
            raise OptionError(f"property {name!r} is given twice: leave one of both out", key=name)
        named.add(_bare(name))
    table = at.tables(command.table)
    done = table.commit_files(properties=dict(command.properties), operation="SET PROPERTIES")
    return _altered(table, done, f"set {_named(name for name, _ in command.properties)}")


def unset_properties(command: UnsetProperties, at: Setting) -> list[dict[str, Any]]:
    """Drop properties of a table. Where the table has none of them, nothing is committed."""
    table = at.tables(command.table).refresh()
    known = {_bare(name) for name in table.properties}
    if not known & {_bare(name) for name in command.names}:
        missing = Commit(table.version, "", written=False, reason=f"the table has no property {_named(command.names)}")
        return _altered(table, missing, "")
    done = table.commit_files(properties=dict.fromkeys(command.names), operation="UNSET PROPERTIES")
    return _altered(table, done, f"unset {_named(command.names)}")


def _bare(name: str) -> str:
    return name.lower().removeprefix(PREFIX)


def _named(names: Any) -> str:
    return ", ".join(dict.fromkeys(names))


def upgrade_protocol(command: UpgradeProtocol, at: Setting) -> list[dict[str, Any]]:
    """Raise the protocol of an older table."""
    table = at.tables(command.table)
    return _altered(table, table.upgrade_protocol(), "the protocol is the newest of this release")


def _altered(table: Table, done: Commit, told: str) -> list[dict[str, Any]]:
    return [
        {
            "table_path": table.url,
            "status": "success" if done.written else "no_action",
            "version": done.version,
            "message": told if done.written else done.reason,
        }
    ]


EXECUTORS: Final[dict[type, Executor]] = {
    DropPartitions: Executor(DROP, drop_partitions, changes=True),
    Restore: Executor(RESTORE, restore, changes=True),
    Clone: Executor(CLONE, clone, changes=True),
    SetProperties: Executor(ALTER, set_properties, changes=True),
    UnsetProperties: Executor(ALTER, unset_properties, changes=True),
    UpgradeProtocol: Executor(ALTER, upgrade_protocol, changes=True),
}
