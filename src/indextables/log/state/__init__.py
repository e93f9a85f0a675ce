"""Avro states: the live files of a version as manifests, so that opening a table need not replay its log.

    write:  snapshot ─ delta ─ write ─┬─ write_incremental ─┬─ write_manifests ─ encode_state ─▶ store, pointer
                                      └─ write_compacted ───┘
    read:   store ─ read ─ load ─▶ snapshot ─▶ live_files ─ manifest_cache ─ load_manifest ─ block_bounds ─▶ files

model.py               what a state says: its manifests, tombstones, and everything that is not a file
read.py                bytes → state, of all writers and versions
load_state.py          a state as the snapshot that later versions are replayed on
live_files.py          `StateFiles`: the live files of a state, read when somebody asks for them
load_manifest.py       one manifest: fetched, checked against the state, decoded; which of its files a question lets in
manifest_cache.py      manifests and answers that this process keeps
block_bounds.py        partition bounds of the blocks inside a manifest, in its header
partition_bounds.py    partition bounds of a manifest, by the column's type, and the order of files by partition
tombstone_filter.py    which of a million paths are tombstoned, and whether a path is there twice, by hashes
checkpoint.py          a checkpoint: the state of a version, written in the format that the options ask for
write.py               decides how a state is written, creates it, and points to it
writing/               incremental and compacted states, manifest by manifest
collect.py             removes manifests that no state names any more
"""
