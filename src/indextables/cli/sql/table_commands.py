"""Commands that are statements about one table, and change it or keep it fast. As in `app`, annotations are not texts."""

from typing import Annotated, cast

import typer

from indextables.cli import params as p
from indextables.cli.command import Call, command
from indextables.cli.errors import UsageError
from indextables.cli.sql.about_table import asked_by, run_about


def declare(app: typer.Typer) -> None:
    """Declare the commands `merge` to `repair`."""
    command(app, "merge", rows=True)(_merge)
    command(app, "purge", rows=True)(_purge)
    command(app, "checkpoint", rows=True)(_checkpoint)
    command(app, "prewarm", rows=True)(_prewarm)
    command(app, "restore", rows=True)(_restore)
    command(app, "truncate-time-travel", rows=True)(_truncate_time_travel)
    command(app, "drop-partitions", rows=True)(_drop_partitions)
    command(app, "clone", travels=True, rows=True)(_clone)
    command(app, "repair", rows=True)(_repair)


def _merge(
    call: Call,
    where: p.PartitionWhere = None,
    target_size: Annotated[
        str | None, typer.Option("--target-size", metavar="SIZE", help="Of the new files: bytes, or such as 1G.")
    ] = None,
    max_results: Annotated[
        int | None, typer.Option("--max-results", metavar="FILES", min=1, help="Stop after so many new files.")
    ] = None,
    max_sources: Annotated[
        int | None,
        typer.Option(
            "--max-sources", metavar="FILES", min=2, help="At most so many files become one: 1,000 unless given."
        ),
    ] = None,
) -> int:
    """Make few large files of many small ones. No row changes, and others may read and write meanwhile."""
    from indextables.cli.sql import sentences
    from indextables.cli.sql.run_command import Manner
    from indextables.sql.commands import MergeSplits
    from indextables.sql.table_ref import TablePath

    what = MergeSplits(TablePath(call.table), where, target_size, max_results, max_sources)
    undone = "what was merged and committed before stays, and no row changed"
    return run_about(call, what, Manner("merging", undone, sentences.merged))


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
    from indextables.cli.sql import sentences
    from indextables.cli.sql.run_command import Manner
    from indextables.sql.commands import Purge
    from indextables.sql.table_ref import TablePath

    what = Purge(TablePath(call.table), older_than, log_retention, dry_run)
    undone = "what was deleted before stays deleted, and no row changed"
    return run_about(call, what, Manner("purging", undone, sentences.purged, sentences.with_paths))


def _checkpoint(call: Call) -> int:
    """Sum up the log, so that opening the table reads less."""
    from indextables.cli.sql import sentences
    from indextables.cli.sql.run_command import Manner
    from indextables.sql.commands import Checkpoint
    from indextables.sql.table_ref import TablePath

    manner = Manner("summing up the log", "nothing was summed up", sentences.checkpointed)
    return run_about(call, Checkpoint(TablePath(call.table)), manner)


def _prewarm(
    call: Call,
    where: p.Where = None,
    segments: Annotated[
        list[str] | None,
        typer.Option(
            "--segments",
            metavar="NAMES",
            help="Parts of the index: term_dict, postings, fast_field, field_norm, positions or doc_store (the rows), commas "
            "between them; terms and postings unless given.",
        ),
    ] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option("--fields", metavar="NAMES", help="Columns that must be there. Index files hold all columns."),
    ] = None,
    parallelism: Annotated[
        int | None, typer.Option("--parallelism", metavar="FILES", min=1, help="So many files at a time, at most.")
    ] = None,
) -> int:
    """Bring the indexes of a table's files to local disk, before somebody asks for them."""
    from indextables.cli import reading
    from indextables.cli.sql import sentences
    from indextables.cli.sql.run_command import Manner
    from indextables.sql.commands import Prewarm, Segment
    from indextables.sql.table_ref import TablePath

    what = Prewarm(
        TablePath(call.table),
        cast("tuple[Segment, ...]", tuple(reading.listed(segments) or ())),  # another name is an error of the table
        tuple(reading.listed(fields) or ()),
        parallelism,
        where,
    )
    return run_about(call, what, Manner("prewarming", "what was fetched stays", sentences.prewarmed))


def _restore(
    call: Call,
    version: Annotated[
        int | None, typer.Option("--version", metavar="NUMBER", help="The version whose rows come back.")
    ] = None,
    timestamp: Annotated[
        str | None,
        typer.Option(
            "--timestamp", metavar="TIME", help="The version of this time: ISO 8601, UTC where no zone is given."
        ),
    ] = None,
) -> int:
    """Make the rows of an older version the newest ones. Later versions stay in the history."""
    from indextables.cli.sql import sentences
    from indextables.cli.sql.run_command import Manner, fail
    from indextables.sql.commands import Restore
    from indextables.sql.table_ref import TablePath

    if (version is None) == (timestamp is None):
        missing = "restore needs --version or --timestamp, one of them: where to go back to"
        return fail(UsageError(missing), asked_by(call))
    manner = Manner("restoring", "nothing was restored", sentences.message)
    return run_about(call, Restore(TablePath(call.table), version, timestamp), manner)


def _truncate_time_travel(
    call: Call,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and change nothing.")] = False,
) -> int:
    """Give up every version but the newest. No row of it changes."""
    from indextables.cli.sql import sentences
    from indextables.cli.sql.run_command import Manner
    from indextables.sql.commands import TruncateTimeTravel
    from indextables.sql.table_ref import TablePath

    manner = Manner("giving up old versions", "older versions may be gone", sentences.message)
    return run_about(call, TruncateTimeTravel(TablePath(call.table), dry_run), manner)


def _drop_partitions(
    call: Call,
    *,
    where: Annotated[
        str,
        typer.Option(
            "--where", "-w", metavar="SQL", help="The partitions to drop, by partition columns.", show_default=False
        ),
    ],
) -> int:
    """Take out all rows of whole partitions. Older versions still have them."""
    from indextables.cli.sql import sentences
    from indextables.cli.sql.run_command import Manner
    from indextables.sql.commands import DropPartitions
    from indextables.sql.table_ref import TablePath

    manner = Manner("dropping partitions", "nothing was dropped", sentences.message)
    return run_about(call, DropPartitions(TablePath(call.table), where), manner)


def _clone(
    call: Call,
    *,
    url: Annotated[
        str, typer.Argument(metavar="URL", help="Where the copy goes: a place without a table.", show_default=False)
    ],
) -> int:
    """Copy a version of a table to another place, as a table of its own."""
    from indextables.cli.sql import sentences
    from indextables.cli.sql.run_command import Manner
    from indextables.sql.commands import Clone
    from indextables.sql.table_ref import TablePath

    manner = Manner("copying", "there is no table at the new place", sentences.cloned)
    return run_about(call, Clone(TablePath(call.table), url), manner, lambda _: call.target.open())


def _repair(
    call: Call,
    *,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="DIRECTORY", help="Where the new log goes; beside the old one unless given."),
    ] = None,
) -> int:
    """Write a new log from what can be read of a damaged one, or from the files alone. TABLE may be its log, too."""
    from indextables.cli.sql import sentences
    from indextables.cli.sql.run_command import Manner
    from indextables.sql.commands import RepairLog

    undone = "the table is as it was, and a new log may be incomplete"
    return run_about(
        call, RepairLog(call.table, to), Manner("repairing", undone, sentences.repaired, sentences.with_message)
    )
