"""The search index of a split, kept by Tantivy."""
