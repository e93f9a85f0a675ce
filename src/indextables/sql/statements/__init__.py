"""The executors of statements. Each takes a command and a `Setting`, calls one method, and gives rows.

tidying.py      MERGE SPLITS, PURGE, CHECKPOINT, COMPACT, TRUNCATE TIME TRAVEL, OPTIMIZE
changing.py     DROP PARTITIONS, RESTORE, CLONE, properties, UPGRADE PROTOCOL
mending.py      REPAIR and FSCK
looking.py      DESCRIBE of one table: state, log, history, partitions, component sizes
caches.py       caches: described, emptied, filled by PREWARM; jobs
figures.py      figures of this process: storage, data skipping, profiler, environment
"""
