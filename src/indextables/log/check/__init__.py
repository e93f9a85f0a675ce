"""What is left of a log, and what is wrong with it. Works where a table cannot be opened, and writes nothing.

    log directory ──▶ remains.py ──▶ replay.py ──▶ the newest version, as far as it can be known
                           └───────────┴──▶ check_versions.py, check_bases.py, check_pointer.py ──▶ findings

findings.py        Finding: one thing that is wrong with a table
remains.py         every object of a log, read as far as it can be
replay.py          the newest version from what can be read, and whether it is known for certain
version_order.py   version files that lie in the place of another version
check_versions.py  version files that are damaged, missing, misplaced or another table's
check_bases.py     states, manifests and JSON checkpoints that are damaged, or say something else than the versions
check_pointer.py   `_last_checkpoint`
check_log.py       all of these, in one order
"""
