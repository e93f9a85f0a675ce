"""Every live split compared with its checksums, and its footer with the log's entry.

    entry of the log ─ head ─ size ─▶ footer ─▶ every page and every index file ─▶ rows, bounds, partition values

Splits are read a few at a time, each in pieces of at most 8 MiB, so that memory does not grow with the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pyarrow as pa

from indextables.core.bound_texts import truncated_maximum, truncated_minimum
from indextables.core.errors import ObjectNotFound, SplitError
from indextables.log.check.findings import Finding, error, warning
from indextables.log.table_log import TableLog
from indextables.split.bundle.bundle_reader import read_footer, verify_bundle
from indextables.split.bundle.footer import Footer
from indextables.storage.object_keys import inside_root
from indextables.table.build.uploads import partition_directory
from indextables.table.maintain.row_identity import RowIdentity, identity_of
from indextables.table.progress import ProgressCounter, Watcher

_AT_A_TIME: Final = 8
"""Splits that are read side by side: 64 MiB of memory at most, and enough requests to keep a network busy."""
_ENTRIES: Final = 512
"""Entries of the log that become Python values at once."""
_BACKUP: Final = "put it back from a backup, or take it out of the table with commit_files(removes=[…])"
_COLUMNS: Final = (
    "path",
    "partitionValues",
    "size",
    "numRecords",
    "footerStartOffset",
    "minValues",
    "maxValues",
)
"""The columns of an entry that a footer says again."""


@dataclass(frozen=True)
class CheckedSplit:
    """A live split that was looked at."""

    findings: tuple[Finding, ...]
    identity: RowIdentity | None
    """Which rows the split holds; None where its footer cannot be read."""


def check_splits(
    log: TableLog, files: pa.Table, partition_columns: tuple[str, ...], progress: Watcher | None
) -> Iterator[CheckedSplit]:
    """Read every byte of every split. Raises StorageError where the store does not answer."""
    chosen = files.select(_COLUMNS)
    total = sum(rows or 0 for rows in chosen.column("numRecords").to_pylist())
    counter = ProgressCounter(progress, rows_total=total)
    for start in range(0, chosen.num_rows, _ENTRIES):
        entries = chosen.slice(start, _ENTRIES).to_pylist()
        calls = [partial(_check_split, log, entry, partition_columns, counter) for entry in entries]
        yield from log.workers.together(calls, limit=_AT_A_TIME)


def _check_split(
    log: TableLog, entry: Mapping[str, Any], partition_columns: tuple[str, ...], counter: ProgressCounter
) -> CheckedSplit:
    path: str = entry["path"]
    key = inside_root(log.url, path) or path
    try:
        size = log.store.head(key).size
        if size != entry["size"]:
            found = error("split_size", path, f"{path} has {size} bytes, the log says {entry['size']}; {_BACKUP}")
            return CheckedSplit((found,), None)
        footer = read_footer(log.store, key, size=size)
        verify_bundle(log.store, key, footer)
    except ObjectNotFound:
        return CheckedSplit((error("split_missing", path, f"{path} is live and is not there; {_BACKUP}"),), None)
    except SplitError as damaged:
        return CheckedSplit((error("split_damaged", path, f"{damaged}; {_BACKUP}"),), None)
    finally:
        counter.add(rows_read=entry["numRecords"] or 0, splits=1, size=entry["size"] or 0)
    findings = tuple(compare_entry(entry, footer, partition_columns))
    return CheckedSplit(findings, identity_of(path, footer))


def compare_entry(entry: Mapping[str, Any], footer: Footer, partition_columns: tuple[str, ...]) -> Iterator[Finding]:
    """What the log's entry of a split says otherwise than the split's footer."""
    path = entry["path"]
    rows = entry["numRecords"]
    if rows is not None and rows != footer.rows:
        yield error("split_rows", path, f"{path} has {footer.rows} rows, the log says {rows}; {_REWRITE}")
    values = {name: text for name, text in entry["partitionValues"] or () if text is not None}
    own = {name: text for name, text in footer.partition_values.items() if text is not None}
    if values != own:
        message = f"{path} was written for the partition {own}, the log says {values}; {_REWRITE}"
        yield error("split_partition", path, message)
    for name, cut in (("minValues", truncated_minimum), ("maxValues", truncated_maximum)):
        known = footer.min_values if name == "minValues" else footer.max_values
        for column, text in entry[name] or ():
            exact = known.get(column)
            if text is not None and text != exact and (exact is None or cut(exact, len(text)) != text):
                message = f"{path}: {name} of column {column} is {exact!r}, the log says {text!r}; {_REWRITE}"
                yield error("split_bounds", path, message)
    yield from _other_directory(path, values, partition_columns)


_REWRITE: Final = "rows may be skipped that match, so remove the file and add it again as it is"


def _other_directory(path: str, values: Mapping[str, str], partition_columns: tuple[str, ...]) -> Iterator[Finding]:
    """A path that names partition values, and others than the entry."""
    first = path.partition("/")[0]
    if not partition_columns or "=" not in first:
        return
    expected = partition_directory({name: values.get(name) for name in partition_columns})
    if not path.startswith(expected):
        yield warning("split_path", path, f"{path} does not lie in the directory of its partition, {expected}")
