"""Rows on their way into a table: checked, gathered, built into splits and uploaded.

    data ─▶ incoming_rows ─▶ split_builder: spool, index, bundle, on local disk ─▶ uploads ─▶ split_entries ─▶ a commit

ingest.py             what append and overwrite have in common: rows become splits, and the splits a commit
incoming_rows.py      the caller's data as batches of the table's schema
incoming_schema.py    the Spark schema of incoming rows: what a new table gets, and whether rows fit
split_builder.py      rows built into splits in the store, as a `WritePlan` says
split_entries.py      new splits as entries of the log
uploads.py            names of uploads, and taking them back after a failure
directories.py        directories that uploads make on a local disk
job_group.py          jobs side by side that end together at the first error
scratch_directory.py  work directories that vanish with their process
"""
