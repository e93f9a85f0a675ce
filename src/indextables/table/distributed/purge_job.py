"""A purge whose log is read, and whose objects are deleted, by workers of an engine. This process plans.

    purge_by(workers, …) ──▶ plan ──▶ batches of 1,000 keys ──▶ workers: look at version 0, delete ──▶ Purged

A batch is a call of a plain function that pickles (`delete_batch`). A batch that runs twice, or half, does no harm: a key that is
gone already is no error, and what is left goes with the next purge.
"""

from __future__ import annotations

from datetime import timedelta

from indextables.core.options import Options
from indextables.core.runtime.threads import Workers
from indextables.table.maintain.purge import Purged, purge, purge_ages
from indextables.table.open_log import open_log
from indextables.table.open_table import open_table_of
from indextables.table.progress import Watcher


def purge_by(
    workers: Workers,
    url: str,
    options: Options,
    older_than: float | str | timedelta | None = None,
    log_retention: float | str | timedelta | None = None,
    *,
    dry_run: bool = False,
    progress: Watcher | None = None,
) -> Purged:
    """`Table.purge` with `workers` reading manifests and deleting. Takes and raises the same, and TableNotFound."""
    ages = purge_ages(options, older_than, log_retention)
    return purge(open_table_of(open_log(url, options, workers)), ages, dry_run=dry_run, progress=progress)


__all__ = ["Purged", "purge_by"]
