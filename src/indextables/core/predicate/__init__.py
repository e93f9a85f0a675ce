"""The one filter AST, its SQL text, its exact evaluation, and what bounds say about it.

SQL text ──▶ parse.py ──▶ predicate ──▶ evaluate.py (rows), bounds.py (files), sql.py (text)

ast.py            the nodes
coerce.py         leaves from values of any type, exactly
parse.py          SQL text → predicate
syntax.py         whether words are a filter of any table
cursor.py         the words of a filter, read one after another
sql.py            predicate → SQL text
evaluate.py       predicate, rows → true, false or null
bounds.py         predicate, minima and maxima of many files → may match
scalar_bounds.py  predicate, minima and maxima of one file → may match, on Python values
"""

from __future__ import annotations

from indextables.core.predicate.ast import FALSE as FALSE
from indextables.core.predicate.ast import NULL as NULL
from indextables.core.predicate.ast import TRUE as TRUE
from indextables.core.predicate.ast import And as And
from indextables.core.predicate.ast import Column as Column
from indextables.core.predicate.ast import Comparison as Comparison
from indextables.core.predicate.ast import Constant as Constant
from indextables.core.predicate.ast import In as In
from indextables.core.predicate.ast import IsNotNull as IsNotNull
from indextables.core.predicate.ast import IsNull as IsNull
from indextables.core.predicate.ast import Leaf as Leaf
from indextables.core.predicate.ast import Like as Like
from indextables.core.predicate.ast import Literal as Literal
from indextables.core.predicate.ast import Not as Not
from indextables.core.predicate.ast import Op as Op
from indextables.core.predicate.ast import Or as Or
from indextables.core.predicate.ast import Predicate as Predicate
from indextables.core.predicate.ast import Search as Search
from indextables.core.predicate.ast import SearchOp as SearchOp
from indextables.core.predicate.ast import Wildcard as Wildcard
from indextables.core.predicate.ast import all_of as all_of
from indextables.core.predicate.ast import any_of as any_of
from indextables.core.predicate.ast import columns_of as columns_of
from indextables.core.predicate.ast import has_search as has_search
from indextables.core.predicate.ast import leaves_of as leaves_of
from indextables.core.predicate.ast import push_down_not as push_down_not
from indextables.core.predicate.bounds import ColumnBounds as ColumnBounds
from indextables.core.predicate.bounds import VectorBounds as VectorBounds
from indextables.core.predicate.bounds import VectorValues as VectorValues
from indextables.core.predicate.bounds import may_match as may_match
from indextables.core.predicate.bounds import may_match_table as may_match_table
from indextables.core.predicate.bounds import prefix_maximum as prefix_maximum
from indextables.core.predicate.coerce import compare as compare
from indextables.core.predicate.coerce import like as like
from indextables.core.predicate.coerce import member as member
from indextables.core.predicate.evaluate import evaluate as evaluate
from indextables.core.predicate.parse import parse_predicate as parse_predicate
from indextables.core.predicate.scalar_bounds import plainly_always_true as plainly_always_true
from indextables.core.predicate.scalar_bounds import plainly_may_match as plainly_may_match
from indextables.core.predicate.sql import to_sql as to_sql
from indextables.core.predicate.syntax import check_syntax as check_syntax
