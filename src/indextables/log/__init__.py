"""The transaction log: what a table is, version by version. Knows nothing of how a split looks inside."""
