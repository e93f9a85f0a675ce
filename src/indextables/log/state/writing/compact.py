"""What compaction does besides writing: gathering what is live, cutting at partition borders, and one name for each schema."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of, scalar_of
from indextables.core.schema_hash import schema_hash
from indextables.log.avro.manifest import null_fields, with_null_fields, with_records
from indextables.log.file_entries import files_table
from indextables.log.state.live_files import last_of_each_path
from indextables.log.state.load_manifest import load_manifest
from indextables.log.state.model import State
from indextables.log.state.tombstone_filter import TombstoneFilter
from indextables.log.state.writing.delta import Delta
from indextables.log.table_log import TableLog

Numbers = npt.NDArray[np.int64]

COLUMNS = ("path", "partitionValues", "size", "docMappingRef", "addedAtVersion")
"""By which files are gathered, sorted, cut and described."""


def live_records(log: TableLog, state: State, delta: Delta, without: Collection[int] = ()) -> pa.Table:
    """A state's live files and those added since, as records: entries are moved as they are, not decoded and encoded again.

    `without` are the numbers of manifests that stay as they are.
    """
    hidden = TombstoneFilter(state.tombstones | delta.removed | delta.added.keys())
    load = partial(load_manifest, log, state.version, columns=COLUMNS, tombstones=hidden, records=True)
    tables = log.side_by_side(
        [partial(load, item=item) for number, item in enumerate(state.manifests) if number not in without]
    )
    added = list(delta.added.values())
    new_files = files_table([a for a, _, _ in added], [v for _, v, _ in added], [t for _, _, t in added])
    tables.append(with_records(new_files, COLUMNS))
    empty = set.intersection(*(set(null_fields(table)) for table in tables))
    return with_null_fields(last_of_each_path(pa.concat_tables(tables)), empty)


def cut_evenly(files: pa.Table, starts: Numbers, most: int) -> list[pa.Table]:
    """Pieces of at most `most` rows, none less than half full if the files are enough for that, so that no piece counts as a
    fragment to be compacted again, and about as many in each, so that none takes much longer than the others to write and to
    read. They end at partition borders where one is at hand: then a partition is in as few manifests as possible.
    """
    pieces: list[pa.Table] = []
    begin, least = 0, (most + 1) // 2
    while begin < files.num_rows:
        left = files.num_rows - begin
        count = -(-left // most)
        target = begin + -(-left // count)
        lowest = max(begin + least, files.num_rows - (count - 1) * most)
        highest = min(begin + most, files.num_rows - (count - 1) * least)
        borders = starts[np.searchsorted(starts, lowest) : np.searchsorted(starts, highest, side="right")]
        end = int(borders[np.abs(borders - target).argmin()]) if count > 1 and len(borders) else target
        pieces.append(files.slice(begin, end - begin))
        begin = end
    return pieces


def normalised_schemas(files: pa.Table, registry: Mapping[str, str], threshold: int) -> tuple[pa.Table, dict[str, str]]:
    """Give schemas that are the same but for the order of their keys one name, where files use more than `threshold`.

    Returns the files, and the schemas under their canonical names.
    """
    refs = files.column("docMappingRef")
    used = [ref for ref in pc.unique(refs).to_pylist() if ref is not None]
    if len(used) <= threshold:
        return files, {}
    canonical = {ref: schema_hash(registry[ref]) for ref in used if ref in registry}
    if all(ref == name for ref, name in canonical.items()):
        return files, {}
    old = array_of(list(canonical.keys()), pa.string())
    new = array_of(list(canonical.values()), pa.string())
    renamed = pc.coalesce(new.take(pc.index_in(refs.combine_chunks(), value_set=old)), refs.combine_chunks())
    index = files.schema.get_field_index("docMappingRef")
    schemas = {name: registry[ref] for ref, name in canonical.items()}
    return files.set_column(index, files.schema.field(index), renamed), schemas


def sum_of(sizes: pa.ChunkedArray) -> int:
    """Sizes that are nonsense must not make a sum of 64 bits turn around."""
    high = pc.sum(pc.shift_right(sizes, scalar_of(32, sizes.type))).as_py() or 0
    low = pc.sum(pc.bit_wise_and(sizes, scalar_of(2**32 - 1, sizes.type))).as_py() or 0
    return (int(high) << 32) + int(low)
