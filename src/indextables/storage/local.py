"""Objects as files on a local disk, by plain system calls.

`durable.py` says how a file is written and `walk.py` how a tree is listed. A crash at any moment leaves an object whole or
absent, at worst with a temporary file beside it, which listings hide and `sweep` removes.

Symbolic links that the disk's owner put inside the root are followed by reads, writes and listings, except for a link to
one of its own ancestors. Deletes refuse to go through them: the same file may be reached, and needed, by another name.
"""

# ruff: noqa: PTH100, PTH102, PTH108, PTH112, PTH116, PTH120
# Paths are text here: Path objects would cost more than the system calls.

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence

from indextables.core.errors import InvalidKey, ObjectExists, ObjectNotFound, StorageError
from indextables.storage.durable import NotSynced, NotWritten, is_temporary, sync_directory, write_new, write_over
from indextables.storage.error_translation import Verb, translate
from indextables.storage.object_keys import check_key, check_prefix, check_range, joined
from indextables.storage.open_file import OpenFile
from indextables.storage.store import ObjectMeta, Store, StoredObject
from indextables.storage.walk import walk

_READ = os.O_RDONLY | os.O_CLOEXEC


class LocalStore:
    """The files under one directory, which the first write makes. Safe to use from many threads and after a fork."""

    def __init__(self, root_path: str | os.PathLike[str]) -> None:
        self._root = os.path.abspath(os.fspath(root_path))
        self._base = self._root if self._root.endswith("/") else self._root + "/"
        self._known_directories: set[str] = set()

    def __repr__(self) -> str:
        return f"LocalStore({self._root!r})"

    @property
    def root(self) -> str:
        """See `Store.root`."""
        return self._root

    def get(self, key: str) -> StoredObject:
        """See `Store.get`."""
        check_key(key, self._root)
        try:
            fd = os.open(self._base + key, _READ)
            try:
                meta = self._meta(key, os.fstat(fd))
                return StoredObject(_read(fd, 0, meta.size), meta)
            finally:
                os.close(fd)
        except OSError as error:
            raise self._read_error(error, key, "get") from error

    def get_range(self, key: str, start: int, end: int) -> bytes:
        """See `Store.get_range`."""
        return self.get_ranges(key, [(start, end)])[0]

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """See `Store.get_ranges`."""
        check_key(key, self._root)
        try:
            fd = os.open(self._base + key, _READ)
            try:
                size = self._meta(key, os.fstat(fd)).size
                for start, end in ranges:
                    check_range(self._root, key, start, end, size)
                return [_read(fd, start, end) for start, end in ranges]
            finally:
                os.close(fd)
        except OSError as error:
            raise self._read_error(error, key, "get") from error

    def open_file(self, key: str) -> OpenFile:
        """The file of an object, kept open for as long as somebody has it. Raises ObjectNotFound."""
        check_key(key, self._root)
        try:
            return OpenFile(self._base + key)
        except OSError as error:
            raise self._read_error(error, key, "get") from error

    def head(self, key: str) -> ObjectMeta:
        """See `Store.head`."""
        check_key(key, self._root)
        try:
            return self._meta(key, os.stat(self._base + key))
        except OSError as error:
            raise self._read_error(error, key, "head") from error

    def create(self, key: str, data: bytes) -> None:
        """See `Store.create`."""
        self._write(key, data, "create")

    def put(self, key: str, data: bytes) -> None:
        """See `Store.put`."""
        self._write(key, data, "put")

    def list(self, prefix: str, after: str | None = None) -> Iterator[ObjectMeta]:
        """See `Store.list`. Each directory is read when the listing reaches it, and only if its keys can match."""
        check_prefix(prefix, self._root)
        return self._list(prefix, after or "")

    def delete(self, keys: Sequence[str]) -> dict[str, StorageError]:
        """See `Store.delete`. Directories stay, also empty ones."""
        failed: dict[str, StorageError] = {}
        deleted: dict[str, list[str]] = {}
        behind_link: dict[str, bool] = {}
        for key in keys:
            try:
                check_key(key, self._root)
                directory = key.rpartition("/")[0]
                if directory not in behind_link:
                    behind_link[directory] = self.is_behind_link(directory)
                if behind_link[directory]:
                    where = joined(self._root, key)
                    raise InvalidKey(f"{where} is behind a symbolic link and not deleted", key=key, root=self._root)
                if self._unlink(key):
                    deleted.setdefault(directory, []).append(key)
            except (OSError, StorageError) as error:
                failed[key] = translate(error, self._root, key, "delete")
        for directory, names in deleted.items():
            try:
                sync_directory(self._base + directory)
            except OSError as error:
                failed |= {key: translate(error, self._root, key, "delete") for key in names}
        return failed

    def sweep(self, prefix: str, older_than_ms: int) -> int:
        """Remove the temporary files under `prefix` that were last written before `older_than_ms`.

        The moment is in milliseconds since 1970 by the file system's clock, as `ObjectMeta.last_modified_ms` is.
        Returns how many were removed. Only killed writers leave any, so this belongs into clean-up, not into commits.
        """
        stale = [found.key for found in self.temporaries(prefix) if found.last_modified_ms < older_than_ms]
        return len(stale) - len(self.delete(stale))

    def temporaries(self, prefix: str) -> Iterator[ObjectMeta]:
        """The temporary files under `prefix`, which listings hide: those of writers at work and those of killed writers."""
        check_prefix(prefix, self._root)
        for key, found in self._walk(prefix, "", True):
            if stat.S_ISREG(found.st_mode):
                yield self._meta(key, found)

    def _list(self, prefix: str, after: str) -> Iterator[ObjectMeta]:
        for key, found in self._walk(prefix, after, False):
            if stat.S_ISREG(found.st_mode):
                yield self._meta(key, found)

    def _walk(self, prefix: str, after: str, temporaries: bool) -> Iterator[tuple[str, os.stat_result]]:
        try:
            yield from walk(self._base, prefix, after, temporaries=temporaries)
        except OSError as error:
            raise translate(error, self._root, prefix, "list") from error

    def _write(self, key: str, data: bytes, verb: Verb) -> None:
        check_key(key, self._root)
        directory, _, name = (self._base + key).rpartition("/")
        if is_temporary(name):
            where = joined(self._root, key)
            raise InvalidKey(f"the name of {where} is kept for temporary files", key=key, root=self._root)
        write = write_over if verb == "put" else write_new
        try:
            self._ensure(directory)
            try:
                write(directory, name, data)
            except FileNotFoundError:
                self._known_directories.clear()
                self._ensure(directory)
                write(directory, name, data)
        except OSError as error:
            raise self._write_error(error, key, verb) from error

    def _write_error(self, error: OSError, key: str, verb: Verb) -> StorageError:
        path = self._base + key
        if os.path.isdir(path):
            return InvalidKey(f"{path} is a directory, so no object can have this key", key=key, root=self._root)
        if isinstance(error, NotSynced | NotWritten | FileNotFoundError):
            failure = translate(error, self._root, key, verb)
            failure.details["written"] = isinstance(error, NotSynced)
            return failure
        if isinstance(error, FileExistsError):
            return ObjectExists(f"object {path} exists already", key=key, root=self._root, verb=verb)
        return translate(error, self._root, key, verb)

    def _ensure(self, directory: str) -> None:
        """Make a directory and its parents, durably. Who made them before us may have died before the fsync."""
        if directory in self._known_directories:
            return
        parent = os.path.dirname(directory)
        inside = len(directory) > len(self._root)
        if inside or not os.path.isdir(parent):
            self._ensure(parent)
        made = False
        with contextlib.suppress(FileExistsError):
            os.mkdir(directory)
            made = True
        if inside or made:
            sync_directory(parent)
        self._known_directories.add(directory)

    def is_behind_link(self, directory: str) -> bool:
        """Whether a symbolic link lies between the root and the directory, so that nothing in it is ever deleted."""
        real = os.path.realpath(self._base + directory)
        return real != os.path.normpath(f"{os.path.realpath(self._root)}/{directory}")

    def _unlink(self, key: str) -> bool:
        path = self._base + key
        try:
            os.unlink(path)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return False
        except PermissionError:
            if os.path.isdir(path):
                return False
            raise
        return True

    def _read_error(self, error: OSError, key: str, verb: Verb) -> StorageError:
        """Our error for a failed read. An absent object is an answer that readers expect, and no failure of the disk."""
        if isinstance(error, FileNotFoundError):
            return self._absent(key)
        return translate(error, self._root, key, verb)

    def _absent(self, key: str) -> ObjectNotFound:
        return ObjectNotFound(f"there is no object {joined(self._root, key)}", key=key, root=self._root)

    def _meta(self, key: str, found: os.stat_result) -> ObjectMeta:
        if not stat.S_ISREG(found.st_mode):
            raise self._absent(key)
        etag = f"{found.st_ino:x}-{found.st_mtime_ns:x}-{found.st_size:x}"
        return ObjectMeta(key, found.st_size, _modified_ms(found), etag)


def sweep(store: Store, prefix: str, older_than_ms: int) -> int:
    """Sweep the local store below any wrappers, see `LocalStore.sweep`; other stores leave nothing behind (0)."""
    inner = local_store(store)
    return 0 if inner is None else inner.sweep(prefix, older_than_ms)


def list_temporaries(store: Store, prefix: str) -> Iterator[ObjectMeta]:
    """The temporary files of the local store below any wrappers; other stores leave none behind."""
    inner = local_store(store)
    return iter(()) if inner is None else inner.temporaries(prefix)


def local_store(store: Store) -> LocalStore | None:
    """The local store below any wrappers, where there is one."""
    inner: object = store
    while inner is not None and not isinstance(inner, LocalStore):
        inner = getattr(inner, "inner", None)
    return inner


def _modified_ms(found: os.stat_result) -> int:
    return found.st_mtime_ns // 1_000_000


def _read(fd: int, start: int, end: int) -> bytes:
    data = os.pread(fd, end - start, start)
    if len(data) == end - start:
        return data
    parts = [data]
    position = start + len(data)
    while data and position < end:
        data = os.pread(fd, end - position, position)
        parts.append(data)
        position += len(data)
    return b"".join(parts)
