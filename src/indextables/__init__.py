"""Full-text search as a table format: tables of search indexes in object storage, with ACID commits and time travel.

    spark/ | cli/ ──▶ sql/ ──▶ table/ ──▶ log/ | split/ ──▶ storage/ ──▶ core/        each room imports only rooms to its right

    core/         values, types, predicates, options, errors: no I/O
    storage/      objects on local disks, in memory, on S3, Azure and Google Cloud Storage
    log/          the transaction log: versions, states, commits, and the live files of a table
    split/        a data file: rows and their search index, written, planned, read and merged
    table/        `Table` and its verbs
    sql/          statements such as PURGE INDEXTABLES: grammar, commands, execution
    spark/        tables in PySpark
    cli/          the command line `indextables`
    errors.py     every error by name, for `from indextables.errors import CommitError`
    metrics.py    counters and durations of this process
    inspect.py    caches, requests, jobs and times of this process, as tables
    _version.py   the release

The package imports `Table` and its other names at their first use, so that `indextables --version` does not load Arrow.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from indextables._version import __version__

if TYPE_CHECKING:
    from indextables import errors
    from indextables.log.actions import AddAction
    from indextables.log.history import Changes
    from indextables.sql.run_text import sql
    from indextables.table import Commit, Table

_HOMES = {
    "AddAction": "indextables.log.actions",
    "Changes": "indextables.log.history",
    "Commit": "indextables.table",
    "Table": "indextables.table",
}


def __getattr__(name: str) -> Any:
    if name in ("errors", "sql"):
        return import_module(f"indextables.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["AddAction", "Changes", "Commit", "Table", "__version__", "errors", "sql"]
