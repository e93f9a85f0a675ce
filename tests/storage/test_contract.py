"""What every store does, the same way on every backend."""

from __future__ import annotations

import concurrent.futures
import itertools
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from indextables.core.errors import InvalidKey, ObjectExists, ObjectNotFound, StorageError
from indextables.storage.resolve import StoreSpec
from indextables.storage.store import Store
from storage.helpers import MakeSpec

STRANGE = [
    "a b",
    "a%20b",
    "a%2Fb",
    "100%",
    "a#b",
    "a?b=c&d",
    "a+b",
    "a~b",
    "a=b/c=d/x",
    "a:b",
    "a*b",
    "a'b\"c",
    "a\\b",
    "[a]{b}^`|<c>",
    "ä/日本/𝄞.json",
    ".hidden/..x/...",
    "ts=2024-01-01 10%3A00%3A00/splits/s.split",
    "__HIVE_DEFAULT_PARTITION__=%7E/x",
]

BAD = ["", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "./a", "a/.", "nul\0", "lone\ud800"]


def keys(found: Iterator[Any]) -> list[str]:
    return [meta.key for meta in found]


def test_what_was_created_is_read(store: Store) -> None:
    before = time.time() * 1000
    store.create("dir/a", b"hello")
    found = store.get("dir/a")
    assert found.data == b"hello"
    assert (found.meta.key, found.meta.size) == ("dir/a", 5)
    assert before - 2000 < found.meta.last_modified_ms < time.time() * 1000 + 2000
    assert found.meta.etag
    assert '"' not in found.meta.etag
    assert store.head("dir/a") == found.meta


@pytest.mark.parametrize("size", [0, 1, 100_000, 7_000_000])
def test_objects_of_any_size(store: Store, size: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    store.create("created", data)
    store.put("put", data)
    assert store.get("created").data == data
    assert store.get("put").data == data
    assert store.head("put").size == size


def test_create_does_not_replace(store: Store) -> None:
    store.create("a", b"1")
    with pytest.raises(ObjectExists) as caught:
        store.create("a", b"2")
    assert caught.value.key == "a"
    assert store.get("a").data == b"1"


def test_put_replaces_and_the_etag_changes(store: Store) -> None:
    store.put("a", b"1")
    first = store.head("a").etag
    store.put("a", b"2")
    assert store.get("a").data == b"2"
    assert store.head("a").etag != first


def test_create_after_delete_is_allowed(store: Store) -> None:
    store.create("a", b"1")
    first = store.head("a").etag
    assert store.delete(["a"]) == {}
    store.create("a", b"2")
    assert store.get("a").data == b"2"
    assert store.head("a").etag != first


def test_absent_objects(store: Store) -> None:
    store.create("dir/a", b"1")
    asks: list[Callable[[str], object]] = [
        store.get,
        store.head,
        lambda key: store.get_range(key, 0, 1),
        lambda key: store.get_ranges(key, [(0, 1), (3, 4)]),
    ]
    for ask, key in itertools.product(asks, ["dir", "dir/b", "dir/a/b", "other"]):
        with pytest.raises(ObjectNotFound) as caught:
            ask(key)
        assert caught.value.key == key


def test_ranges(store: Store) -> None:
    store.create("a", bytes(range(100)))
    assert store.get_range("a", 0, 100) == bytes(range(100))
    assert store.get_range("a", 10, 12) == bytes([10, 11])
    assert store.get_range("a", 99, 100) == bytes([99])
    assert store.get_ranges("a", [(90, 100), (0, 1), (5, 5), (0, 2)]) == [
        bytes(range(90, 100)),
        b"\0",
        b"",
        b"\0\1",
    ]
    assert store.get_ranges("a", []) == []


@pytest.mark.parametrize(("start", "end"), [(0, 101), (99, 200), (100, 101), (500, 600), (5, 4), (-1, 3)])
def test_a_range_that_leaves_the_object_is_an_error(store: Store, start: int, end: int) -> None:
    store.create("a", bytes(100))
    with pytest.raises(StorageError) as caught:
        store.get_range("a", start, end)
    assert not isinstance(caught.value, ObjectNotFound)
    with pytest.raises(StorageError):
        store.get_ranges("a", [(0, 1), (start, end)])


def test_strange_keys_are_literal(store: Store) -> None:
    for key in STRANGE:
        store.create(key, key.encode())
    for key in STRANGE:
        found = store.get(key)
        assert (found.data, found.meta.key) == (key.encode(), key)
        with pytest.raises(ObjectExists):
            store.create(key, b"")
    assert keys(store.list("")) == sorted(STRANGE, key=str.encode)
    for key in STRANGE:
        assert key in keys(store.list(key))
        assert key not in keys(store.list("", after=key))
    assert store.delete(STRANGE) == {}
    assert keys(store.list("")) == []


@pytest.mark.parametrize("key", BAD)
def test_bad_keys_are_refused(store: Store, key: str) -> None:
    asks: list[Callable[[], object]] = [
        lambda: store.get(key),
        lambda: store.head(key),
        lambda: store.get_range(key, 0, 1),
        lambda: store.create(key, b""),
        lambda: store.put(key, b""),
    ]
    for ask in asks:
        with pytest.raises(InvalidKey):
            ask()
    assert isinstance(store.delete([key])[key], InvalidKey)


@pytest.mark.parametrize("prefix", ["/a", "../", "a/../b", "a//", "x\0"])
def test_bad_prefixes_are_refused(store: Store, prefix: str) -> None:
    with pytest.raises(InvalidKey):
        list(store.list(prefix))


LISTED = [
    "_transaction_log/00000000000000000000.json",
    "_transaction_log/00000000000000000001.json",
    "_transaction_log/00000000000000000002.checkpoint.json",
    "_transaction_log/00000000000000000002.json",
    "_transaction_log/00000000000000000010.json",
    "_transaction_log/_last_checkpoint",
    "_transaction_log/manifests/manifest-a.avro",
    "_transaction_log/state-v00000000000000000001/_manifest.avro",
    "_transaction_log/state-v00000000000000000010/_manifest.avro",
    "a-b",
    "a.b",
    "a/b",
    "a/b.c/d",
    "a/b0",
    "a0",
    "é/x",
    "splits/split-1.split",
    "z",
    "𝄞",
]


PREFIXES = [
    "",
    "_transaction_log/",
    "_transaction_log/0",
    "_transaction_log/00000000000000000002",
    "_transaction_log/00000000000000000002.json",
    "_transaction_log/state-v",
    "_transaction_log/s",
    "_",
    "a",
    "a/",
    "a/b",
    "a/b.",
    "a/b.c/",
    "a.b",
    "é",
    "é/x",
    "𝄞",
    "s",
    "nothing",
    "nothing/at/all",
    "a/b/c",
    "splits/split-1.split/",
    "!",
    " ",
]

OFFSETS = [*LISTED[::4], "_transaction_log/00000000000000000001", "a/", "a/b/", "\U0010ffff", "..", "x\n", "/"]


@pytest.fixture
def listed(store: Store) -> Store:
    for key in LISTED:
        store.put(key, b"x")
    return store


def test_listings_match_a_naive_one(listed: Store) -> None:
    for prefix in PREFIXES:
        naive = sorted((key for key in LISTED if key.startswith(prefix)), key=str.encode)
        assert keys(listed.list(prefix)) == naive, prefix
        for after in OFFSETS if len(prefix) < 2 else [prefix, *naive[:1]]:
            assert keys(listed.list(prefix, after)) == [key for key in naive if key > after], (prefix, after)


def test_listing_knows_what_head_knows(listed: Store) -> None:
    for meta in listed.list("a"):
        head = listed.head(meta.key)
        assert (meta.key, meta.size, meta.etag) == (head.key, head.size, head.etag)
        assert abs(meta.last_modified_ms - head.last_modified_ms) < 1000


def test_a_listing_may_be_left(listed: Store) -> None:
    listing = listed.list("_transaction_log/")
    assert next(listing).key == LISTED[0]
    listing.close()  # type: ignore[attr-defined]
    assert keys(itertools.islice(listed.list("", "a"), 2)) == ["a-b", "a.b"]


def test_listing_nothing(store: Store) -> None:
    assert keys(store.list("")) == []
    assert keys(store.list("a/b", "a/c")) == []


def test_listing_and_deleting_more_than_a_page(spec: StoreSpec) -> None:
    store = spec.open(retrying=False)
    names = [f"p/{number:05d}" for number in range(1203)]
    fill(spec, names)
    assert keys(store.list("p/")) == names
    assert keys(store.list("p/0", names[7])) == names[8:]
    assert store.delete([*names, "p/absent"]) == {}
    assert keys(store.list("")) == []


def fill(spec: StoreSpec, names: list[str]) -> None:
    """Empty objects, by the shortest way: one by one through HTTP would take most of the suite's time."""
    if spec.scheme == "file":
        for name in names:
            path = Path(spec.url) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    elif spec.scheme == "s3":
        from moto.backends import get_backend
        from moto.core import DEFAULT_ACCOUNT_ID

        backend = get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"]
        for name in names:
            backend.put_object(spec.location.bucket, f"{spec.location.path}/{name}", b"")
    else:
        store = spec.open()
        for name in names:
            store.put(name, b"")


def test_delete(store: Store) -> None:
    for key in ("a", "b/c", "b/d"):
        store.create(key, b"")
    assert store.delete([]) == {}
    assert store.delete(["a", "a", "b/c", "absent", "b", "b/c/x", "no/where"]) == {}
    assert keys(store.list("")) == ["b/d"]


def test_delete_reports_what_failed_and_deletes_the_rest(store: Store) -> None:
    store.create("a", b"")
    assert {key: type(error) for key, error in store.delete(["../x", "a"]).items()} == {"../x": InvalidKey}
    assert keys(store.list("")) == []


def test_neighbours_are_not_seen(make_spec: MakeSpec) -> None:
    one, two = make_spec("t").open(), make_spec("t2").open()
    one.create("a", b"1")
    two.create("a", b"2")
    assert keys(one.list("")) == ["a"]
    assert one.delete(["a"]) == {}
    assert two.get("a").data == b"2"


def test_two_opens_see_the_same_objects_and_recipes_pickle(spec: StoreSpec) -> None:
    spec.open().create("a", b"1")
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec
    assert hash(again) == hash(spec)
    store = again.open()
    assert store.get("a").data == b"1"
    assert store.root == spec.url
    assert not store.root.endswith("/")


def test_errors_survive_pickling(store: Store) -> None:
    with pytest.raises(ObjectNotFound) as caught:
        store.get("absent")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.key) == (ObjectNotFound, str(caught.value), "absent")
    assert store.root in str(again)


@pytest.mark.parametrize("make_spec", ["local", "memory"], indirect=True)
def test_one_winner_for_every_key(spec: StoreSpec) -> None:
    """Not on moto, which looks and then stores, with nothing in between: it would be a test of chance."""
    threads, rounds = 16, 25
    barrier = threading.Barrier(threads)
    stores = [spec.open() for _ in range(threads)]
    won: list[list[int]] = [[] for _ in range(rounds)]

    def race(number: int) -> None:
        for key in range(rounds):
            barrier.wait()
            try:
                stores[number].create(f"log/{key}", f"{number}".encode() * 50)
            except ObjectExists:
                continue
            won[key].append(number)

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(race, range(threads)))
    assert [len(winners) for winners in won] == [1] * rounds
    for key, (winner,) in enumerate(won):
        assert stores[0].get(f"log/{key}").data == f"{winner}".encode() * 50
    assert len(keys(stores[0].list("log/"))) == rounds
