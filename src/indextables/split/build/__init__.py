"""Rows become splits, and splits become one split.

batches ──spool──▶ rows of one partition ──split_writer──▶ LocalSplit ──▶ upload
splits ──────────────────────────────────split_merge──▶ LocalSplit ──▶ upload

spool.py          incoming rows gathered by partition, on disk beyond a budget
split_form.py     `SplitForm`: what every new split of a table looks like
split_writer.py   rows → one local split
split_merge.py    several splits → one local split, mostly without indexing again
statistics.py     bounds, null counts and time range, while rows pass
"""
