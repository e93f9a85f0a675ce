"""What of a table can be brought back where its log does not say everything any more.

salvage.py        the live files of a damaged log, as far as anybody can know
choose_splits.py  which splits belong to a table whose log is lost
lost_metadata.py  schema and properties from the footers of splits
"""
