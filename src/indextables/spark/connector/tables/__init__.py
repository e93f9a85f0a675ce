"""Tables by name: what the catalogs ask, statements that make or change tables, and writes.

names.py      the catalogs are set in a session
catalog.py    tables with a name: what the catalogs ask
creation.py   CREATE TABLE, REPLACE TABLE, and their AS SELECT
writes.py     writes that the planner hands over
deletes.py    DELETE and TRUNCATE of whole partitions
statements.py statements of ours in `spark.sql`
hidden.py     what a table says of itself, as rows: `n.files`, `n.history`
"""
