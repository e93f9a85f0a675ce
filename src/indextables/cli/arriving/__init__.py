"""`indextables import --follow`: the files of a directory as they arrive, each exactly once.

directory ──arrivals──▶ files that are whole ──ledger──▶ a batch, on disk ──take_batch──▶ one commit, with the batch's number

What was taken is known from two things together. The ledger says which files each batch has, and is on disk before a batch is
read. The table's log says which batch came last (`txn`), in the very commit that holds the rows. So whatever moment the program
is killed at: a batch that the log has is done, and one that it does not have is taken again, with the same files.

The log alone could know it, with an entry for each file. Every snapshot and every state would hold all of these entries then, and
forget them after `txn.retention.hours`, to take old files once more. A ledger alone could not know whether a commit happened.

follow_directory.py  the command: looks, batches, and what it says about each
take_batch.py        one batch: its files are read and committed, or were committed already
arrivals.py          which files of a directory are whole, and which are left alone
ledger.py            which files were taken, on disk
"""
