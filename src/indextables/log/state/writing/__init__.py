"""How a state is written. `write.py`, one package up, decides which way and creates the object.

snapshot ─ delta ─┬─ write_incremental ─┬─ write_manifests ─ encode_state ─▶ bytes
└─ write_compacted ───┘

delta.py               what changed between a state and a later version, and which manifests hold it
write_incremental.py   the manifests of the state before, one more for what was added, tombstones for what was removed
write_compacted.py     all live files in new manifests, by moving records or from the files
write_manifests.py     entries sorted, cut and put into the store as manifests
compact.py             gathering live records, cutting at partition borders, one name for each schema
manifest_reuse.py      manifests that a compaction leaves as they are
encode_state.py        state → bytes
"""
