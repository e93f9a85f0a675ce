"""The change feed: which rows commits inserted and deleted. Takes a `TableHandle` at the version whose columns the rows have.

    since, until ──▶ ChangePlan: files by version and partition ──▶ rows of files, or the difference of files ──▶ one stream

A commit that only adds files, or only removes some, is read as it is. Where a commit replaces files by others, as an overwrite
does, the rows that are in both cancel each other, and the rest is the change.

table_feed.py      the methods of `Table` that tell which rows changed
change_feed.py     the verb: arguments checked, plan and stream put together
change_plan.py     `ChangePlan`: which files each version removed and added, a value that pickles
change_rows.py     the rows of a plan, or of one version of it
changed_splits.py  readers of files that commits removed or added, and the error where one is gone
row_hashes.py      rows as 128-bit hashes, equal where rows are equal
hash_store.py      the hashes of two sides, in memory or on local disk
difference.py      rows of two sides cancel each other, one for one
"""
