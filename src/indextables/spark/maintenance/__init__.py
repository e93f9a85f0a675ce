"""Merges, compaction and prewarming that run on Spark's executors.

maintain.py        `merge_splits` and `compact` as Spark tasks
prewarm.py         the indexes of a table on the disks of all machines
merge_on_write.py  merges that follow a write
merge_jobs.py      what became of merges that follow writes
"""
