"""Spark reads a table: as a data source that Spark's planner calls, or planned by our own functions."""
