"""What can be typed. Each command says what only it takes, and leaves the work to `reading` and `writing`.

Annotations are read when the program starts, so they are not texts here (no `from __future__ import annotations`): that
would take three times as long.
"""

from typing import Annotated

import typer

from indextables._version import __version__
from indextables.cli import params as p
from indextables.cli.command import Call, command
from indextables.cli.load.formats import Format
from indextables.cli.looking import looking_app
from indextables.cli.maintaining import maintaining_app
from indextables.cli.sql import process_commands, sql_command, statement_commands, table_commands

app = typer.Typer(
    name="indextables",
    help="Tables that are full-text search indexes: import files, search them, count and sum them up, travel in time.",
    epilog="Exit codes: 0 done, 1 nothing found, or damage, 2 bad usage or query, 3 no such table or version, 4 lost to another "
    "writer, 5 bad input, 6 storage failed, 7 outcome unknown.",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    no_args_is_help=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"indextables {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the release.")
    ] = False,
) -> None:
    """Everything that is not a command."""
    del version
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit(2)


@command(app, "create")
def create(
    call: Call,
    *,
    schema: Annotated[
        str,
        typer.Option(
            "--schema",
            "-s",
            metavar="COLUMNS",
            help="Columns and types: 'ts timestamp, message text'; Spark's JSON; or @file. `text` is indexed word by word.",
            show_default=False,
        ),
    ],
    partition_by: p.Partitions = None,
    if_missing: Annotated[bool, typer.Option("--if-missing", help="A table that is there already is fine.")] = False,
) -> int:
    """Create an empty table."""
    from indextables.cli import reading, writing

    return call.answer(
        lambda _: writing.create(call.target, schema, reading.listed(partition_by) or (), if_missing=if_missing),
        undone="nothing was created",
    )


@command(app, "import")
def import_(
    call: Call,
    *,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES...",
            help="Files or patterns of CSV, TSV, JSON, Parquet or .log, packed (.gz, .zst, .bz2) or not, local or in a store "
            "(s3://bucket/*.csv); - is standard input.",
            show_default=False,
        ),
    ],
    format: Annotated[  # noqa: A002 - the option's name
        Format | None, typer.Option("--format", "-f", help="Of the files, where their names do not tell.")
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema",
            "-s",
            metavar="COLUMNS",
            help="Types of a new table, as for create; columns that are left out are guessed from all rows.",
        ),
    ] = None,
    partition_by: p.Partitions = None,
    no_create: Annotated[bool, typer.Option("--no-create", help="The table must be there already.")] = False,
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", "-d", metavar="MARK", help="Between the cells of CSV: , unless given.")
    ] = None,
    null: Annotated[
        list[str] | None,
        typer.Option("--null", metavar="TEXT", help="A cell of CSV that means no value, beside an empty one."),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Take the files of a directory as they arrive, each exactly once, until Ctrl-C."),
    ] = False,
    interval: Annotated[
        float, typer.Option("--interval", metavar="SECONDS", help="How often to look for new files, with --follow.")
    ] = 2.0,
    settle: Annotated[
        float,
        typer.Option(
            "--settle",
            metavar="SECONDS",
            help="A file that did not change for so long is whole, with --follow; 0 where files are renamed into the directory.",
        ),
    ] = 5.0,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="DIRECTORY",
            help="Where to keep what was taken, with --follow; unless given, inside the directory that is followed.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Add the rows of files, all or none. A table that does not exist is created, with the schema that the files have."""
    from indextables.cli import reading, writing

    wanted = writing.Import(
        files,
        format.value if format else None,
        schema,
        reading.listed(partition_by) or (),
        not no_create,
        delimiter,
        null or (),
    )
    if follow:
        from indextables.cli.arriving.follow_directory import Follow, follow_directory

        how = Follow(interval, settle, state)
        return call.answer(
            lambda renderer: follow_directory(call.target, wanted, how, renderer.stage),
            undone="what was committed before stays, and the other files are taken the next time",
        )
    return call.answer(
        lambda renderer: writing.import_files(call.target, wanted, renderer.stage), undone="nothing was imported"
    )


@command(app, "search", travels=True, rows=True)
def search(
    call: Call,
    *,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.", show_default=False)],
    columns: p.ColumnList = None,
    where: p.Where = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", "-n", metavar="ROWS", min=0, help="So many of the best.", rich_help_panel="What to read"
        ),
    ] = 10,
    snippets: Annotated[
        list[str] | None,
        typer.Option(
            "--snippets",
            metavar="NAMES",
            help="Text columns of which `_snippets` has the parts that were found.",
            rich_help_panel="What to read",
        ),
    ] = None,
) -> int:
    """The rows that fit a search best, best first."""
    from indextables.cli import reading
    from indextables.cli.render.screen import Output

    return call.answer(
        lambda renderer: reading.search(
            call.target,
            query,
            reading.listed(columns),
            where,
            limit,
            reading.listed(snippets),
            highlight=renderer.output is Output.TABLE,
        )
    )


@command(app, "scan", travels=True, rows=True)
def scan(
    call: Call, columns: p.ColumnList = None, where: p.Where = None, query: p.Query = None, limit: p.Limit = None
) -> int:
    """All rows, or those that a condition and a search select, in the order in which they are stored."""
    from indextables.cli import reading

    return call.answer(lambda _: reading.scan(call.target, reading.listed(columns), where, query, limit))


@command(app, "count", travels=True)
def count(call: Call, where: p.Where = None, query: p.Query = None) -> int:
    """How many rows there are, or a condition and a search select."""
    from indextables.cli import reading

    return call.answer(lambda _: reading.count(call.target, where, query))


@command(app, "aggregate", travels=True, rows=True)
def aggregate(
    call: Call, by: p.By = None, metric: p.Metrics = None, where: p.Where = None, query: p.Query = None
) -> int:
    """Count and sum up, by one key or several. A terminal shows bars of the first metric."""
    from indextables.cli import reading

    return call.answer(lambda _: reading.aggregate(call.target, by or (), metric or (), where, query))


@command(app, "explain", travels=True)
def explain(call: Call, where: p.Where = None, query: p.Query = None) -> int:
    """What a question asks of the table, in words, and how its files would answer: by the log, the index or a scan."""
    from indextables.cli import reading

    return call.answer(lambda _: reading.explain(call.target, where, query))


@command(app, "describe", travels=True)
def describe(call: Call) -> int:
    """What the table is: columns, how they are indexed, rows, files, properties."""
    from indextables.cli import reading

    return call.answer(lambda _: reading.describe(call.target))


@command(app, "history", travels=True, rows=True)
def history(call: Call, limit: p.Limit = None) -> int:
    """Who committed what, newest first."""
    from indextables.cli import reading

    return call.answer(lambda _: reading.history(call.target, limit))


@command(app, "files", travels=True, rows=True)
def files(call: Call, where: p.Where = None) -> int:
    """The table's files, or those that may hold rows for which a condition is true."""
    from indextables.cli import reading

    return call.answer(lambda _: reading.files(call.target, where))


@command(app, "changes", travels=True, rows=True)
def changes(
    call: Call,
    *,
    since: Annotated[
        str, typer.Option("--since", metavar="VERSION|TIME", help="What came after it.", show_default=False)
    ],
    rows: Annotated[bool, typer.Option("--rows", help="The rows that were inserted and deleted.")] = False,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="VERSION|TIME", help="With --rows: nothing that came after it.", show_default=False
        ),
    ] = None,
    columns: p.ColumnList = None,
    where: p.Where = None,
    query: p.Query = None,
) -> int:
    """The files that were added and removed after a version or a time, or with --rows the rows that were inserted and deleted."""
    from indextables.cli import reading

    if rows:
        return call.answer(
            lambda _: reading.changed_rows(call.target, since, until, reading.listed(columns), where, query)
        )
    return call.answer(
        lambda _: reading.changes(call.target, since, until=until, columns=columns, where=where, query=query)
    )


@command(app, "fsck", rows=True)
def fsck(
    call: Call,
    *,
    repair: Annotated[
        bool, typer.Option("--repair", help="Write a pointer or a state anew, where the log proves what it must hold.")
    ] = False,
) -> int:
    """What is wrong with a table: its log, every byte of its files, orphans, doubled rows. Nothing where all is well."""
    from indextables.cli import reading

    return call.answer(
        lambda renderer: reading.fsck(call.target, repair=repair, data_only=False, stage=renderer.stage),
        undone="what was repaired and committed before stays, and no row changed" if repair else None,
    )


@command(app, "verify", rows=True)
def verify(call: Call) -> int:
    """Every byte of the table's files against its checksum, and their rows, bounds and partitions against the log."""
    from indextables.cli import reading

    return call.answer(lambda renderer: reading.fsck(call.target, repair=False, data_only=True, stage=renderer.stage))


looking_app.declare(app)
table_commands.declare(app)
maintaining_app.declare(app)
statement_commands.declare(app)
process_commands.declare(app)
sql_command.declare(app)
