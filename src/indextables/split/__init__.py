"""Splits: immutable data files, each a row store and a search index over the same rows, in one bundle.

    [rows: Vortex files][one region per index file][footer][its checksum][its length][magic]

footer.py      what a bundle says about itself, as bytes and back
container.py   writing a bundle; reading its footer and the bytes of its rows, verified
forms.py       how each column type lies in the row store
rows.py        rows in and out of the row store (pushdown.py: which filters it may apply)
statistics.py  bounds, null counts and time range of the rows that pass by
reader.py      the rows of one split that a predicate is true for (opened.py: splits that stay open; worth.py: when the
               index is asked)
native.py      what native code throws, as errors that name the split
"""
