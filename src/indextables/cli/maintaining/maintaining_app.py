"""What can be typed to keep tables fast and small, beside what `app` has. As there, annotations are not texts."""

from typing import Annotated

import typer

from indextables.cli import params as p
from indextables.cli.command import Call, command


def declare(app: typer.Typer) -> None:
    """Declare the commands `prewarm`, `purge`, `optimize` and `drop`."""
    command(app, "prewarm")(_prewarm)
    command(app, "purge")(_purge)
    command(app, "optimize", rows=True)(_optimize)
    command(app, "drop")(_drop)


def _prewarm(call: Call, where: p.Where = None) -> int:
    """Bring the indexes of a table's files to local disk, before somebody asks for them."""
    from indextables.cli.maintaining import upkeep_verbs

    return call.answer(
        lambda renderer: upkeep_verbs.prewarm(call.target, where, renderer.stage), undone="what was fetched stays"
    )


def _purge(
    call: Call,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="TIME", help="Of data files that no version names: hours, or such as 7d."),
    ] = None,
    log_retention: Annotated[
        str | None,
        typer.Option("--log-retention", metavar="TIME", help="How far back time travel reaches afterwards."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and delete nothing.")] = False,
) -> int:
    """Delete data files that no version names, and old versions. Nothing younger than the table's safety age goes."""
    from indextables.cli.maintaining import upkeep_verbs

    return call.answer(
        lambda renderer: upkeep_verbs.purge(call.target, older_than, log_retention, renderer.stage, dry_run=dry_run),
        undone="what was deleted before stays deleted, and no row changed",
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
