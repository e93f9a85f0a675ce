"""Objects in S3, Azure, GCS or memory, through obstore.

obstore's own retries are off wherever a store is opened (`resolve.py`): with them, a create whose answer was lost would be
repeated, meet its own first try and report somebody else's object. Reads are repeated by `Retrying` instead.

What differs between the services is levelled out here. obstore takes a prefix as whole path segments, so a listing whose
prefix ends inside a name starts just before it and stops once the names have passed. Azure with a hierarchical namespace
sorts by path segment, so its listings are sorted again; it also calls the deletion of an absent object an error, and takes
a backslash for a slash, so keys with one are refused there.

obstore's runtime does not survive `fork`: a request in the child would hang. It is refused instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import obstore

from indextables.core.errors import InvalidKey, ObjectNotFound, StorageError, StoreMisconfigured, StoreUnavailable
from indextables.core.runtime.process_state import NativeRuntime
from indextables.storage.error_translation import Verb, translate
from indextables.storage.object_keys import check_key, check_prefix, check_range, joined
from indextables.storage.page_ahead import pages_ahead
from indextables.storage.store import ObjectMeta, StoredObject

if TYPE_CHECKING:
    from obstore import ObjectMeta as ObstoreMeta
    from obstore.store import ObjectStore

T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_BELOW_SLASH = re.compile(r"[\x00-.]")
"""Characters that sort before the slash. Up to the first of them, the order of bytes and that of segments agree."""

_PAGE = 1000
"""Keys that S3 and GCS return, and S3 deletes, in one request."""


class ObstoreStore:
    """The objects of an obstore store whose path begins with `prefix` (no slash at either end). Safe for many threads."""

    def __init__(self, store: ObjectStore, root: str, prefix: str = "", *, azure: bool = False) -> None:
        self._store = store
        self._root = root
        self._base = f"{prefix}/" if prefix else ""
        self._azure = azure

    def __repr__(self) -> str:
        return f"ObstoreStore({self._root!r})"

    @property
    def root(self) -> str:
        """See `Store.root`."""
        return self._root

    def get(self, key: str) -> StoredObject:
        """See `Store.get`."""

        def get(path: str) -> StoredObject:
            result = obstore.get(self._store, path)
            return StoredObject(result.bytes().to_bytes(), self._meta(result.meta))

        return self._call("get", key, get)

    def get_range(self, key: str, start: int, end: int) -> bytes:
        """See `Store.get_range`."""
        return self.get_ranges(key, [(start, end)])[0]

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """See `Store.get_ranges`. Neighbouring ranges are fetched by one request. Empty ranges ask for nothing."""
        for start, end in ranges:
            check_range(self._root, key, start, end)
        asked = [(start, end) for start, end in ranges if start < end]

        def get(path: str) -> list[bytes]:
            if len(asked) == 1:
                return [obstore.get_range(self._store, path, start=asked[0][0], end=asked[0][1]).to_bytes()]
            starts, ends = [start for start, _ in asked], [end for _, end in asked]
            return [part.to_bytes() for part in obstore.get_ranges(self._store, path, starts=starts, ends=ends)]

        parts = self._call("get", key, get) if asked else []
        for (start, end), part in zip(asked, parts, strict=True):
            if len(part) < end - start:
                check_range(self._root, key, start, end, size=start + len(part))
        found = iter(parts)
        return [next(found) if start < end else b"" for start, end in ranges]

    def head(self, key: str) -> ObjectMeta:
        """See `Store.head`."""
        return self._call("head", key, lambda path: self._meta(obstore.head(self._store, path)))

    def create(self, key: str, data: bytes) -> None:
        """See `Store.create`. One plain request, whatever the size."""
        self._call("create", key, lambda path: obstore.put(self._store, path, data, mode="create", use_multipart=False))

    def put(self, key: str, data: bytes) -> None:
        """See `Store.put`."""
        self._call("put", key, lambda path: obstore.put(self._store, path, data))

    def list(self, prefix: str, after: str | None = None) -> Iterator[ObjectMeta]:
        """See `Store.list`. One request for every thousand keys, made when the listing reaches them."""
        check_prefix(prefix, self._root)
        found = self._list(prefix, after or "")
        return _resorted(found) if self._azure else found

    def delete(self, keys: Sequence[str]) -> dict[str, StorageError]:
        """See `Store.delete`. One request for every thousand keys, and more where some of them fail."""
        failed: dict[str, StorageError] = {}
        valid = []
        for key in dict.fromkeys(keys):
            try:
                self._check(key)
                valid.append(key)
            except StorageError as error:
                failed[key] = error
        for start in range(0, len(valid), _PAGE):
            self._delete(valid[start : start + _PAGE], failed)
        return failed

    def _delete(self, keys: Sequence[str], failed: dict[str, StorageError]) -> None:
        """Delete; if that fails, halve to find out which keys are to blame. No answer at all blames every key."""
        try:
            with self._translated("delete", keys[0] if len(keys) == 1 else ""):
                obstore.delete(self._store, [self._base + key for key in keys])
        except StorageError as error:
            if isinstance(error, StoreUnavailable):
                failed |= dict.fromkeys(keys, error)
            elif len(keys) == 1:
                if not isinstance(error, ObjectNotFound):
                    failed[keys[0]] = error
            else:
                middle = len(keys) // 2
                self._delete(keys[:middle], failed)
                self._delete(keys[middle:], failed)

    def _list(self, prefix: str, after: str) -> Iterator[ObjectMeta]:
        if after > prefix and not after.startswith(prefix):
            return
        wanted = self._base + prefix
        directory = wanted[: wanted.rfind("/") + 1]
        with self._translated("list", prefix):
            pages = obstore.list(
                self._store,
                directory.rstrip("/") or None,
                offset=self._offset(wanted, directory, self._base + after if after > prefix else "") or None,
                chunk_size=_PAGE,
            )
            for page in pages_ahead(partial(next, iter(pages), None), _PAGE):
                for item in page:
                    if item["path"].startswith(wanted):
                        meta = self._meta(item)
                        if meta.key > after:
                            yield meta
                    elif _has_passed(item["path"], wanted):
                        return

    def _offset(self, wanted: str, directory: str, after: str) -> str:
        """Where to begin: before the first key that is wanted, in whichever order the service sorts."""
        name = after[len(directory) :]
        if self._azure:
            name = _BELOW_SLASH.split(name, maxsplit=1)[0]
        return max(_just_before(wanted), _valid_offset(directory + name) if after else "")

    def _call(self, verb: Verb, key: str, call: Callable[[str], T]) -> T:
        self._check(key)
        with self._translated(verb, key):
            return call(self._base + key)

    def _check(self, key: str) -> None:
        check_key(key, self._root)
        if self._azure and "\\" in key:
            raise InvalidKey(f"{key!r} has a backslash, which Azure would take for a slash", key=key, root=self._root)

    @contextmanager
    def _translated(self, verb: Verb, key: str) -> Iterator[None]:
        """Around everything that enters obstore: no error of its own comes out, and no panic (a BaseException)."""
        _refuse_after_fork()
        try:
            yield
        except Exception as error:
            raise translate(error, self._root, key, verb) from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            where = joined(self._root, key)
            raise StorageError(f"{verb} of {where} ended in a panic: {error}", key=key, root=self._root) from error

    def _meta(self, meta: ObstoreMeta) -> ObjectMeta:
        etag = meta["e_tag"]
        return ObjectMeta(
            meta["path"][len(self._base) :],
            meta["size"],
            (meta["last_modified"] - _EPOCH) // _MILLISECOND,
            etag if etag is None else etag.strip('"'),
        )


def _resorted(found: Iterator[ObjectMeta]) -> Iterator[ObjectMeta]:
    yield from sorted(found, key=_key)


def _key(meta: ObjectMeta) -> str:
    return meta.key


def _just_before(prefix: str) -> str:
    """An offset that sorts before every key with this prefix, and after as many others as can be had simply."""
    directory, _, name = prefix.rpartition("/")
    if not name:
        return ""
    before = ord(name[-1]) - 1
    if chr(before) == "/":
        before -= 1
    if not 0x21 <= before < 0x7F:
        return _valid_offset(prefix[:-1])
    return f"{directory}/{name[:-1]}{chr(before)}~".removeprefix("/")


def _valid_offset(text: str) -> str:
    """The longest beginning of `text` that obstore takes as a path. Beginnings sort before the whole: nothing is missed."""
    parts = []
    for part in text.split("/"):
        if part in ("", ".", "..") or not part.isprintable():
            break
        parts.append(part)
    return "/".join(parts)


def _has_passed(path: str, prefix: str) -> bool:
    """Whether no key with this prefix can follow, in the order of path segments.

    Among the keys of the prefix's own directory, what has passed in that order has passed in the order of bytes too.
    """
    return path.split("/") > prefix.split("/")


_RUNTIME: Final = NativeRuntime()
"""The threads of obstore."""


def _refuse_after_fork() -> None:
    if not _RUNTIME.usable:
        raise StoreMisconfigured(
            "this process was forked from one that used an object store, whose connections do not survive that: "
            "start processes with 'spawn' or 'forkserver'"
        )
    _RUNTIME.use()
