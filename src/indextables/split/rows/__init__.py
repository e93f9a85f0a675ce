"""The rows of a split, stored by Vortex.

batch ──▶ stored_types.py ──▶ row_writer.py ──▶ Vortex files ──▶ row_reader.py ──▶ projection.py ──▶ batch of the table

row_source.py     RowSource: the methods of stored rows that the package uses
row_writer.py     batches → Vortex files
spilled_rows.py   rows that wait in a file until Vortex writes them
row_reader.py     Rows: take by number, scan with a filter, read a whole column
stored_types.py   Arrow type ⇄ type in the row store
vortex_filter.py  predicate → filter that Vortex may apply without losing a row
file_window.py    a Vortex file inside of a bundle, as Vortex reads it
segment_cache.py  Vortex's caches of compressed segments
vortex_library.py Vortex's native library, loaded when the first row is read
block_cache.py    compressed blocks of rows that stay in memory
projection.py     ColumnAdapter: stored columns → columns of the table, with constants and later columns
"""
