"""What a commit wants, and whether it still may: decided by one pure function for every attempt.

A `Change` says what the writer means, not yet which actions that is: an overwrite removes whatever is live at **its own**
version, a merge leaves out the rewrites whose sources somebody else removed. `decide` turns it into actions against the
snapshot that an attempt would follow, or raises a conflict that has a name:

    mine                      against what won since `read`
    append                    passes, whatever data won
    overwrite, replaceWhere   recomputes what it removes; FilesChanged if its rows were computed from the rows that it replaces
                              and these are other rows now
    restore                   recomputes what it removes and adds again; CommitError if its target is below the floor by now
    removal of named files    FilesChanged if one is not live any more
    rewrite (merge)           stays if all its sources are live; none stays: no commit
    metadata                  MetadataChanged after any other change of metadata
    any                       MetadataChanged, unless the winner only added nullable columns or changed properties that
                              writing does not depend on; nothing is written when our exactly-once batch is there already
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of
from indextables.core.errors import CommitError, FilesChanged, MetadataChanged, SchemaError, TableReplaced
from indextables.core.options import PREFIX
from indextables.core.predicate import Predicate
from indextables.core.schema_hash import schema_hash
from indextables.core.types import spark_json_to_arrow
from indextables.log.actions import (
    SCHEMA_KEY,
    Actions,
    AddAction,
    MetadataAction,
    ProtocolAction,
    RemoveAction,
    SkipAction,
    TxnAction,
)
from indextables.log.deciding.restored_files import RestoreTo, restored_files
from indextables.log.deciding.unchanged_rows import check_unchanged, selected_paths
from indextables.log.file_entries import paths_in
from indextables.log.snapshot import Snapshot


@dataclass(frozen=True)
class Rewrite:
    """Result files that take the place of source files. A commit leaves the rewrite out if a source is not live any more."""

    sources: tuple[str, ...]
    """Paths of live files that the commit removes."""
    results: tuple[AddAction, ...]
    """Files that the commit adds in the same version."""
    data_change: bool
    """False if the results hold exactly the rows of the sources (a merge): change sets skip the rewrite. True if rows went,
    came or changed."""


@dataclass(frozen=True)
class Replace:
    """Remove what is live at the commit's own version: everything, or the partitions that `where` selects."""

    where: Predicate | None = None
    computed_from: bool = False
    """True if the new rows were computed from the rows that they replace: other rows there are a conflict, or the rows that
    somebody else added meanwhile would be lost."""


@dataclass(frozen=True)
class MetadataUpdate:
    """New values for parts of the metadata; a property set to None is dropped."""

    properties: Mapping[str, str | None] | None = None
    schema_string: str | None = None
    name: str | None = None
    description: str | None = None
    partition_columns: tuple[str, ...] | None = None
    """Other partition columns: only for a commit that replaces every file, because a file has the values of its own columns."""

    def applied_to(self, metadata: MetadataAction) -> MetadataAction:
        """The metadata with this update."""
        configuration = dict(metadata.configuration)
        for key, value in (self.properties or {}).items():
            if value is None:
                configuration.pop(key, None)
            else:
                configuration[key] = value
        return msgspec.structs.replace(
            metadata,
            configuration=configuration,
            schema_string=self.schema_string or metadata.schema_string,
            name=self.name if self.name is not None else metadata.name,
            description=self.description if self.description is not None else metadata.description,
            partition_columns=metadata.partition_columns if self.partition_columns is None else self.partition_columns,
        )


@dataclass(frozen=True)
class Change:
    """What a commit means to do. Parts may be combined."""

    adds: tuple[AddAction, ...] = ()
    removes: tuple[str, ...] = ()
    replace: Replace | None = None
    restore: RestoreTo | None = None
    rewrites: tuple[Rewrite, ...] = ()
    metadata: MetadataUpdate | None = None
    protocol: ProtocolAction | None = None
    skips: tuple[SkipAction, ...] = ()
    txn: TxnAction | None = None
    data_change: bool = True
    """Whether `adds`, `removes` and `replace` change the table's rows. A rewrite has a flag of its own."""
    computed_from_all: bool = False
    """True if the change was computed from all rows of the table: other rows anywhere are a conflict."""
    needs: tuple[str, ...] = ()
    """Paths that must all be live when the change is committed. One that is not is a conflict."""

    @property
    def new_files(self) -> list[AddAction]:
        """All files that the commit adds: `adds` and the results of `rewrites`."""
        return [*self.adds, *(result for rewrite in self.rewrites for result in rewrite.results)]


@dataclass(frozen=True)
class Decision:
    """Actions to write at the next version, or None: there is nothing to write, and `reason` says why."""

    actions: Actions | None
    reason: str = ""


def decide(change: Change, read: Snapshot, current: Snapshot, now_ms: int) -> Decision:
    """What to write after `current`, for a change that was planned on `read`."""
    if current.table_id != read.table_id:
        raise TableReplaced(
            f"table {read.url} was dropped and created again since it was opened (was {read.table_id}, is {current.table_id}); "
            "open it anew",
            url=read.url,
        )
    if change.txn is not None:
        latest = current.latest_txn(change.txn.app_id)
        if latest is not None and latest.version >= change.txn.version:
            return Decision(None, f"batch {change.txn.version} of {change.txn.app_id} is in the table already")
    check_metadata(change, read.metadata, current.metadata, read.url)
    _check_partition_columns(change, current)
    if change.computed_from_all:
        check_unchanged(None, read, current)
    if change.replace is not None and change.replace.computed_from:
        check_unchanged(change.replace.where, read, current)
    _check_live(change.needs, current, "this change stands on")
    removes = [(path, change.data_change) for path in _removes(change, current)]
    adds = [_marked(add, data_change=change.data_change) for add in change.adds]
    if change.restore is not None:
        restored = restored_files(change.restore, current)
        if restored.is_nothing and change.metadata is None:
            return Decision(None, f"the files of version {change.restore.version} are live already")
        removes += [(path, True) for path in restored.removes]
        adds += restored.adds
    if change.rewrites:
        rewrites = _live_rewrites(change, current)
        if not rewrites and not adds and not removes and not change.skips:
            return Decision(None, "the sources of every merged file are gone")
        removes += [(source, rewrite.data_change) for rewrite in rewrites for source in rewrite.sources]
        adds += [_marked(result, data_change=rewrite.data_change) for rewrite in rewrites for result in rewrite.results]
    adds, schemas = _with_schema_refs(adds, current)
    return Decision(
        Actions(
            protocol=change.protocol,
            metadata=_metadata(change, current, schemas),
            txns=(msgspec.structs.replace(change.txn, last_updated=now_ms),) if change.txn else (),
            removes=tuple(_remove_actions(removes, current, now_ms)),
            adds=tuple(adds),
            skips=_counted(change.skips, current),
        )
    )


def _removes(change: Change, current: Snapshot) -> list[str]:
    removes = list(dict.fromkeys(change.removes))
    _check_live(removes, current, "to remove")
    if change.replace is not None:
        named = set(removes)
        removes += [path for path in selected_paths(change.replace.where, current) if path not in named]
    return removes


def _check_partition_columns(change: Change, current: Snapshot) -> None:
    """Raise CommitError if a change of the partition columns would leave a file that was written for the old ones."""
    columns = None if change.metadata is None else change.metadata.partition_columns
    if columns is None or columns == tuple(current.metadata.partition_columns):
        return
    if change.replace is None or change.replace.where is not None or change.rewrites:
        raise CommitError(
            f"table {current.url}: its partition columns can become {', '.join(columns) or 'none'} only in a commit that "
            "replaces all rows: overwrite the table without a condition"
        )
    strange = sorted({name for add in change.adds for name in add.partition_values or ()} - set(columns))
    if strange:
        raise CommitError(
            f"table {current.url}: a new file has a value of {strange[0]}, which is no partition column of the commit "
            f"({', '.join(columns) or 'there are none'}): build the files for these columns"
        )


def _check_live(paths: Sequence[str], current: Snapshot, which: str) -> None:
    """Raise FilesChanged unless all paths are live. `which` completes "n of m files …"."""
    if not paths:
        return
    live = paths_in(current.files, paths)
    missing = [path for path in paths if path not in live]
    if missing:
        raise FilesChanged(
            f"table {current.url}: {len(missing)} of {len(paths)} files {which} are not live at version "
            f"{current.version}, the first is {missing[0]!r}; read the table again and plan anew",
            url=current.url,
            paths=missing,
        )


def _live_rewrites(change: Change, current: Snapshot) -> list[Rewrite]:
    live = paths_in(current.files, [source for rewrite in change.rewrites for source in rewrite.sources])
    return [rewrite for rewrite in change.rewrites if live.issuperset(rewrite.sources)]


def check_metadata(change: Change, read: MetadataAction, current: MetadataAction, url: str) -> None:
    """Raise MetadataChanged if the table's metadata became another since `read`, in a way that the change depends on."""
    if without_schemas(read) == without_schemas(current):
        return
    if change.metadata is not None:
        raise MetadataChanged(
            f"table {url}: somebody else changed its metadata since it was read; refresh and apply the change again",
            url=url,
        )
    what = _breaking_difference(read, current)
    if what:
        raise MetadataChanged(
            f"table {url}: somebody else changed {what} since it was read; refresh and write again",
            url=url,
            changed=what,
        )


def without_schemas(metadata: MetadataAction) -> MetadataAction:
    """The metadata without registered doc mappings, which every writer may add to."""
    plain = {key: value for key, value in metadata.configuration.items() if not key.startswith(SCHEMA_KEY)}
    return msgspec.structs.replace(metadata, configuration=plain)


def _breaking_difference(read: MetadataAction, current: MetadataAction) -> str | None:
    """What changed that a writer of data depends on; None where nothing did."""
    if tuple(read.partition_columns) != tuple(current.partition_columns):
        return "its partition columns"
    if read.schema_string != current.schema_string and not _only_nullable_added(read, current):
        return "its schema"
    for key in sorted(read.configuration.keys() | current.configuration.keys()):
        if key.lower().startswith(PREFIX) and read.configuration.get(key) != current.configuration.get(key):
            return f"its property {key}"
    return None


def _only_nullable_added(read: MetadataAction, current: MetadataAction) -> bool:
    old: pa.Schema = spark_json_to_arrow(read.schema_string)
    new: pa.Schema = spark_json_to_arrow(current.schema_string)
    kept = [field for field in new if field.name in old.names]
    added = [field for field in new if field.name not in old.names]
    return pa.schema(kept).equals(old, check_metadata=True) and all(field.nullable for field in added)


def _with_schema_refs(adds: list[AddAction], current: Snapshot) -> tuple[list[AddAction], dict[str, str]]:
    """Replace inline doc mappings by their hash, and collect the texts that the table does not know yet."""
    if not current.registers_mappings or not any(add.doc_mapping_json for add in adds):
        return adds, {}
    hashes: dict[str, str] = {}
    new: dict[str, str] = {}
    replaced = []
    for add in adds:
        text = add.doc_mapping_json
        if text is None:
            replaced.append(add)
            continue
        ref = hashes.get(text) or hashes.setdefault(text, schema_hash(text))
        if ref not in current.registry:
            new.setdefault(ref, text)
        replaced.append(msgspec.structs.replace(add, doc_mapping_json=None, doc_mapping_ref=ref))
    return replaced, new


def _metadata(change: Change, current: Snapshot, schemas: Mapping[str, str]) -> MetadataAction | None:
    if change.metadata is None and not schemas:
        return None
    metadata = change.metadata.applied_to(current.metadata) if change.metadata else current.metadata
    if not schemas:
        return metadata
    registered = {f"{SCHEMA_KEY}{ref}": text for ref, text in schemas.items()}
    return msgspec.structs.replace(metadata, configuration={**metadata.configuration, **registered})


def _remove_actions(removes: list[tuple[str, bool]], current: Snapshot, now_ms: int) -> list[RemoveAction]:
    """The remove actions of live paths, each path with its data change."""
    if not removes:
        return []
    files = current.files
    column = files.column("path")
    rows = files.filter(pc.is_in(column, value_set=array_of([path for path, _ in removes], pa.string())))
    details = {
        path: (dict(values), size)
        for path, values, size in zip(
            rows.column("path").to_pylist(),
            rows.column("partitionValues").to_pylist(),
            rows.column("size").to_pylist(),
            strict=True,
        )
    }
    return [
        RemoveAction(
            path=path,
            deletion_timestamp=now_ms,
            data_change=data_change,
            extended_file_metadata=True,
            partition_values=details[path][0],
            size=details[path][1],
        )
        for path, data_change in removes
    ]


def _marked(add: AddAction, *, data_change: bool) -> AddAction:
    """The add, marked as no change of data unless both the add and `data_change` say that data changed."""
    return add if data_change or not add.data_change else msgspec.structs.replace(add, data_change=False)


def _counted(skips: tuple[SkipAction, ...], current: Snapshot) -> tuple[SkipAction, ...]:
    """Number each skip after those of its path that the table knows at this version."""
    counted = []
    for skip in skips:
        known = [other.skip_count for other in current.skips if other.path == skip.path]
        counted.append(msgspec.structs.replace(skip, skip_count=max(known, default=0) + 1))
    return tuple(counted)


def check_change(change: Change) -> None:
    """Refuse what no snapshot could make valid."""
    adds = change.new_files
    added = [add.path for add in adds]
    if len(set(added)) != len(added):
        twice = next(path for path in added if added.count(path) > 1)
        raise CommitError(f"a commit adds {twice!r} twice; a path can be live only once", path=twice)
    merged = [source for rewrite in change.rewrites for source in rewrite.sources]
    if len(set(merged)) != len(merged):
        twice = next(path for path in merged if merged.count(path) > 1)
        raise CommitError(f"a commit merges {twice!r} twice; its rows would be doubled", path=twice)
    negative = next((add for add in adds if isinstance(add.size, int) and add.size < 0), None)
    if negative is not None:
        raise SchemaError(f"{negative.path!r} cannot be added: its size is {negative.size}", path=negative.path)
    if _unreadable(adds):
        for add in adds:
            if why := _unreadable([add]):
                raise SchemaError(f"{add.path!r} cannot be added, nobody could read it back: {why}", path=add.path)


_adds_decoder = msgspec.json.Decoder(list[AddAction])


def _unreadable(adds: list[AddAction]) -> str | None:
    """What is wrong with values that no log may hold, such as a text for a number: Python lets anybody build them."""
    try:
        _adds_decoder.decode(msgspec.json.encode(adds))
    except (msgspec.MsgspecError, TypeError, UnicodeError, OverflowError) as error:
        return str(error)
    return None
