"""Avro object container files ⇄ Arrow: the bytes of states and manifests.

container.py   the file: header, blocks, codecs; every length, marker and count is checked before anything is believed
schemas.py     what is in them: one entry per live file, one record per state
encode.py      Arrow columns → Avro records, column by column
decode.py      Avro records → Python values, one by one: for the few of a state, and for small manifests
native.py      Avro records → Arrow by DataFusion: for large manifests
settle.py      tables that stay in memory, without what they do not need
manifest.py    a manifest's bytes ⇄ a table of files
"""
