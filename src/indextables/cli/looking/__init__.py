"""Commands that look at tables, beside those of `reading`: the last rows, and tables below a place.

looking_app.py   what can be typed: tail, ls, partitions, export
tail.py          the last rows, and new ones as they come
tables_below.py  the tables below a place
"""
