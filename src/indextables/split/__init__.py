"""Splits: immutable data files, each a row store and a search index over the same rows, in one bundle.

[rows: Vortex files][one region per index file][footer][its checksum][its length][magic]

write:  rows ──▶ build/ ──▶ rows/, index/ ──▶ bundle/ ──▶ store
read:   question ──▶ reader.py ──▶ plan/access.py ──▶ execute.py ──▶ rows/, index/ through split_parts.py

bundle/           the file format: footer, checksums, upload
rows/             the row store (Vortex)
index/            the search index (Tantivy)
build/            rows → splits; several splits → one
plan/             predicate → access
query/            the query language: text → tree → bound query → Tantivy
aggregate/        groups of a split, and how partial results are joined
cache/            index files on local disk, shared by processes
reader.py         SplitReader: questions to one split, in the table's columns and types
execute.py        scan, locate, count, rank, first and aggregate do what the access says
split_parts.py    SplitParts: footer, rows and index of one split, each opened at its first use
cached_index.py   CachedIndex: the index of a split, opened from the local cache
open_splits.py    OpenSplits: parts of splits that the process keeps open
"""
