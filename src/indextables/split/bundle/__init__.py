"""One split is one object: row files, index files, checksums and a footer."""
