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
driver_tasks.py  tasks that run in the driver, read by its own Python
planning/     what Spark's planner hands over: filters, groups, functions, limits, orders, joins; small answers and tasks
tables/       names, statements and writes
java/         the Java sources, one a concern; all decisions are made in Python

The Java lives in the driver alone and only translates. Executors need the Python package and nothing else.
"""
