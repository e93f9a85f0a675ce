"""Exit codes, and the two errors that only a command line has.

0    done
1    search and scan: no row was found (as grep says it)
2    the command line, a query or a `where` cannot be read
3    no such table, or no such version of it
4    somebody else was there first: the table exists, or a commit lost; nothing was changed
5    a file to import cannot be read, or does not fit; nothing was imported
6    the store, the log or a data file said no
7    nobody can tell yet whether the commit happened: look before you repeat it
70   a bug in this program
130  interrupted with Ctrl-C
141  whoever read the output went away
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
    TableExists,
    TableNotFound,
    VersionNotFound,
)

OK: Final = 0
NOTHING_FOUND: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
CONFLICT: Final = 4
BAD_INPUT: Final = 5
FAILED: Final = 6
OUTCOME_UNKNOWN: Final = 7
BUG: Final = 70
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141


class UsageError(OptionError):
    """An option of the command line that cannot be read."""


class InputError(SchemaError):
    """A file that cannot be imported: missing, damaged, or with a value that does not fit. The message says where."""


_CODES: Final[tuple[tuple[tuple[type[IndexTablesError], ...], int], ...]] = (
    ((InputError,), BAD_INPUT),
    ((CommitOutcomeUnknown,), OUTCOME_UNKNOWN),
    ((TableExists, CommitError), CONFLICT),
    ((TableNotFound, VersionNotFound, ChangesGone), NOT_FOUND),
    ((OptionError, SchemaError, PredicateError, QueryError), USAGE),
    ((IndexTablesError,), FAILED),
)


def exit_code(error: IndexTablesError) -> int:
    """What a script is told of an error."""
    return next(code for kinds, code in _CODES if isinstance(error, kinds))
