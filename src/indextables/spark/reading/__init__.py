"""Spark reads a table: as a data source that Spark's planner calls, or planned by our own functions.

    read_options ──▶ reader: pin, tasks ──▶ arrow_types ──▶ Spark
    frames: read, count, aggregate ──▶ tasks by `mapInArrow` ──▶ Spark

read_options.py     what `.option(…)` may say when a table is read
loaded_schema.py    the columns that options leave of a table
source_reader.py    the data source's reader: planning a read, and reading one of its parts
frames.py           `read`, `count` and `aggregate` as DataFrames
arrow_types.py      the table's types exactly as Spark wants them
month_intervals.py  year-month intervals, which Spark does not pass to Python
"""
