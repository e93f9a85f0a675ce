"""Commands that are statements under shorter names. As in `app`, annotations are not texts.

`state logs` is `DESCRIBE INDEXTABLES STATE logs`: the same command value, the same executor, the same columns.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from indextables.cli import params as p
from indextables.cli.command import Call, command
from indextables.cli.errors import UsageError
from indextables.cli.examples import epilog

if TYPE_CHECKING:
    from indextables.cli.sql.sql_text import Asked
    from indextables.sql.commands import Command


def declare(app: typer.Typer) -> None:
    """Declare the commands `state`, `log`, `components`, `set`, `unset`, `cache` and `environment`."""
    command(app, "state", rows=True)(_state)
    command(app, "log", rows=True)(_log)
    command(app, "components", rows=True)(_components)
    command(app, "set", rows=True)(_set)
    command(app, "unset", rows=True)(_unset)
    app.command("cache", epilog=epilog("cache"))(_cache)
    app.command("environment", epilog=epilog("environment"))(_environment)


def _state(call: Call) -> int:
    """The state that the table stands on: its version, files, manifests and tombstones."""
    from indextables.sql.commands import DescribeState
    from indextables.sql.table_ref import TablePath

    return _about(call, DescribeState(TablePath(call.table)))


def _log(
    call: Call,
    all: Annotated[bool, typer.Option("--all", help="All versions that are kept.")] = False,  # noqa: A002 - its name
) -> int:
    """The actions of the log, one a row: since the newest checkpoint, or all that are kept."""
    from indextables.sql.commands import DescribeLog
    from indextables.sql.table_ref import TablePath

    return _about(call, DescribeLog(TablePath(call.table), include_all=all))


def _components(call: Call, where: p.Where = None) -> int:
    """The parts of every data file: rows, terms, postings, positions, columns, each with its bytes."""
    from indextables.sql.commands import DescribeComponentSizes, Where
    from indextables.sql.table_ref import TablePath

    return _about(call, DescribeComponentSizes(TablePath(call.table), where=None if where is None else Where(where)))


def _set(
    call: Call,
    *,
    properties: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE...", help="Properties and their values.", show_default=False)
    ],
) -> int:
    """Set properties of a table."""
    from indextables.cli.sql.sql_text import fail
    from indextables.sql.commands import SetProperties
    from indextables.sql.table_ref import TablePath

    pairs = []
    for text in properties:
        key, mark, value = text.partition("=")
        if not mark or not key.strip():
            return fail(UsageError(f"{text!r} is no property: write key=value, such as owner=ops"), _asked(call))
        pairs.append((key.strip(), value.strip()))
    return _about(call, SetProperties(TablePath(call.table), tuple(pairs)))


def _unset(
    call: Call,
    *,
    names: Annotated[
        list[str], typer.Argument(metavar="KEY...", help="Properties that are dropped.", show_default=False)
    ],
) -> int:
    """Drop properties of a table."""
    from indextables.sql.commands import UnsetProperties
    from indextables.sql.table_ref import TablePath

    return _about(call, UnsetProperties(TablePath(call.table), tuple(names)))


def _cache(
    flush: Annotated[bool, typer.Option("--flush", help="Remove the indexes that are kept there.")] = False,
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
    no_header: p.NoHeader = False,
) -> int:
    """The indexes that this machine keeps on its local disk, and how much room they take."""
    from indextables.cli.sql.sql_text import Asked, run_command
    from indextables.sql.commands import DescribeDiskCache, FlushDiskCache

    asked = Asked((), option or (), output, json, not no_header)
    return run_command(FlushDiskCache() if flush else DescribeDiskCache(), asked)


def _environment(
    option: p.StoreOptions = None, output: p.Out = None, json: p.Json = False, no_header: p.NoHeader = False
) -> int:
    """What the program runs on and with: versions, processors, memory, options and variables. Secrets are left out."""
    from indextables.cli.sql.sql_text import Asked, run_command
    from indextables.sql.commands import DescribeEnvironment

    return run_command(DescribeEnvironment(), Asked((), option or (), output, json, not no_header))


def _about(call: Call, what: "Command") -> int:
    """Run a command about the table of a call."""
    from indextables.cli.sql.sql_text import run_command

    return run_command(what, _asked(call))


def _asked(call: Call) -> "Asked":
    """How a call wants its answer."""
    from indextables.cli.sql.sql_text import Asked

    return Asked((), call.option or (), call.output, call.json, not call.no_header)
