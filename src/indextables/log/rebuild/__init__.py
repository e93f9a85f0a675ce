"""A log that takes the place of a damaged one. Written elsewhere, and whole or no log at all.

log_elsewhere.py  a table whose log lies in another directory, as one store
new_log.py        the files of a table, written as versions, version 0 last
"""
