"""One split is one object: row files, index files, checksums and a footer.

row files, index files ──write_bundle──▶ one local file ──upload──▶ store ──read_footer, Pages──▶ verified bytes

bundle_writer.py    row files and index files → one file
bundle_reader.py    the footer of a bundle; `Pages`: verified bytes of its rows
footer.py           `Footer`, `Region`, `Part`: what a bundle says about itself
positions_tail.py   the end of a positions file, which a search without phrases needs
upload.py           a local bundle → the store
native_errors.py    exceptions and panics of Tantivy and Vortex → SplitError
"""
