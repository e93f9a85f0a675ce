"""Merges, purges, and what a table says of itself.

merge.py           many small splits become few large ones
merge_plan.py      which splits are merged into which
merge_on_write.py  merges that follow writes of this process
purge.py           splits that no version names, and old parts of the log, deleted
purge_on_write.py  purges that follow writes and merges of this process
purging/           what a purge finds, and how it deletes
truncate.py        time travel given up: the newest version becomes the oldest
describe_state.py  the state that a table was opened from
describe_rows.py   files, history, partitions and changes, as rows
list_skips.py      files that an operation could not handle
"""
