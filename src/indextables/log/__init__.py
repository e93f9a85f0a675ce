"""The transaction log: the versions of a table, and what the table is at each of them. Knows nothing of how a split looks inside.

read:   URL ──▶ open_snapshot.py ──▶ Snapshot ──▶ refresh.py ──▶ newer Snapshot ──▶ snapshot_files.py, pruning/ ──▶ files
write:  Change ──▶ conflicts.py ──▶ commit.py ──▶ put_once.py ──▶ version file ──▶ state/ now and then ──▶ cleanup.py

avro/               Avro files of states and manifests
state/              Avro states: read, written, compacted, collected
pruning/            which files may match a predicate
check/              what is left of a damaged log, and what is wrong with it
table_log.py        TableLog: store, options, clock and threads of one table; reads single log objects
log_paths.py        names of objects under `_transaction_log/`
listing.py          what lies in the log directory
actions.py          the records that a version file can hold
codec.py            bytes of a log object ⇄ actions
protocol.py         which tables this release may read and write
snapshot.py         Snapshot: the table at one version, and the fold that makes it; LogAtVersion: a snapshot and its log
file_set.py         FileSet: the live files, version by version
file_entries.py     the schema of file entries; actions ⇄ Arrow rows
open_snapshot.py    URL → snapshot of the newest version, or of an older one
refresh.py          snapshot → newer snapshot, in two requests where nothing is new
snapshot_files.py   the files of a snapshot, from a new opening where its manifests are gone
log_cache.py        snapshots and log objects that the process remembers
pointer.py          `_last_checkpoint`: a hint where to start reading
json_checkpoint.py  JSON checkpoints, read in all shapes and written for `state.format=json`
create_log.py       version 0
conflicts.py        Change: what a commit wants; decide: whether it still may
unchanged_rows.py   whether the rows that a change was computed from are still there
restored_files.py   RestoreTo: an older version whose files become the live ones again
commit.py           the put-if-absent of the next version, and what became of it
put_once.py         create an object once and read it back; put under a new name; back-off
bound_limits.py     which bounds the log keeps, and how long their texts are
skip_records.py     files that an operation leaves alone for a while
reachability.py     which manifests and data files the log names: what nobody may delete
cleanup.py          deletes versions and checkpoints that nothing needs
log_elsewhere.py    a table whose log lies in another directory, as one store
rebuild_log.py      a new log with the files of a table
history.py          who committed what, and what changed since
"""
