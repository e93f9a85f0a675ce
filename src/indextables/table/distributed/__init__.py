"""Reads, writes and maintenance divided into tasks that other processes run: the only door that `spark/` uses.

    driver: plan ──▶ values that pickle ──▶ executors: run ──▶ answers that pickle ──▶ driver: commit, or put together

opening.py         how an engine comes to a table: its log, a handle at a version
definitions.py     tables as an engine's catalog sees them: made, described, emptied and dropped
requests.py        what an engine asks of a table, as values
read_tasks.py      `ReadTask` and planning: rows, counts and groups of some splits
partition_tasks.py tasks that read one partition of a table each
column_facts.py    what the log knows of a column of some files
task_packing.py    which splits go together in a task, and the bytes that travel
local_answers.py   small questions of an engine, answered in the process that plans them
filter_answers.py  which filters of a planner are answered exactly, inexactly or not at all
write_job.py       `WriteJob`: rows built into splits by many processes, committed by one
replace_job.py     a `WriteJob` that replaces a table, its columns included
merge_job.py       `MergeJob`: merges built by many processes, committed by one
purge_job.py       a purge whose deletes are made by workers of an engine
maintenance.py     compaction, prewarming and sizes of components by workers of an engine
"""
