"""Commands that are statements under shorter names. As in `app`, annotations are not texts.

`state logs` is `DESCRIBE INDEXTABLES STATE logs`: the same command value, the same executor, the same columns.
"""

from typing import Annotated

import typer

from indextables.cli import params as p
from indextables.cli.command import Call, command
from indextables.cli.errors import UsageError
from indextables.cli.sql.about_table import asked_by, run_about


def declare(app: typer.Typer) -> None:
    """Declare the commands `state`, `log`, `components`, `set`, `unset` and `upgrade`."""
    command(app, "state", rows=True)(_state)
    command(app, "log", rows=True)(_log)
    command(app, "components", rows=True)(_components)
    command(app, "set", rows=True)(_set)
    command(app, "unset", rows=True)(_unset)
    command(app, "upgrade", rows=True)(_upgrade)


def _state(call: Call) -> int:
    """The state that the table stands on: its version, files, manifests and tombstones."""
    from indextables.sql.commands import DescribeState
    from indextables.sql.table_ref import TablePath

    return run_about(call, DescribeState(TablePath(call.table)))


def _log(
    call: Call,
    all: Annotated[bool, typer.Option("--all", help="All versions that are kept.")] = False,  # noqa: A002 - its name
) -> int:
    """The actions of the log, one a row: since the newest checkpoint, or all that are kept."""
    from indextables.sql.commands import DescribeLog
    from indextables.sql.table_ref import TablePath

    return run_about(call, DescribeLog(TablePath(call.table), include_all=all))


def _components(call: Call, where: p.Where = None) -> int:
    """The parts of every data file: rows, terms, postings, positions, columns, each with its bytes."""
    from indextables.sql.commands import DescribeComponentSizes, Where
    from indextables.sql.table_ref import TablePath

    return run_about(call, DescribeComponentSizes(TablePath(call.table), where=None if where is None else Where(where)))


def _set(
    call: Call,
    *,
    properties: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE...", help="Properties and their values.", show_default=False)
    ],
) -> int:
    """Set properties of a table."""
    from indextables.cli.sql import sentences
    from indextables.cli.sql.run_command import Manner, fail
    from indextables.sql.commands import SetProperties
    from indextables.sql.table_ref import TablePath

    pairs = []
    for text in properties:
        key, mark, value = text.partition("=")
        if not mark or not key.strip():
            return fail(UsageError(f"{text!r} is no property: write key=value, such as owner=ops"), asked_by(call))
        pairs.append((key.strip(), value.strip()))
    return run_about(call, SetProperties(TablePath(call.table), tuple(pairs)), Manner(told=sentences.altered))


def _unset(
    call: Call,
    *,
    names: Annotated[
        list[str], typer.Argument(metavar="KEY...", help="Properties that are dropped.", show_default=False)
    ],
) -> int:
    """Drop properties of a table."""
    from indextables.cli.sql import sentences
    from indextables.cli.sql.run_command import Manner
    from indextables.sql.commands import UnsetProperties
    from indextables.sql.table_ref import TablePath

    return run_about(call, UnsetProperties(TablePath(call.table), tuple(names)), Manner(told=sentences.altered))


def _upgrade(call: Call) -> int:
    """Raise the protocol of a table that an older release made. Older releases cannot open it afterwards."""
    from indextables.cli.sql import sentences
    from indextables.cli.sql.run_command import Manner
    from indextables.sql.commands import UpgradeProtocol
    from indextables.sql.table_ref import TablePath

    return run_about(call, UpgradeProtocol(TablePath(call.table)), Manner(told=sentences.altered))
