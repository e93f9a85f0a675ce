"""Exit codes, the errors that only a command line has, and errors of the package in the words of a command line.

0    done
1    search and scan: no row was found (as grep says it)
2    the command line, a query or a `where` cannot be read, or asks for what cannot be
3    no such table, or no such version of it
4    somebody else was there first: the table exists, or a commit lost; nothing was changed
5    a file to import is not there, cannot be read, or does not fit; nothing was imported
6    the store, the log or a data file said no, or the answer cannot be written
7    nobody can tell yet whether the commit happened: look before you repeat it
70   a bug in this program
129  the terminal was closed
130  interrupted with Ctrl-C
141  whoever read the output went away
143  somebody asked the program to end
"""

from __future__ import annotations

from typing import Final

from indextables.core.errors import (
    ChangesGone,
    CommitError,
    CommitOutcomeUnknown,
    IndexTablesError,
    OptionError,
    PredicateError,
    QueryError,
    SchemaError,
    StatementError,
    TableExists,
    TableNotFound,
    VersionNotFound,
)

OK: Final = 0
"""The command did its work."""
NOTHING_FOUND: Final = 1
"""A question was answered, and no row was found: as grep answers."""
USAGE: Final = 2
"""The command line cannot be read."""
NOT_FOUND: Final = 3
"""There is no such table or version."""
CONFLICT: Final = 4
"""Somebody else changed the table, or it exists already."""
BAD_INPUT: Final = 5
"""A query, a filter, a schema or a file to import is wrong."""
FAILED: Final = 6
"""Everything else that the package reports: storage, damage, limits."""
OUTCOME_UNKNOWN: Final = 7
"""A commit may or may not have happened."""
BUG: Final = 70
"""An error that the package does not know: EX_SOFTWARE of sysexits.h."""
HUNG_UP: Final = 129
"""Ended by SIGHUP, as a shell says it: 128 and the number of the signal."""
INTERRUPTED: Final = 130
"""Ended by SIGINT (Ctrl-C)."""
PIPE_CLOSED: Final = 141
"""The reader of standard output went away: SIGPIPE."""
TERMINATED: Final = 143
"""Ended by SIGTERM."""


class UsageError(OptionError):
    """An option of the command line that cannot be read."""


class InputError(SchemaError):
    """A file that cannot be imported: missing, damaged, or with a value that does not fit. The message says where."""


class OutputFailed(Exception):
    """Standard output takes no more, and nobody closed it: a full disk, say."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(str(reason))
        self.reason = reason


_CODES: Final[tuple[tuple[tuple[type[IndexTablesError], ...], int], ...]] = (
    ((InputError,), BAD_INPUT),
    ((CommitOutcomeUnknown,), OUTCOME_UNKNOWN),
    ((TableExists, CommitError), CONFLICT),
    ((TableNotFound, VersionNotFound, ChangesGone), NOT_FOUND),
    ((OptionError, SchemaError, PredicateError, QueryError, StatementError), USAGE),
    ((IndexTablesError,), FAILED),
)


def exit_code(error: IndexTablesError) -> int:
    """What a script is told of an error."""
    return next(code for kinds, code in _CODES if isinstance(error, kinds))


_PHRASES: Final = (
    ("create one with Table.create", "make one with indextables create or import"),
    ("open it with Table.open, or create with if_exists='open'", "with --if-missing that is fine"),
    ("history() before writing again", "indextables history before writing again"),
    ("(assume_timezone)", "in the file"),
    ("merge_splits takes", "merge takes"),
)
"""What messages say to those who write Python, and to those who type."""


def spoken(error: IndexTablesError) -> str:
    """The message of an error, with ways out that can be typed."""
    message = error.message
    for python, shell in _PHRASES:
        message = message.replace(python, shell)
    return message
