"""What Spark's planner hands over to a table, and how the read is carried out.

    a question as JSON ──▶ questions ──▶ ReadRequest ──▶ planner ──▶ rows, or tasks for worker.py
                             └─ filters, groups, joins

planner.py            answers to the questions of Spark's planner
questions.py          what the planner asks, read from JSON
following.py          DataFrames that move on with their table
filters.py            Spark's V2 predicates as predicates of ours
groups.py             Spark's aggregates as aggregates of ours
bucket_functions.py   `indextables_histogram` and its like: keys of groups as functions of SQL
bucket_trees.py       the same functions as expressions that Spark computes itself
snippet_columns.py    `indextables_snippet(column)`: columns of snippets
joins.py              keys of a join, handed over while Spark plans
clusters.py           reads by partition, so that Spark exchanges no rows
columnar_reads.py     reads whose tasks hand columns over instead of rows
places.py             the executors that tasks prefer
column_statistics.py  what the log knows of columns, for Spark's cost-based optimizer
task_answers.py       the tasks of a read
worker.py             what a Python worker runs for a read
"""
