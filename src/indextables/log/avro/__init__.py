"""Avro object container files ⇄ Arrow: the bytes of states and manifests.

    files ─ encode_columns ─┐                             ┌─ choose_reader ─ column_reader ──────┐
                            ├─▶ avro_file ─▶ bytes ─▶ avro_file              datafusion_reader ──┼─▶ files
    state ─ encode_record ──┘                             └─ decode_records ─────────────────────┘ (and a state's record)

avro_file.py           the file: header, blocks, codecs; every length, marker and count is checked before anything is believed
schemas.py             the Avro schemas of what we write: one record per live file, one record per state
manifest.py            a manifest's bytes ⇄ a table of files
reader_choice.py       which reader a manifest is read by, and the numbers that decide
manifest_readers.py    the three readers of manifests behind one shape; the reference reader is `decode_records`
decode_records.py      records → Python values, one by one: a state, small manifests, and what the other readers cannot read
column_reader.py       records → Arrow, one field of thousands of records at a time, by the lengths in the header
datafusion_reader.py   records → Arrow by DataFusion: large manifests of other writers
record_lengths.py      the lengths of records in a manifest's header, and the arithmetic of readers that use them
text_spans.py          where the texts of a long list lie: the tombstones of a state
encode_columns.py      Arrow columns → records, column by column
encode_record.py       one Python value → a record: the state
shared_columns.py      tables that stay in memory: columns of their size, shared columns of nulls and shared keys of maps
"""
