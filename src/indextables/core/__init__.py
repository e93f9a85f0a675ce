"""Values, types, predicates, options, errors, threads and time: what every other room uses. Nothing here reads or writes objects.

options/            every option, declared once
predicate/          filters: parsed, evaluated, compared with bounds
aggregate/          groups and metrics as values
runtime/            threads, caches and other state of the process
errors.py           every error that a caller can meet, in one tree
metrics.py          counts and durations of this process
profiler.py         sections of the code, timed while somebody wants to know
redaction.py        texts without the secrets in them
clock.py            time, sleep, ids and chance, so that a test can replace them
types.py            Spark's JSON schemas ⇄ Arrow schemas
schema_text.py      schemas as people type them: `ts timestamp, message text`
values.py           typed values ⇄ texts of the log
arrow_values.py     Python values and numpy arrays → Arrow, without loading pandas
row_order.py        rows in the order of columns as Spark has it, and the first n of them
bound_texts.py      the least and the greatest value of a column as texts, cut to a length
java_text.py        doubles and strings as Java prints them, byte for byte
schema_hash.py      the name of a doc mapping that many files share
sql_tokens.py       SQL text → words, for filters, aggregates and statements
batches.py          large Arrow batches → batches of a bounded size
"""
