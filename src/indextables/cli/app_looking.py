"""What can be typed to look at tables, beside what `app` has. As there, annotations are not texts."""

from typing import Annotated

import typer

from indextables.cli import params as p
from indextables.cli.command import Call, command
from indextables.cli.load.formats import Format


def declare(app: typer.Typer) -> None:
    """Declare the commands `tail`, `ls`, `partitions` and `export`."""
    command(app, "tail", rows=True)(_tail)
    command(app, "ls", rows=True, place="DIRECTORY")(_ls)
    command(app, "partitions", travels=True, rows=True)(_partitions)
    command(app, "export", travels=True)(_export)


def _tail(
    call: Call,
    columns: p.ColumnList = None,
    where: p.Where = None,
    query: p.Query = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", "-n", metavar="ROWS", min=0, help="So many of the last.", rich_help_panel="What to read"
        ),
    ] = 10,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show rows as commits add them, until Ctrl-C.")
    ] = False,
    interval: Annotated[
        float, typer.Option("--interval", metavar="SECONDS", help="How often to look for new rows, with --follow.")
    ] = 2.0,
) -> int:
    """The rows that were committed last, oldest first. Merges only rearrange rows, and show none."""
    from indextables.cli import reading
    from indextables.cli.tail import tail

    return call.answer(
        lambda _: tail(call.target, reading.listed(columns), where, query, limit, interval if follow else None)
    )


def _ls(call: Call) -> int:
    """The tables below a directory or a URL, with their rows, sizes and last commits. Nothing inside of tables is looked at."""
    from indextables.cli.tables_below import tables_below

    return call.answer(lambda _: tables_below(call.target))


def _partitions(call: Call) -> int:
    """The partitions that have files, with their rows, bytes and ages."""
    from indextables.cli import reading

    return call.answer(lambda _: reading.partitions(call.target))


def _export(
    call: Call,
    *,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A file whose ending tells the format (.parquet, .csv, .tsv, .jsonl, with .gz, .zst or .bz2), or a directory.",
            show_default=False,
        ),
    ],
    format: Annotated[  # noqa: A002 - the option's name
        Format | None,
        typer.Option("--format", help="Where the name does not tell; Parquet for a directory unless given."),
    ] = None,
    columns: p.ColumnList = None,
    where: p.Where = None,
    query: p.Query = None,
    limit: p.Limit = None,
    replace: Annotated[bool, typer.Option("--replace", help="A file that is there is replaced.")] = False,
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", "-d", metavar="MARK", help="Between the cells of CSV: , unless given.")
    ] = None,
    null: Annotated[
        str, typer.Option("--null", metavar="TEXT", help="What CSV has for no value: an empty cell unless given.")
    ] = "",
    rows_per_file: Annotated[
        int, typer.Option("--rows-per-file", metavar="ROWS", min=1, help="Of each file of a directory.")
    ] = 1_000_000,
) -> int:
    """Write rows to a file, or to the files of a directory, all or none. `import` reads them back with the same values."""
    from indextables.cli import reading
    from indextables.cli.export.export import Export, export

    wanted = Export(file, format, reading.listed(columns), where, query, limit, replace, delimiter, null, rows_per_file)
    return call.answer(lambda renderer: export(call.target, wanted, renderer.stage), undone="nothing was exported")
