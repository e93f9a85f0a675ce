"""What can be typed. Each command says what it takes, and leaves the work to `reading` and `writing`.

Annotations are read when the program starts, so they are not texts here (no `from __future__ import annotations`): that
would take three times as long.
"""

from typing import Annotated

import typer

from indextables._version import __version__
from indextables.cli import params as p
from indextables.cli.examples import epilog
from indextables.cli.load.formats import Format
from indextables.cli.run import perform
from indextables.cli.targets import target

app = typer.Typer(
    name="indextables",
    help="Tables that are full-text search indexes: import files, search them, count and sum them up, travel in time.",
    epilog="Exit codes: 0 done, 1 nothing found, 2 bad usage or query, 3 no such table or version, 4 lost to another writer, "
    "5 bad input, 6 storage failed, 7 outcome unknown.",
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


@app.command(epilog=epilog("create"))
def create(
    table: p.TableUrl,
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
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
) -> int:
    """Create an empty table."""
    from indextables.cli import reading, writing

    return perform(
        lambda _: writing.create(
            target(table, option), schema, reading.listed(partition_by) or (), if_missing=if_missing
        ),
        output,
        json=json,
    )


@app.command("import", epilog=epilog("import"))
def import_(
    table: p.TableUrl,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES...",
            help="Files or patterns of CSV, TSV, JSON lines or Parquet, gzip'd or not; - is standard input.",
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
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
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
    return perform(
        lambda renderer: writing.import_files(target(table, option), wanted, renderer.stage), output, json=json
    )


@app.command(epilog=epilog("search"))
def search(
    table: p.TableUrl,
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
    version: p.Version = None,
    timestamp: p.Timestamp = None,
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
    no_header: p.NoHeader = False,
) -> int:
    """The rows that fit a search best, best first."""
    from indextables.cli import reading
    from indextables.cli.render.screen import Output

    return perform(
        lambda renderer: reading.search(
            target(table, option, version, timestamp),
            query,
            reading.listed(columns),
            where,
            limit,
            reading.listed(snippets),
            highlight=renderer.output is Output.TABLE,
        ),
        output,
        json=json,
        header=not no_header,
    )


@app.command(epilog=epilog("scan"))
def scan(
    table: p.TableUrl,
    columns: p.ColumnList = None,
    where: p.Where = None,
    query: p.Query = None,
    limit: p.Limit = None,
    version: p.Version = None,
    timestamp: p.Timestamp = None,
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
    no_header: p.NoHeader = False,
) -> int:
    """All rows, or those that a condition and a search select, in the order in which they are stored."""
    from indextables.cli import reading

    return perform(
        lambda _: reading.scan(target(table, option, version, timestamp), reading.listed(columns), where, query, limit),
        output,
        json=json,
        header=not no_header,
    )


@app.command(epilog=epilog("count"))
def count(
    table: p.TableUrl,
    where: p.Where = None,
    query: p.Query = None,
    version: p.Version = None,
    timestamp: p.Timestamp = None,
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
) -> int:
    """How many rows there are, or a condition and a search select."""
    from indextables.cli import reading

    return perform(lambda _: reading.count(target(table, option, version, timestamp), where, query), output, json=json)


@app.command(epilog=epilog("aggregate"))
def aggregate(
    table: p.TableUrl,
    by: p.By = None,
    metric: p.Metrics = None,
    where: p.Where = None,
    query: p.Query = None,
    version: p.Version = None,
    timestamp: p.Timestamp = None,
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
    no_header: p.NoHeader = False,
) -> int:
    """Count and sum up, by one key or several. A terminal shows bars of the first metric."""
    from indextables.cli import reading

    return perform(
        lambda _: reading.aggregate(target(table, option, version, timestamp), by or (), metric or (), where, query),
        output,
        json=json,
        header=not no_header,
    )


@app.command(epilog=epilog("describe"))
def describe(
    table: p.TableUrl,
    version: p.Version = None,
    timestamp: p.Timestamp = None,
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
) -> int:
    """What the table is: columns, how they are indexed, rows, files, properties."""
    from indextables.cli import reading

    return perform(lambda _: reading.describe(target(table, option, version, timestamp)), output, json=json)


@app.command(epilog=epilog("history"))
def history(
    table: p.TableUrl,
    limit: p.Limit = None,
    version: p.Version = None,
    timestamp: p.Timestamp = None,
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
    no_header: p.NoHeader = False,
) -> int:
    """Who committed what, newest first."""
    from indextables.cli import reading

    return perform(
        lambda _: reading.history(target(table, option, version, timestamp), limit),
        output,
        json=json,
        header=not no_header,
    )


@app.command(epilog=epilog("files"))
def files(
    table: p.TableUrl,
    where: p.Where = None,
    version: p.Version = None,
    timestamp: p.Timestamp = None,
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
    no_header: p.NoHeader = False,
) -> int:
    """The table's files, or those that may hold rows for which a condition is true."""
    from indextables.cli import reading

    return perform(
        lambda _: reading.files(target(table, option, version, timestamp), where),
        output,
        json=json,
        header=not no_header,
    )


@app.command(epilog=epilog("changes"))
def changes(
    table: p.TableUrl,
    since: Annotated[
        str, typer.Option("--since", metavar="VERSION|TIME", help="What came after it.", show_default=False)
    ],
    version: p.Version = None,
    timestamp: p.Timestamp = None,
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
    no_header: p.NoHeader = False,
) -> int:
    """The files that were added and removed after a version or a time."""
    from indextables.cli import reading

    return perform(
        lambda _: reading.changes(target(table, option, version, timestamp), since),
        output,
        json=json,
        header=not no_header,
    )


@app.command(epilog=epilog("checkpoint"))
def checkpoint(table: p.TableUrl, option: p.StoreOptions = None, output: p.Out = None, json: p.Json = False) -> int:
    """Sum up the log, so that opening the table reads less."""
    from indextables.cli import writing

    return perform(lambda _: writing.checkpoint(target(table, option)), output, json=json)


@app.command(epilog=epilog("merge"))
def merge(
    table: p.TableUrl,
    where: p.PartitionWhere = None,
    target_size: Annotated[
        str | None, typer.Option("--target-size", metavar="SIZE", help="Of the new files: bytes, or such as 1G.")
    ] = None,
    max_results: Annotated[
        int | None, typer.Option("--max-results", metavar="FILES", min=1, help="Stop after so many new files.")
    ] = None,
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
) -> int:
    """Make few large files of many small ones. No row changes, and others may read and write meanwhile."""
    from indextables.cli import writing

    return perform(
        lambda renderer: writing.merge(target(table, option), where, target_size, max_results, renderer.stage),
        output,
        json=json,
    )
