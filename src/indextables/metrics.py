"""Metrics of this process: counts, sums and last values by name.

`snapshot()` returns the metrics as a dict, `openmetrics()` as text for Prometheus. `subscribe(callable)` reports every new value.
"""

from indextables.core.metrics import METRICS, Metrics, Series

counters = METRICS.counters
observe = METRICS.observe
openmetrics = METRICS.openmetrics
reset = METRICS.reset
snapshot = METRICS.snapshot
subscribe = METRICS.subscribe

__all__ = ["METRICS", "Metrics", "Series", "counters", "observe", "openmetrics", "reset", "snapshot", "subscribe"]
