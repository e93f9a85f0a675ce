"""Commands that go back in time, give it up, drop partitions and copy tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.cli.answers import Facts
from indextables.cli.errors import UsageError
from indextables.cli.targets import Target

if TYPE_CHECKING:
    from indextables.cli.render.progress import Stage


def restore(target: Target, version: int | None, timestamp: str | None) -> Facts:
    """Make the rows of an older version the newest ones."""
    if (version is None) == (timestamp is None):
        raise UsageError("restore needs --version or --timestamp, one of them: where to go back to")
    table = target.open()
    done = table.restore(version, timestamp)
    values = {
        "url": table.url,
        "status": done.status,
        "version": done.version,
        "restoredVersion": done.restored_version,
        "filesAdded": done.files_added,
        "filesRemoved": done.files_removed,
    }
    return Facts(values, {}, done.message)


def truncate_time_travel(target: Target, *, dry_run: bool) -> Facts:
    """Give up all versions but the newest."""
    table = target.open()
    done = table.truncate_time_travel(dry_run)
    values = {
        "url": table.url,
        "status": done.status,
        "checkpointVersion": done.checkpoint_version,
        "versionsDeleted": done.versions_deleted,
        "checkpointsDeleted": done.checkpoints_deleted,
        "filesPreserved": done.files_preserved,
    }
    return Facts(values, {}, done.message)


def drop_partitions(target: Target, where: str) -> Facts:
    """Take out whole partitions."""
    table = target.open()
    done = table.drop_partitions(where)
    values = {
        "url": table.url,
        "status": done.status,
        "version": done.version,
        "partitionsDropped": done.partitions_dropped,
        "splitsRemoved": done.splits_removed,
        "totalSizeBytes": done.total_size_bytes,
    }
    return Facts(values, {}, done.message)


def clone(target: Target, url: str, stage: Stage) -> Facts:
    """Copy a version of a table to another place."""
    table = target.open()
    with stage.rows("copying", 0, 0) as (watcher, _):
        copy = table.clone(url, progress=watcher)
    rows = copy.count()
    values = {"url": copy.url, "id": copy.id, "version": copy.version, "rows": rows, "source": table.url}
    return Facts(
        values,
        {},
        f"{rows:,} row{'' if rows == 1 else 's'} of {table.url}, version {table.version}, copied to {copy.url}",
    )
