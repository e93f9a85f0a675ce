"""What a check looks at beside the log, and what it may write.

check_splits.py  live splits against their checksums and the log's entries
check_places.py  orphans, temporary files, older splits that are gone
row_identity.py  which rows a split holds, and which splits hold the same
safe_repair.py   a pointer or a state written again, where the log proves what belongs there
"""
