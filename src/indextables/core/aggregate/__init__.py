"""What an aggregate asks for: keys and metrics, read from texts and checked against a schema.

spec.py     keys, buckets and metrics as values
buckets.py  the functions of keys: a column's type and arguments → buckets
parse.py    texts → spec
"""

from __future__ import annotations

from indextables.core.aggregate.buckets import Argument as Argument
from indextables.core.aggregate.buckets import BucketError as BucketError
from indextables.core.aggregate.buckets import make_bucket as make_bucket
from indextables.core.aggregate.parse import By as By
from indextables.core.aggregate.parse import Metrics as Metrics
from indextables.core.aggregate.parse import parse_aggregate as parse_aggregate
from indextables.core.aggregate.spec import Aggregate as Aggregate
from indextables.core.aggregate.spec import Bucket as Bucket
from indextables.core.aggregate.spec import Calendar as Calendar
from indextables.core.aggregate.spec import FloatSteps as FloatSteps
from indextables.core.aggregate.spec import Key as Key
from indextables.core.aggregate.spec import Metric as Metric
from indextables.core.aggregate.spec import Ranges as Ranges
from indextables.core.aggregate.spec import Steps as Steps
