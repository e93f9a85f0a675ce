"""Series, counters, measured verbs, and their text: checked by the rules of OpenMetrics."""

from __future__ import annotations

import inspect
import math
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from forked import true_in_child
from indextables.core.metrics import Metrics, member_of
from openmetrics import families

forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def test_a_series_counts_sums_and_keeps_the_last() -> None:
    metrics = Metrics()
    for value in (1, 2.5, 0.5):
        metrics.observe("a.b", value)
    assert metrics.snapshot() == {"a.b": {"count": 3, "sum": 4.0, "last": 0.5}}
    metrics.reset()
    assert metrics.snapshot() == {}


def test_threads_lose_no_observation() -> None:
    metrics, together = Metrics(), threading.Barrier(8)
    counter = metrics.counter("c")

    def work(_: int) -> None:
        together.wait()
        for _ in range(2_000):
            metrics.observe("n", 1)
            counter.add(3)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert metrics.snapshot()["n"] == {"count": 16_000, "sum": 16_000.0, "last": 1}
    assert metrics.counters() == {"c": 48_000}


@forks
def test_a_forked_child_counts_from_nothing() -> None:
    metrics = Metrics()
    counter = metrics.counter("c")
    counter.add(2)
    metrics.observe("n", 1)

    def child() -> bool:
        empty = metrics.snapshot() == {} and metrics.counters() == {"c": 0}
        metrics.observe("n", 5)
        counter.add(1)
        return empty and metrics.snapshot()["n"]["sum"] == 5.0 and counter.total == 1

    assert true_in_child(child)
    assert metrics.snapshot()["n"]["sum"] == 1.0
    assert counter.total == 2


class TestMeasured:
    def test_a_call_is_timed_and_its_figures_are_read(self) -> None:
        metrics = Metrics()

        @metrics.measured("verb", rows=len, files=member_of("__dict__", "nothing"))
        def verb(rows: list[int], *, twice: bool = False) -> list[int]:
            """What the verb does."""
            return type("Answer", (list,), {})(rows * 2 if twice else rows)

        assert list(verb([1, 2], twice=True)) == [1, 2, 1, 2]
        found = metrics.snapshot()
        assert set(found) == {f"indextables.verb.{what}" for what in ("duration_ms", "rows", "files")}
        assert found["indextables.verb.rows"]["sum"] == 4.0
        assert found["indextables.verb.files"]["sum"] == 0.0
        assert 0.0 <= found["indextables.verb.duration_ms"]["last"] < 60_000
        assert verb.__doc__ == "What the verb does."
        assert list(inspect.signature(verb).parameters) == ["rows", "twice"]

    def test_a_failure_is_counted_and_timed(self) -> None:
        metrics = Metrics()

        @metrics.measured("verb", rows=len)
        def verb() -> list[int]:
            raise KeyError("no")

        with pytest.raises(KeyError, match="no"):
            verb()
        found = metrics.snapshot()
        assert set(found) == {"indextables.verb.duration_ms", "indextables.verb.failures"}
        assert found["indextables.verb.failures"] == {"count": 1, "sum": 1.0, "last": 1}


class TestOpenMetrics:
    def test_every_kind(self) -> None:
        metrics = Metrics()
        metrics.counter("indextables.storage.requests").add(7)
        metrics.show("indextables.kept.elsewhere", lambda: 12.5)
        metrics.observe("indextables.search.duration_ms", 1.25)
        metrics.observe("indextables.search.duration_ms", 0.25)
        found = families(metrics.openmetrics())
        assert found["indextables_storage_requests"].kind == "counter"
        assert found["indextables_storage_requests"].samples == {"_total": 7.0}
        assert found["indextables_kept_elsewhere"].samples == {"_total": 12.5}
        assert found["indextables_search_duration_ms"].kind == "summary"
        assert found["indextables_search_duration_ms"].samples == {"_count": 2.0, "_sum": 1.5}
        assert found["indextables_search_duration_ms_last"].samples == {"": 0.25}

    def test_numbers_that_are_none(self) -> None:
        metrics = Metrics()
        for name, value in {"a": math.inf, "b": -math.inf, "c": math.nan}.items():
            metrics.observe(name, value)
        text = metrics.openmetrics()
        assert "\na_sum +Inf\n" in text
        assert "\nb_last -Inf\n" in text
        assert "\nc_sum NaN\n" in text
        families(text)

    @given(
        names=st.lists(st.text(max_size=12) | st.sampled_from(["a.b", "a_b", "a.b.count", "a-b", "a.b_last", "", "1"])),
        counters=st.lists(st.sampled_from(["a.b", "a_b.total", "a.b.count", "c", "c.created", "é"]), unique=True),
    )
    @settings(max_examples=examples(200), deadline=None)
    def test_any_names_make_a_valid_text(self, names: list[str], counters: list[str]) -> None:
        metrics = Metrics()
        for name in counters:
            metrics.counter(name).add(1)
        for name in names:
            metrics.observe(name, 1.0)
        found = families(metrics.openmetrics())
        kinds = [family.kind for family in found.values()]
        assert kinds.count("counter") == len(counters)
        assert kinds.count("summary") == kinds.count("gauge") == len(set(names))

    @pytest.mark.parametrize(
        "wrong",
        [
            "",
            "# EOF",
            "a 1\n# EOF\n",
            "# TYPE a counter\na 1\n# EOF\n",
            "# TYPE a counter\na_total -1\n# EOF\n",
            "# TYPE a gauge\na 1\n\n# EOF\n",
            "# TYPE a gauge\na 1\n# TYPE a gauge\na 2\n# EOF\n",
            "# TYPE a gauge\na 1\na 2\n# EOF\n",
            "# TYPE a-b gauge\na-b 1\n# EOF\n",
            "# TYPE a gauge\na one\n# EOF\n",
            "# TYPE a summary\na_count 1.5\n# EOF\n",
            "# TYPE a summary\na_count 1\n# TYPE a_count gauge\na_count 2\n# EOF\n",
            "# TYPE a gauge\na 1\n# EOF\n# TYPE b gauge\n",
        ],
    )
    def test_the_rules_refuse_what_is_wrong(self, wrong: str) -> None:
        with pytest.raises(ValueError, match=re.compile(".")):
            families(wrong)
