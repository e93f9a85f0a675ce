"""What `indextables import` reads: files of three formats, as batches of a table's schema."""
