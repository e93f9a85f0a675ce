"""What can be typed to keep tables fast and small, beside what `app` has. As there, annotations are not texts."""

from typing import Annotated

import typer

from indextables.cli import params as p
from indextables.cli.command import Call, command


def declare(app: typer.Typer) -> None:
    """Declare the commands `prewarm`, `optimize` and `drop`."""
    command(app, "prewarm")(_prewarm)
    command(app, "optimize", rows=True)(_optimize)
    command(app, "drop")(_drop)


def _prewarm(call: Call, where: p.Where = None) -> int:
    """Bring the indexes of a table's files to local disk, before somebody asks for them."""
    from indextables.cli import maintaining

    return call.answer(
        lambda renderer: maintaining.prewarm(call.target, where, renderer.stage), undone="what was fetched stays"
    )


def _optimize(
    call: Call,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what the table needs, and do nothing.")] = False,
    prewarm: Annotated[bool, typer.Option("--prewarm", help="Bring indexes to local disk, too.")] = False,
    every: Annotated[
        str | None,
        typer.Option("--every", metavar="TIME", help="Again and again, such as every 15m or 1h, until Ctrl-C."),
    ] = None,
) -> int:
    """Do what a table needs now: merge small files, sum up the log. Several machines may do it at once."""
    from indextables.cli import maintaining

    return call.answer(
        lambda renderer: maintaining.optimize(
            call.target, renderer.stage, dry_run=dry_run, prewarm=prewarm, every=every
        ),
        undone="what was merged and committed before stays, and no row changed",
    )


def _drop(call: Call, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False) -> int:
    """Delete a table for good, with all its versions. Other files at its place stay."""
    from indextables.cli import maintaining

    return call.answer(lambda renderer: maintaining.drop(call.target, renderer, yes=yes), undone="nothing was dropped")
