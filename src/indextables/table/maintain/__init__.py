"""Merges, purges, checks and repairs, and what a table says of itself.

merge.py           many small splits become few large ones
merge_plan.py      which splits are merged into which
merge_on_write.py  merges that follow writes of this process
truncate.py        time travel given up: the newest version becomes the oldest
optimize.py        merge, compact, purge and prewarm, as far as a table needs it
describe_table.py  a table in facts
find_tables.py     tables below a place
list_partitions.py partitions with files, rows, bytes and ages
purge.py           splits that no version names, and old parts of the log, deleted
purge_on_write.py  purges that follow writes and merges of this process
purging/           what a purge finds, and how it deletes
describe_state.py  the state that a table was opened from
describe_rows.py   files, history, partitions and changes, as rows
list_skips.py      files that an operation could not handle
fsck.py            everything that is wrong with a table
checks/            what a check looks at beside the log, and what it may write
repair.py          a new log from what is left of a table
recovery/          which files and which columns a table had
"""
