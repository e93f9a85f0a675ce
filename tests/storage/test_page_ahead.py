"""Pages of a listing that a thread fetches: the same pages, the same errors, and no thread that stays."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forked import in_child
from indextables.core.errors import StoreUnavailable
from indextables.storage.page_ahead import pages_ahead

FULL = 3


def fetching(pages: list[list[int]], fails: bool = False) -> Callable[[], list[int] | None]:
    left: Iterator[list[int]] = iter(pages)

    def fetch() -> list[int] | None:
        page = next(left, None)
        if page is None and fails:
            raise StoreUnavailable("no answer")
        return page

    return fetch


def listing_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "indextables-listing"]


@given(st.lists(st.lists(st.integers(), min_size=1, max_size=FULL), max_size=8), st.booleans())
def test_the_same_pages_and_errors(pages: list[list[int]], fails: bool) -> None:
    found = []
    try:
        found.extend(pages_ahead(fetching(pages, fails), FULL))
    except StoreUnavailable:
        assert fails
    else:
        assert not fails
    assert found == pages


def test_a_short_listing_begins_no_thread() -> None:
    pages = pages_ahead(fetching([[1, 2], [3]]), FULL)
    assert next(pages) == [1, 2]
    assert not listing_threads()
    assert list(pages) == [[3]]
    assert not listing_threads()


def test_the_next_page_is_fetched_meanwhile_and_no_other() -> None:
    fetched: list[int] = []
    second = threading.Event()

    def fetch() -> list[int]:
        fetched.append(len(fetched))
        if len(fetched) == 2:
            second.set()
        return [1] * FULL

    pages = pages_ahead(fetch, FULL)
    next(pages)
    assert second.wait(10), "without being asked for"
    for thread in listing_threads():
        thread.join()
    assert fetched == [0, 1]
    pages.close()
    assert not listing_threads(), "a listing that is given up leaves no thread behind"


def test_a_thread_lists_after_the_main_thread_has_ended() -> None:
    program = """
import threading, time
from indextables.core.options import Options
from indextables.storage import resolve
store = resolve("memory://bulk/t", Options()).open()
for number in range(3500):
    store.put(f"k{number:05}.split", b"x")
def work():
    time.sleep(0.5)
    print(sum(1 for _ in store.list("")))
threading.Thread(target=work).start()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3500\n", "")


def test_a_forked_child_does_not_wait_for_a_thread_that_it_does_not_have() -> None:
    forked = threading.Event()
    numbers = iter(range(9))

    def fetch() -> list[int] | None:
        number = next(numbers, None)
        if number == 1:
            assert forked.wait(60)
        return None if number is None else [number] * FULL

    pages = pages_ahead(fetch, FULL)
    assert next(pages) == [0] * FULL

    def child() -> str:
        with pytest.raises(RuntimeError, match="a listing cannot go on in a forked process"):
            list(pages)
        return "refused"

    assert in_child(child) == "refused"
    forked.set()
    assert len(list(pages)) == 8


def test_a_program_that_ends_in_the_middle_of_a_listing_ends() -> None:
    program = """
from indextables.storage.page_ahead import pages_ahead
pages = pages_ahead(lambda: [1, 2, 3], 3)
print(next(pages), next(pages))
raise SystemExit(7)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, "[1, 2, 3] [1, 2, 3]\n", "")
