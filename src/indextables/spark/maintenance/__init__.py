"""Merges, compaction and prewarming that run on Spark's executors."""
