"""Metrics of this process: `indextables.metrics.snapshot()` as a dict, `openmetrics()` as text."""

from indextables.core.metrics import METRICS, Metrics, Series

observe = METRICS.observe
openmetrics = METRICS.openmetrics
reset = METRICS.reset
snapshot = METRICS.snapshot
subscribe = METRICS.subscribe

__all__ = ["METRICS", "Metrics", "Series", "observe", "openmetrics", "reset", "snapshot", "subscribe"]
