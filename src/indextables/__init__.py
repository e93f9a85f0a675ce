"""Full-text search as a table format: tables of search indexes in object storage, with ACID commits and time travel."""

from indextables import errors
from indextables._version import __version__
from indextables.log.actions import AddAction
from indextables.log.history import Changes
from indextables.table import Commit, Table

__all__ = ["AddAction", "Changes", "Commit", "Table", "__version__", "errors"]
