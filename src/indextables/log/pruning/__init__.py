"""Which files of a snapshot may hold a row that matches a predicate.

predicate, files ──▶ file_pruning.py ──▶ files that may match
                         └── few_files.py, for a handful of files

file_pruning.py     by partition values, minima, maxima and null counts of all files at once
few_files.py        the same decision for a handful of files, on Python values
first_files.py      the files that may hold one of the first rows in the order of a column
skipping_counts.py  how many files were ruled out, and by what, for the process
partition_files.py  exactly the files of the partitions that a predicate selects, for overwrites
"""
