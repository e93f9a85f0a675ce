"""The query language: text → tree → what an index is asked.

    text ──parse──▶ Node ──bind──▶ Bound ──┬─ match ──▶ rows, counts ──▶ tantivy.Query, and checks on the rows
                  (tree)         (bound)   ├─ rank ───▶ the best rows, with scores
                                           ├─ snippet ▶ the part of a text that shows why
                                           └─ explain ▶ words

    parse.py             query text → tree. Errors have a position
    tree.py              what a query says, before it is checked
    bind.py              tree → bound query: fields exist, values fit them, texts are cut into words
    binding/             the kinds of leaves, one module each: words, addresses, JSON; names; refusals
    bind_search.py       a search inside `where` → bound query
    condition.py         `where` with searches → a predicate and a bound query
    bound.py             a query that was checked against a table
    json_values.py       numbers and times inside JSON, and the terms that stand for them
    json_paths.py        which keys a dotted path may mean, and what lies there in the rows
    match.py             which rows of one split a bound query finds
    index_queries.py     leaves of a bound query → tantivy.Query
    row_checks.py        leaves of a bound query worked out on the rows
    count_two_terms.py   how many rows have two frequent words
    rank.py              the best rows of one split
    snippet.py           the part of a text that shows best why a query found it
    explain.py           a bound query in words

The parser is our own. Tantivy's has errors without a position, finds nothing without a word for `err*` and `error~1`, and ends
the process for ten thousand parentheses.
"""
