"""Merges, purges, checks and repairs, and what a table says of itself.

merge.py           many small splits become few large ones
merge_plan.py      which splits are merged into which
merge_on_write.py  merges that follow writes of this process
truncate.py        time travel given up: the newest version becomes the oldest
optimize.py        merge, compact, purge and prewarm, as far as a table needs it
describe_table.py  a table in facts
list_partitions.py partitions with files, rows, bytes and ages
purge.py           splits that no version names, and old parts of the log, deleted
purging/           what a purge finds, and how it deletes
describe_state.py  the state that a table was opened from
describe_rows.py   files, history, partitions and changes, as rows
list_skips.py      files that an operation could not handle
fsck.py            everything that is wrong with a table
check_splits.py    live splits against their checksums and the log's entries
check_places.py    orphans, temporary files, older splits that are gone
row_identity.py    which rows a split holds, and which splits hold the same
repair.py          a new log from what is left of a table
salvage.py         the live files of a damaged log, as far as anybody can know
choose_splits.py   which splits belong to a table whose log is lost
lost_metadata.py   schema and properties from the footers of splits
safe_repair.py     a pointer or a state written again, where the log proves what belongs there
"""
