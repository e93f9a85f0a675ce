"""Statements of the format in Spark sessions: `spark.sql("PURGE INDEXTABLES logs DRY RUN")` after `install(spark)`.

    classic   the session's parser (connector/java/Statements.java) ─▶ connector/tables/statements.py ─┐
    Connect   wrapped_sql.py around `spark.sql`, names by client_names.py ─────────────────────────────┴▶ run_statement.py ─▶ rows

run_statement.py  a command in a session: here, by executors, or in each of them
spark_table.py    a table whose long verbs are done by executors where that pays
prewarm_machines.py  PREWARM on every machine of a cluster
each_executor.py  figures of every process of executors, with the executor's id and host
wrapped_sql.py    `spark.sql` of a Connect session, with our statements
client_names.py   the names of a Connect session's tables and views

`indextables.sql` has the grammar and the executors of all statements. What is here says where a statement's work is done.
"""
