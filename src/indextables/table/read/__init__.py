"""Verbs that ask a table something. Each takes a `TableHandle` and a checked `ReadRequest`.

    ReadRequest ──▶ plan_read: the files that may hold rows ──▶ split_readers ──▶ SplitReader of each file ──▶ one answer

request.py        `ReadRequest`, its checks, and `ReadPlan`
scan.py           rows as a stream, in the order of the files
newest_rows.py    the rows that were committed last
search.py         the best rows that a query finds, with scores and snippets
snippets.py       the parts of texts that show why a row was found
first_rows.py     the first rows in the order of columns
count.py          how many rows, from the log where it knows
aggregate.py      groups of rows
prewarm_choice.py what a prewarm should bring, as callers name it
prewarm.py        indexes on local disk before they are needed; Spark's tasks use it too
explain.py        a query in words, and how each file would answer
split_readers.py  readers of a table's splits, kept for the next question
ranking.py        the best k rows of several splits, and how the winners are read
few_rows.py       a handful of rows of several splits as one batch
parallelism.py    when a question gets several threads, and how many
"""
