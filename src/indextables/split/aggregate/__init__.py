"""Aggregates of one split, and how those of many become one.

inputs.py     rows → keys, and numbers that can be added up
partial.py    what is known about the groups of some rows; partials of other rows are added to it
finish.py     partial → the metrics that were asked for
pushdown.py   the same partial from an index, without reading rows
"""
