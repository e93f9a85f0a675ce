"""What `indextables export` writes: rows of a table as files that `indextables import` reads again, with the same values.

    scan ──▶ batches ──▶ csv_rows, JSON lines or Parquet ──▶ a temporary file ──rename──▶ the file

export.py     one export: which rows, into which files
place.py      the file or directory to write, its format, and how it gets its name at the end
csv_rows.py   rows as lines of CSV
writers.py    batches → bytes of a format
"""
