"""How a split answers a predicate: access.py decides, the other modules supply facts and queries.

predicate ──▶ access.py ◀── footer_facts.py, column_lookup.py, index_cost.py, predicate_plan.py
                 └──▶ NoRows | AllRows | RowNumbers | IndexQuery | Scan

access.py           choose_access: the one ladder from partition values to a scan
costs.py            every number that weighs one access against another
footer_facts.py     what the footer says about a predicate
bounds_check.py     what minima and maxima of one split say about a predicate
column_lookup.py    rows by the values of a column of whole numbers, without the index
order_keys.py       numbers, dates and moments as whole numbers in their order
index_cost.py       whether an index that is not open is worth opening
index_view.py       IndexView: an open index and facts of its split; IndexSource: how an index is opened
predicate_plan.py   predicate → query of the index and residual
column_queries.py   leaves of a predicate → Tantivy queries
row_sets.py         RowSet: rows that a query finds, with intersection, union and difference
"""
