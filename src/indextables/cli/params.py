"""The options that several commands share, each declared once."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from indextables.cli.complete import complete_column, complete_columns
from indextables.cli.render.screen import Output

_READ = "What to read"
_OUTPUT = "Output"
_TRAVEL = "Time travel"

TableUrl = Annotated[
    str, typer.Argument(metavar="TABLE", help="A directory, or a URL such as s3://bucket/logs.", show_default=False)
]


def place(metavar: str) -> Any:
    """The first argument of a command that is about a place with tables below it."""
    return Annotated[
        str,
        typer.Argument(metavar=metavar, help="A directory, or a URL such as s3://bucket/tables.", show_default=False),
    ]


Where = Annotated[
    str | None,
    typer.Option("--where", "-w", metavar="SQL", help="Only rows for which this is true.", rich_help_panel=_READ),
]
PartitionWhere = Annotated[
    str | None,
    typer.Option("--where", "-w", metavar="SQL", help="Only partitions for which this is true."),
]
Query = Annotated[
    str | None,
    typer.Option("--query", "-q", metavar="TEXT", help="Only rows that this search finds.", rich_help_panel=_READ),
]
ColumnList = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        "-c",
        metavar="NAMES",
        help="These columns, with commas between them.",
        rich_help_panel=_READ,
        autocompletion=complete_columns,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", "-n", metavar="ROWS", min=0, help="At most so many.", rich_help_panel=_READ),
]
Version = Annotated[
    int | None,
    typer.Option("--version", metavar="NUMBER", help="The table at this version.", rich_help_panel=_TRAVEL),
]
Timestamp = Annotated[
    str | None,
    typer.Option(
        "--timestamp",
        metavar="TIME",
        help="The table as it was then: ISO 8601, UTC where no zone is given.",
        rich_help_panel=_TRAVEL,
    ),
]
StoreOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="An option of the table or of the store; may be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="JSON, the same as --output json.", rich_help_panel=_OUTPUT)]
Out = Annotated[
    Output | None,
    typer.Option(
        "--output",
        "-o",
        help="How to print; a table on a terminal and tab-separated lines elsewhere unless given.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="Leave the names of columns out (tsv).", rich_help_panel=_OUTPUT)
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        "-b",
        metavar="KEY",
        help="A column, histogram(column, width), date_histogram(column, '1 hour') or range(column, 0, 10, 100); may be "
        "repeated, and named: name=KEY.",
        rich_help_panel=_READ,
        autocompletion=complete_column,
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        metavar="METRIC",
        help="count, count(column), count(distinct column), sum(), avg(), min() or max() of a column; may be repeated, and "
        "named: name=METRIC. The rows are counted unless given.",
        rich_help_panel=_READ,
    ),
]
Partitions = Annotated[
    list[str] | None,
    typer.Option(
        "--partition-by", "-p", metavar="NAMES", help="Columns to partition a new table by, commas between them."
    ),
]
