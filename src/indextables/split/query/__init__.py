"""The query language: text → tree → what an index is asked.

    parse_query(text) ──▶ Node ──▶ translate(node, mapping) ──▶ tantivy.Query

The parser is our own. Tantivy's has errors without a position, finds nothing without a word for `err*` and `error~1`, and ends
the process for ten thousand parentheses.
"""
