"""What only the stores behind obstore do: lost answers, statuses, listings out of order, deletes that fail in part."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import obstore
import pytest
from obstore.store import MemoryStore

from indextables.core.errors import (
    AccessDenied,
    InvalidKey,
    ObjectExists,
    ObjectNotFound,
    StorageError,
    StoreMisconfigured,
    StoreUnavailable,
)
from indextables.core.options import Options
from indextables.storage.remote import ObstoreStore
from indextables.storage.resolve import resolve
from indextables.storage.store import Store
from storage.fault_proxy import FaultProxy, Rule, fault_proxy
from storage.helpers import BUCKET, FakeClock, s3_options

ObstoreDoes = Callable[[str, Callable[..., Any]], None]


@pytest.fixture
def obstore_does(monkeypatch: pytest.MonkeyPatch) -> ObstoreDoes:
    """`obstore_does("list", answer)`: a client that answers in another way, as another store would."""

    def answer(name: str, function: Callable[..., Any]) -> None:
        monkeypatch.setattr(obstore, name, function)

    return answer


@pytest.fixture
def proxy(s3_server: tuple[str, int]) -> Iterator[FaultProxy]:
    with fault_proxy(s3_server) as proxy:
        yield proxy


@pytest.fixture
def store(proxy: FaultProxy, request: pytest.FixtureRequest) -> Store:
    """S3 behind a proxy, bare."""
    options = s3_options("127.0.0.1", proxy.server_address[1])
    return resolve(f"s3://{BUCKET}/{request.node.name}", options).open(retrying=False)


def error_body(code: str) -> str:
    return f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>planned</Message></Error>'


@pytest.mark.parametrize("action", ["fin", "rst"])
def test_a_create_whose_answer_is_lost_is_unknown_and_not_repeated(
    store: Store, proxy: FaultProxy, action: str
) -> None:
    proxy.rules = [Rule("PUT", action)]
    with pytest.raises(StoreUnavailable) as caught:
        store.create("log/1", b"mine")
    assert caught.value.retryable
    assert proxy.log == [("PUT", action, b"HTTP/1.1 200 OK")]
    assert store.get("log/1").data == b"mine"


@pytest.mark.parametrize("status", ["409 Conflict", "412 Precondition Failed"])
def test_a_refused_create_may_have_met_nothing(store: Store, proxy: FaultProxy, status: str) -> None:
    proxy.rules = [Rule("PUT", "answer", status, error_body("ConditionalRequestConflict"))]
    with pytest.raises(ObjectExists):
        store.create("log/1", b"mine")
    with pytest.raises(ObjectNotFound):
        store.get("log/1")


def test_retrying_repeats_all_but_creates(proxy: FaultProxy, clock: FakeClock) -> None:
    options = s3_options("127.0.0.1", proxy.server_address[1])
    store = resolve(f"s3://{BUCKET}/retried", options).open(clock)
    slow = Rule("*", "answer", "503 Slow Down", error_body("SlowDown"))
    proxy.rules = [slow, Rule("*", "fin"), Rule("*", "rst")]
    store.put("a", b"1")
    assert len(clock.slept) == 3
    for ask in (
        lambda: store.get("a"),
        lambda: store.head("a"),
        lambda: store.get_range("a", 0, 1),
        lambda: list(store.list("")),
        lambda: store.delete(["a"]),
    ):
        proxy.rules = [slow, slow]
        ask()
        assert proxy.rules == []
    proxy.rules = [slow]
    with pytest.raises(StoreUnavailable):
        store.create("a", b"1")
    proxy.log.clear()
    store.create("a", b"1")
    assert len(proxy.log) == 1


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        ("403 Forbidden", "AccessDenied", AccessDenied),
        ("403 Forbidden", "", AccessDenied),
        ("401 Unauthorized", "", AccessDenied),
        ("404 Not Found", "NoSuchBucket", StoreMisconfigured),
        ("301 Moved", "PermanentRedirect", StoreMisconfigured),
        ("501 Not Implemented", "NotImplemented", StoreMisconfigured),
        ("500 Internal Server Error", "InternalError", StoreUnavailable),
        ("503 Service Unavailable", "SlowDown", StoreUnavailable),
        ("429 Too Many Requests", "", StoreUnavailable),
        ("400 Bad Request", "InvalidArgument", StorageError),
    ],
)
def test_statuses(store: Store, proxy: FaultProxy, status: str, code: str, expected: type[StorageError]) -> None:
    for ask in (
        lambda: store.get("k"),
        lambda: store.get_range("k", 0, 1),
        lambda: list(store.list("")),
        lambda: store.create("k", b""),
        lambda: store.put("k", b""),
    ):
        proxy.rules = [Rule("*", "answer", status, error_body(code) if code else "")]
        with pytest.raises(StorageError) as caught:
            ask()
        assert type(caught.value) is expected
    proxy.rules = [Rule("*", "answer", status, error_body(code) if code else "")]
    assert type(store.delete(["k"])["k"]) is expected


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    store = resolve("s3://b/t", s3_options("127.0.0.1", port)).open(retrying=False)
    for ask in (lambda: store.get("a"), lambda: store.create("a", b""), lambda: list(store.list(""))):
        with pytest.raises(StoreUnavailable):
            ask()


def test_a_server_that_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        options = s3_options("127.0.0.1", server.getsockname()[1]).merged({"storage.timeoutSeconds": "0.2"})
        store = resolve("s3://b/t", options).open(retrying=False)
        with pytest.raises(StoreUnavailable, match="get of s3://b/t/a got no answer"):
            store.get("a")


@pytest.mark.parametrize("key", ["splits//x.split", "a//", "./x"])
def test_a_name_that_no_listing_can_hold(s3_server: tuple[str, int], key: str) -> None:
    host, port = s3_server
    root = f"odd-{len(key)}"
    store = resolve(f"s3://{BUCKET}/{root}", s3_options(host, port)).open(retrying=False)
    store.put("fine", b"1")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    address = f"http://{host}:{port}/{BUCKET}/{root}/{key}"
    opener.open(urllib.request.Request(address, method="PUT", data=b"x"), timeout=10).close()
    assert store.get("fine").data == b"1"
    with pytest.raises(InvalidKey, match="whose name no table can hold: delete or rename it") as met:
        list(store.list(""))
    assert met.value.details["key"] == f"{root}/{key}"


def test_a_bucket_that_is_not_there(s3_server: tuple[str, int]) -> None:
    store = resolve("s3://nobody-made-this/t", s3_options(*s3_server)).open(retrying=False)
    for ask in (lambda: store.get("a"), lambda: store.create("a", b""), lambda: list(store.list(""))):
        with pytest.raises(StoreMisconfigured):
            ask()


def test_a_listing_makes_one_request_until_it_is_read_on(store: Store, proxy: FaultProxy) -> None:
    for key in ("log/0", "log/1", "log/x", "z"):
        store.put(key, b"")
    proxy.log.clear()
    assert [meta.key for meta in store.list("log/0")] == ["log/0"]
    assert [meta.key for meta in store.list("log/", "log/0")] == ["log/1", "log/x"]
    assert len(proxy.log) == 2


def test_a_delete_that_fails_in_part(store: Store, proxy: FaultProxy) -> None:
    """Which key failed is found by halving; the others are deleted."""

    def answer(*parts: str) -> Rule:
        return Rule("POST", "answer", "200 OK", f"<DeleteResult>{''.join(parts)}</DeleteResult>")

    root = store.root.removeprefix(f"s3://{BUCKET}/")
    done = {key: f"<Deleted><Key>{root}/{key}</Key></Deleted>" for key in "abcd"}
    denied = f"<Error><Key>{root}/c</Key><Code>AccessDenied</Code><Message>locked</Message></Error>"
    proxy.rules = [
        answer(done["a"], done["b"], denied, done["d"]),
        answer(done["a"], done["b"]),
        answer(denied, done["d"]),
        answer(denied),
        answer(done["d"]),
    ]
    failed = store.delete(["a", "b", "c", "d"])
    assert {key: type(error) for key, error in failed.items()} == {"c": AccessDenied}
    assert proxy.rules == []


def memory_store(**settings: Any) -> ObstoreStore:
    return ObstoreStore(MemoryStore(), "memory://test/t", "t", **settings)


def test_absent_keys_are_no_failure_where_the_service_says_so(obstore_does: ObstoreDoes) -> None:
    store = memory_store()
    for key in ("a", "b", "c"):
        store.create(key, b"")
    real = obstore.delete

    def as_azure_does(client: MemoryStore, paths: list[str]) -> None:
        for path in paths:
            obstore.head(client, path)
            real(client, path)

    obstore_does("delete", as_azure_does)
    assert store.delete(["a", "x", "b", "y", "c"]) == {}
    assert list(store.list("")) == []


def test_a_delete_without_an_answer_fails_for_every_key(obstore_does: ObstoreDoes) -> None:
    calls = []

    def silent(_: MemoryStore, paths: list[str]) -> None:
        calls.append(paths)
        raise obstore.exceptions.GenericError("HTTP error: operation timed out")

    obstore_does("delete", silent)
    failed = memory_store().delete(["a", "b", "c"])
    assert {key: type(error) for key, error in failed.items()} == dict.fromkeys("abc", StoreUnavailable)
    assert len(calls) == 1


@pytest.mark.parametrize("honours_offset", [True, False])
def test_listings_in_the_order_of_path_segments(obstore_does: ObstoreDoes, honours_offset: bool) -> None:
    """As Azure with a hierarchical namespace answers: its offset, where it knows one, is in that order and inclusive."""
    store = memory_store(azure=True)
    keys = ["a-b", "a.b", "a/b", "a/b-c/x", "a/b/c", "a0", "log/0", "log/1", "log/x/y", "n-a/y", "n/x", "z/1"]
    for key in keys:
        store.create(key, b"")
    real = obstore.list
    taken = []

    def as_azure_does(client: MemoryStore, prefix: str, offset: str | None, **_: object) -> Iterator[list[Any]]:
        for item in sorted(real(client, prefix).collect(), key=lambda item: item["path"].split("/")):
            if not honours_offset or item["path"].split("/") >= (offset or "").split("/"):
                taken.append(item["path"])
                yield [item]

    obstore_does("list", as_azure_does)
    for prefix in ("", "a", "a/b", "a/b-", "log/", "n-a", "n/", "z", "nothing"):
        for after in ("", *keys, "a", "a/", "a/b-c", "n-", "zz"):
            expected = sorted(key for key in keys if key.startswith(prefix) and key > after)
            assert [meta.key for meta in store.list(prefix, after)] == expected, (prefix, after)
    taken.clear()
    assert [meta.key for meta in store.list("log/0")] == ["log/0"]
    assert taken == ["t/log/0", "t/log/1"]


def test_a_listing_that_can_find_nothing_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(obstore, "list")
    assert list(memory_store().list("log/", "splits/x")) == []


def test_a_backslash_is_no_key_on_azure() -> None:
    store = memory_store(azure=True)
    with pytest.raises(InvalidKey, match="backslash"):
        store.create("a\\b", b"")
    assert type(store.delete(["a\\b"])["a\\b"]) is InvalidKey


def test_a_panic_is_an_error(obstore_does: ObstoreDoes) -> None:
    panic = type("PanicException", (BaseException,), {})

    def fail(*_: object, **__: object) -> None:
        raise panic("called unwrap on None")

    store = memory_store()
    for name in ("get", "list", "delete"):
        obstore_does(name, fail)
    with pytest.raises(StorageError, match="panic"):
        store.get("a")
    with pytest.raises(StorageError, match="panic"):
        list(store.list(""))
    assert type(store.delete(["a"])["a"]) is StorageError


def test_an_interrupt_is_not_an_error_of_the_store(obstore_does: ObstoreDoes) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    obstore_does("get", interrupt)
    with pytest.raises(KeyboardInterrupt):
        memory_store().get("a")


@pytest.mark.parametrize(("used", "expected"), [(True, "StoreMisconfigured"), (False, "ObjectNotFound")])
def test_a_forked_child_is_told_instead_of_hanging(used: bool, expected: str) -> None:
    script = (
        "import os, sys; from indextables.core.errors import StorageError\n"
        "from indextables.core.options import Options; from indextables.storage import resolve\n"
        "store = resolve('memory://x/y', Options()).open()\n"
        f"if {used}: store.put('a', b'')\n"
        "if os.fork() == 0:\n"
        "    try: store.get('b')\n"
        "    except StorageError as error: print(type(error).__name__, flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, timeout=60, capture_output=True, text=True)
    assert done.stdout.strip() == expected


def test_options_replace_the_credentials_of_the_environment(proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "from-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "from-environment")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "from-environment")
    seen = []
    forward = FaultProxy.take

    def take(self: FaultProxy, method: str) -> Rule | None:
        seen.append(self.last_request)
        return forward(self, method)

    monkeypatch.setattr(FaultProxy, "take", take)
    endpoint = {"aws.endpoint": proxy.url, "aws.allowHttp": True}
    resolve(f"s3://{BUCKET}/env", Options(endpoint)).open().put("a", b"")
    keys = {"aws.accessKey": "from-options", "aws.secretKey": "from-options"}
    resolve(f"s3://{BUCKET}/env", Options(endpoint | keys)).open().put("a", b"")
    environment, options = seen
    assert b"Credential=from-environment/" in environment
    assert b"x-amz-security-token: from-environment" in environment
    assert b"Credential=from-options/" in options
    assert b"security-token" not in options
