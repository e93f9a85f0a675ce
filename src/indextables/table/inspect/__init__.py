"""Figures of this process and of splits, as Arrow tables: what statements such as `DESCRIBE INDEXTABLES DISK CACHE` answer with.

    counters of core/, storage/, log/ and split/ ──▶ one function an answer ──▶ pa.Table

Every function answers for the process that calls it and needs nothing else, so that an engine can call it in each of its workers
and put the answers together. `indextables.inspect` has all of them under one name.

this_process.py       which process answers: its name and its machine
disk_and_memory.py    the disk cache, open indexes and rows, and the remembered log: described and flushed
storage_requests.py   requests to stores, and bytes that came back
data_skipping.py      files that questions did not have to look at
environment.py        Python, packages, machine, options and environment variables, without secrets
running_jobs.py       merges and prewarms: listed, and waited for
component_sizes.py    what takes the space in splits
log_actions.py        the log, with a column for every field of an action
profiles.py           the profiler: enabled, disabled, described and reset
"""
