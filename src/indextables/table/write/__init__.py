"""Verbs that change a table. Each takes a `TableHandle` and ends in one commit.

append.py            more rows
overwrite.py         new rows in place of others
commit_files.py      files that exist already, removals and properties
arrived_files.py     whether files that others wrote are there, and young enough to be committed
create.py            a new table without rows
create_with_rows.py  a new table together with its first rows
clone.py             a full copy of a version at another place
drop_partitions.py   whole partitions, or all rows, taken out by the log alone
restore.py           the rows of an older version become the newest ones
restore_check.py     whether the log of a restored version is still there, and the way back
drop_table.py        a table deleted for good
upgrade_protocol.py  the protocol of an older table raised to this release's
usable_options.py    options of a table that would make it unusable are refused
after_commit.py      checkpoints and clean-up after a commit
result.py            `Commit`, the answer of every verb that writes
"""
