"""Verbs that change a table. Each takes a `TableHandle` and ends in one commit.

append.py            more rows
overwrite.py         new rows in place of others
commit_files.py      files that exist already, removals and properties
create.py            a new table without rows
create_with_rows.py  a new table together with its first rows
drop_partitions.py   whole partitions, or all rows, taken out by the log alone
drop_table.py        a table deleted for good
upgrade_protocol.py  the protocol of an older table raised to this release's
usable_options.py    options of a table that would make it unusable are refused
after_commit.py      checkpoints and clean-up after a commit
result.py            `Commit`, the answer of every verb that writes
"""
