"""What lies at a table's place beside its live splits: orphans, temporary files, and older splits that are gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from indextables.log.check.findings import Finding, warning
from indextables.log.check.remains import Remains
from indextables.log.log_paths import inner_table, is_hidden
from indextables.log.table_log import TableLog
from indextables.storage.local import list_temporaries
from indextables.storage.object_keys import inside_root
from indextables.table.build.uploads import partition_name
from indextables.table.maintain.purging.data_files import TOLD_EVERY, is_visible
from indextables.table.progress import ProgressCounter

SPLIT: Final = ".split"
"""What the names of data files end with."""


def list_splits(log: TableLog, progress: ProgressCounter) -> dict[str, int]:
    """Keys and sizes of all data files at a table's place, those that nothing names included, without those of inner tables.

    Nobody may know the partition columns yet, so a hidden directory is one whose name begins with `_` or `.` and has no `=`.
    """
    splits: dict[str, int] = {}
    inner: set[str] = set()
    for number, meta in enumerate(log.store.list(""), 1):
        if number % TOLD_EVERY == 0:
            progress.look(TOLD_EVERY)
        place = inner_table(meta.key)
        if place is not None:
            inner.add(place)
        elif meta.key.endswith(SPLIT) and not is_hidden(meta.key):
            splits[meta.key] = meta.size
    outside = tuple(inner)
    return {key: size for key, size in splits.items() if not key.startswith(outside)} if outside else splits


def check_places(
    remains: Remains, there: Iterable[str], live: Iterable[str], partition_columns: Iterable[str]
) -> Iterator[Finding]:
    """Compare the data files that are there with those that the log names. `there` was listed before the log was read."""
    log = remains.log
    wanted = {inside_root(log.url, path) for path in live}
    named = {inside_root(log.url, path) for path in remains.named_paths()} | wanted
    found = set(there)
    own = tuple(partition_name(column) for column in partition_columns)
    orphans = sorted(key for key in found - named if is_visible(key, own))
    for key in orphans:
        message = (
            f"nothing that can be read of the log names {key}; a write that is going on may, else purge removes it"
        )
        yield warning("split_orphaned", key, message)
    older = {inside_root(log.url, path) for path in remains.named_paths(of_table=True)} - wanted
    for lost in sorted(key for key in older if key is not None and key not in found):
        if log.head(lost) is None:
            message = (
                f"{lost} is not live any more, but an older version names it and it is gone: travelling there fails"
            )
            yield warning("old_split_missing", lost, message)
    for meta in list_temporaries(log.store, ""):
        message = f"{meta.key} is a temporary file that a writer was killed over, or is writing now; purge removes it"
        yield warning("temporary_file", meta.key, message)
