"""Spark writes a table.

    write_options ──▶ WriteJob ──▶ tasks build splits ──▶ one commit

write_frame.py    `indextables.spark.write`: all modes, and an answer
source_writer.py  the data source's writer, and which process does what
write_options.py  what `.option(…)` may say when a table is written
distribution.py   `optimize`: rows of one partition together before they are written
"""
