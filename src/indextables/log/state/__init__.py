"""Avro states: all that a table is at one version, in shared manifests that the next state reuses.

model.py      what a state says
read.py       bytes → state, with every length, checksum and count compared
files.py      a state's live files, read when somebody looks, and only the manifests that may matter
bounds.py     the smallest and largest partition values of a manifest, by type
write.py      state → bytes: incrementally, or compacted
collect.py    manifests that no state names any more
"""
