"""Aggregates of one split, and how those of many become one.

rows ──exact_inputs──▶ keys and numbers ──▶ Partial ──┐
index ──index_groups──────────────────────▶ Partial ──┴─ added up ──finish──▶ one row a group

exact_inputs.py   rows → keys, and numbers that add up without rounding
group_codes.py    the groups of some rows, numbered
exact_sums.py     sums of the groups that lose nothing, a column at a time
arrow_groups.py   groups and order of the rows of an Arrow table
partial.py        what is known about the groups of some rows; partials of other rows are added to it
index_groups.py   the same partial from an index, without reading rows
finish.py         partial → the metrics that were asked for
"""
