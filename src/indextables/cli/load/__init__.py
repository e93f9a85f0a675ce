"""What `indextables import` reads: files of several formats, as batches of a table's schema.

paths ──sources──▶ bytes, unpacked ──csv_file, json_file, parquet_file, log_file──▶ batches ──load──▶ append
└─ texts, json_guess: types, where nobody gave them

load.py           all files of one import together
sources.py        the files to import, and their bytes
remote_file.py    a file in a store, as a file that can be read
packing.py        gzip, zstd and bzip2 → the bytes inside
formats.py        formats, and the endings that tell them
csv_file.py       CSV, and files with tabs
json_file.py      JSON lines, and arrays of objects
json_array.py     a JSON array cut into its elements
json_guess.py     what a JSON field is, from all its values
json_values.py    JSON values → Arrow arrays
parquet_file.py   Parquet
log_file.py       lines of text
columns.py        the columns that rows go into, and values that do not fit them
texts.py          texts as values
"""
