"""What can be typed after `indextables sql`. As in `app`, annotations are not texts."""

from typing import Annotated

import typer

from indextables.cli import params as p
from indextables.cli.examples import epilog


def declare(app: typer.Typer) -> None:
    """Declare the command `sql`."""
    app.command("sql", epilog=epilog("sql"))(_sql)


def _sql(
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="[STATEMENTS]",
            help="Statements with semicolons between them; without them a prompt, or standard input.",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="Statements of a file; - is standard input.")
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option("--table", "-t", metavar="NAME=TABLE", help="A name for a table; may be repeated."),
    ] = None,
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
    no_header: p.NoHeader = False,
) -> int:
    """Run statements such as PURGE INDEXTABLES logs DRY RUN. Names of tables are directories, unless --table says otherwise."""
    from indextables.cli.sql.run_command import Asked
    from indextables.cli.sql.sql_text import run_statements

    return run_statements(text, file, Asked(table or (), option or (), output, json, not no_header))
