"""The profiler: what it times, what it costs while it is off, threads and forks."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter_ns, sleep

import pytest

from forked import true_in_child
from indextables.core.metrics import Metrics
from indextables.core.profiler import PROFILER, Profiler

forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def test_it_is_off() -> None:
    assert not PROFILER.enabled
    assert not Profiler().enabled


def test_a_section_has_calls_and_times() -> None:
    profiler = Profiler(Metrics())
    assert profiler.enable()
    for pause in (0.0, 0.02):
        began = perf_counter_ns()
        sleep(pause)
        profiler.add("wait", "test", began)
    (section,) = profiler.sections()
    assert (section.name, section.category, section.calls) == ("wait", "test", 2)
    assert 0 < section.least_ns < 20_000_000 <= section.most_ns
    assert section.total_ns == section.least_ns + section.most_ns
    assert profiler.reset() == 1
    assert profiler.sections() == []


def test_it_is_enabled_and_disabled_once() -> None:
    profiler = Profiler(Metrics())
    assert [profiler.enable(), profiler.enable(), profiler.disable(), profiler.disable()] == [True, False, True, False]


def test_durations_of_the_metrics_are_sections_while_it_is_enabled() -> None:
    metrics = Metrics()
    profiler = Profiler(metrics)
    metrics.observe("indextables.search.duration_ms", 5)
    profiler.enable()
    profiler.enable()
    metrics.observe("indextables.search.duration_ms", 2.5)
    metrics.observe("indextables.state.read.duration_ms", 1)
    metrics.observe("indextables.search.rows", 3)
    profiler.disable()
    metrics.observe("indextables.search.duration_ms", 5)
    found = [(each.name, each.category, each.calls, each.total_ns) for each in profiler.sections()]
    assert found == [("search", "verb", 1, 2_500_000), ("state read", "state", 1, 1_000_000)]


def test_a_stream_is_timed_value_by_value_and_not_between() -> None:
    profiler = Profiler(Metrics())
    for _ in profiler.stream("numbers", "test", iter(range(3))):
        sleep(0.02)
    (section,) = profiler.sections()
    assert section.calls == 3
    assert section.total_ns < 20_000_000


def test_an_error_of_a_stream_comes_through() -> None:
    def failing() -> object:
        yield 1
        raise KeyError("no")

    with pytest.raises(KeyError):
        list(Profiler(Metrics()).stream("numbers", "test", failing()))  # type: ignore[arg-type]


def test_threads_lose_no_call() -> None:
    profiler, together = Profiler(Metrics()), threading.Barrier(8)

    def work(number: int) -> None:
        together.wait()
        for _ in range(1_000):
            profiler.add(f"section {number % 2}", "test", perf_counter_ns())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert sorted(section.calls for section in profiler.sections()) == [4_000, 4_000]


@forks
def test_a_forked_child_is_profiled_and_has_no_calls_of_its_parent() -> None:
    profiler = Profiler(Metrics())
    profiler.enable()
    profiler.add("parent", "test", perf_counter_ns())

    def child() -> bool:
        empty = profiler.enabled and profiler.sections() == []
        profiler.add("child", "test", perf_counter_ns())
        return empty and [each.name for each in profiler.sections()] == ["child"]

    assert true_in_child(child)
    assert [each.name for each in profiler.sections()] == ["parent"]
