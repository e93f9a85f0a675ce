"""What can be typed to keep tables fast and small, beside what `app` has. As there, annotations are not texts."""

from typing import Annotated

import typer

from indextables.cli.command import Call, command


def declare(app: typer.Typer) -> None:
    """Declare the commands `optimize` and `drop`."""
    command(app, "optimize", rows=True)(_optimize)
    command(app, "drop")(_drop)


def _optimize(
    call: Call,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what the table needs, and do nothing.")] = False,
    prewarm: Annotated[bool, typer.Option("--prewarm", help="Bring indexes to local disk, too.")] = False,
    every: Annotated[
        str | None,
        typer.Option("--every", metavar="TIME", help="Again and again, such as every 15m or 1h, until Ctrl-C."),
    ] = None,
) -> int:
    """Do what a table needs now: merge small files, sum up the log, purge what is due. Several machines may do it at once."""
    from indextables.cli.maintaining import upkeep_verbs

    return call.answer(
        lambda renderer: upkeep_verbs.optimize(
            call.target, renderer.stage, dry_run=dry_run, prewarm=prewarm, every=every
        ),
        undone="what was merged and committed before stays, and no row changed",
    )


def _drop(call: Call, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False) -> int:
    """Delete a table for good, with all its versions. Other files at its place stay."""
    from indextables.cli.maintaining import upkeep_verbs

    return call.answer(lambda renderer: upkeep_verbs.drop(call.target, renderer, yes=yes), undone="nothing was dropped")
