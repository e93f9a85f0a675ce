"""Full-text search as a table format: tables of search indexes in object storage, with ACID commits and time travel.

Names are loaded when they are first asked for, so that `indextables --version` need not load Arrow.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from indextables._version import __version__

if TYPE_CHECKING:
    from indextables import errors
    from indextables.log.actions import AddAction
    from indextables.log.history import Changes
    from indextables.table import Commit, Table

_HOMES = {
    "AddAction": "indextables.log.actions",
    "Changes": "indextables.log.history",
    "Commit": "indextables.table",
    "Table": "indextables.table",
}


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("indextables.errors")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["AddAction", "Changes", "Commit", "Table", "__version__", "errors"]
