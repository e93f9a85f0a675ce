"""The connector: natural SQL and DataFrames over tables, with Spark's planner handing filters, columns, limits and groups over.

    the driver's JVM                         the driver's Python                     executors
    java/: Provider, IndexTable ── open ───▶ planner: version, schema
           ReadPlanner ────── each step ───▶ planner: may the table do it?            Spark's own classes for Python
           LocalAnswer ◀─────── rows ─────── planner: small answers, no job           sources run worker.py and writes.py
           TaskScan, TaskBatch ◀─ tasks ──── planner, worker: larger answers ───────▶
           TableWrite ──── begin, commit ──▶ writes ─────────────────────────────────▶
           PathCatalog, SessionTables ─────▶ catalog, creation, deletes: names, DDL, hidden tables

connect.py    the connector is put into a session's driver
classes.py    Java sources → class files → the driver's class loader
bridge.py     the object that Java calls
planner.py    answers to the questions of Spark's planner
questions.py  what the planner asks, read from JSON
filters.py    Spark's V2 predicates as predicates of ours
groups.py     Spark's aggregates as aggregates of ours
buckets.py    `indextables_histogram` and its like: keys of groups as functions of SQL
bucket_trees.py  the same functions as expressions that Spark computes itself
snippets.py   `indextables_snippet(column)`: columns of snippets
joins.py      keys of a join, handed over while Spark plans
clusters.py   reads by partition, so that Spark exchanges no rows
places.py     the executors that tasks prefer
statistics.py what the log knows of columns, for Spark's cost-based optimizer
worker.py     what a Python worker runs for a read
writes.py     writes that the planner hands over
names.py      the catalogs are set in a session
catalog.py    tables with a name: what the catalogs ask
creation.py   CREATE TABLE, REPLACE TABLE, and their AS SELECT
hidden.py     what a table says of itself, as rows: `n.files`, `n.history`
deletes.py    DELETE and TRUNCATE of whole partitions
java/         the Java sources, one a concern; all decisions are made in Python

The Java lives in the driver alone and only translates. Executors need the Python package and nothing else.
"""
