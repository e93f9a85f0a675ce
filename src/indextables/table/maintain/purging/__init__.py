"""What purge finds and deletes, step by step. `maintain/purge.py` is the verb.

data_files.py  all splits at a table's place, old enough to go, as a compact list
orphans.py     those of them that the log does not name
delete.py      objects deleted in batches, each after a look at version 0
"""
