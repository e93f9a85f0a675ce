"""What `indextables import` reads: files of several formats, as batches of a table's schema.

paths ──sources──▶ bytes, unpacked ──csv_file, json_file, parquet_file──▶ batches ──load──▶ append
└─ texts, json_guess: types, where nobody gave them

load.py           all files of one import together
sources.py        the files to import, and their bytes
formats.py        formats, and the endings that tell them
csv_file.py       CSV, and files with tabs
json_file.py      JSON lines
json_guess.py     what a JSON field is, from all its values
json_values.py    JSON values → Arrow arrays
parquet_file.py   Parquet
columns.py        the columns that rows go into, and values that do not fit them
texts.py          texts as values
"""
