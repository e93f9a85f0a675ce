"""The answers of statements in a sentence each, for people who typed a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.cli.render.screen import visible
from indextables.cli.sql.run_command import only_row

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.sql.answer import Result


def message(done: Result) -> str:
    """The message that the answer has."""
    return str(only_row(done)["message"])


def altered(done: Result) -> str:
    """Which property was set or dropped, and the version that says so."""
    row = only_row(done)
    return f"{row['message']}: version {row['version']}"


def merged(done: Result) -> str:
    """How many files became how many."""
    row = only_row(done)
    told = (
        f"{row['sources']:,} file{'' if row['sources'] == 1 else 's'} became {row['results']:,}, version {row['version']}"
        if row["results"]
        else "nothing to merge"
    )
    return f"{told}; {row['skipped']} cannot be read and stay as they are" if row["skipped"] else told


def purged(done: Result) -> str:
    """How much was deleted, and in a dry run what would be, a path a line."""
    paths = done.value.paths if done.value.dry_run else ()
    return "\n".join([message(done), *(f"  {visible(path)}" for path in paths)])


def with_paths(done: Result) -> pa.Table:
    """The answer of a purge, with the paths of what was deleted, or would be."""
    import pyarrow as pa

    return done.table.append_column("paths", pa.array([list(done.value.paths)], pa.list_(pa.string())))


def checkpointed(done: Result) -> str:
    """Whether a checkpoint was written, and why not."""
    row = only_row(done)
    told = {
        "success": f"checkpoint of version {row['checkpoint_version']} written",
        "partial": "a checkpoint was given up; nothing is lost",
        "no_action": f"version {row['checkpoint_version']} has a compact state already; nothing was written",
    }
    return told[row["status"]]


def cloned(done: Result) -> str:
    """What was copied, and where to."""
    row = only_row(done)
    files = f"{row['files']:,} file{'' if row['files'] == 1 else 's'}, {row['total_size_bytes']:,} bytes"
    return f"{row['source_path']}, version {row['source_version']}, copied to {row['table_path']}: {files}"


def repaired(done: Result) -> str:
    """Where the new log is. What could not be known, and how the logs are swapped, is a warning of the statement."""
    row = only_row(done)
    of = f"{row['valid_splits']:,} of {row['total_splits']:,} file{'' if row['total_splits'] == 1 else 's'}"
    return f"{row['target_path']} is the new log, with {of}"


def with_message(done: Result) -> pa.Table:
    """The answer of a repair, with what could not be known, and how the logs are swapped."""
    import pyarrow as pa

    return done.table.append_column("message", pa.array([done.value.message], pa.string()))


def prewarmed(done: Result) -> str:
    """How many indexes came to local disk."""
    found = done.value
    told = f"{found.fetched:,} indexes fetched, {found.present:,} were there already"
    if found.left_out:
        told += f", {found.left_out:,} left out: the cache (cache.disk.maxBytes) is too small for them"
    if found.skipped_fields:
        told += f"; the table has no column {', '.join(found.skipped_fields)}"
    return told


def for_this_process(done: Result) -> str:
    """A change of this process alone, which ends with the command."""
    told = message(done)
    return f"{told}; this holds for one process, and a command ends its own: use statements in `indextables sql`"
