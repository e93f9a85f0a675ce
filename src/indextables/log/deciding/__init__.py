"""What `conflicts.decide` asks about two versions of a table. Pure functions of snapshots, without I/O.

unchanged_rows.py  whether the rows that a change was computed from are still there
restored_files.py  RestoreTo: an older version whose files become the live ones again
"""
