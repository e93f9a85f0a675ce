"""What a key may look like, the same on every backend.

A key is relative, `/`-separated and literal: a percent sign is a percent sign. What is refused here is what one backend or
another would silently change (`a//b`, `./a`, a trailing slash), or what would leave the root (`..`, an absolute path).
"""

from __future__ import annotations

import functools

from indextables.core.errors import InvalidKey, StorageError
from indextables.storage.location import is_absolute, parse_url, relative_to

_BAD_COMPONENTS = frozenset({"", ".", ".."})


def check_key(key: str, root: str) -> None:
    """Raise InvalidKey unless `key` can name one object under `root`."""
    if not _BAD_COMPONENTS.isdisjoint(key.split("/")):
        raise InvalidKey(
            f"{key!r} is not a key under {root}: a key is relative and has no empty, '.' or '..' component",
            key=key,
            root=root,
        )
    _check_text(key, root)


def check_prefix(prefix: str, root: str) -> None:
    """Raise InvalidKey unless `prefix` can begin the keys of a listing; what follows its last slash is any text."""
    directory, slash, _ = prefix.rpartition("/")
    if slash:
        check_key(directory, root)
    _check_text(prefix, root)


def _check_text(text: str, root: str) -> None:
    if not _is_text(text):
        raise InvalidKey(f"{text!r} is not a key under {root}: it has a NUL or a lone surrogate", key=text, root=root)


_location = functools.lru_cache(maxsize=64)(parse_url)


def _is_text(text: str) -> bool:
    return "\0" not in text and (text.isascii() or is_unicode(text))


def is_unicode(text: str) -> bool:
    """Whether the text has UTF-8 bytes, that is, no lone surrogates (as names of files that are not UTF-8 have)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def joined(root: str, key: str) -> str:
    """The key's full address, for messages."""
    if not key:
        return root
    return f"{root}{key}" if root.endswith("/") else f"{root}/{key}"


def check_range(root: str, key: str, start: int, end: int, size: int | None = None) -> None:
    """Raise StorageError unless the range is one, and lies inside an object of `size` bytes where that is known."""
    if 0 <= start <= end and (size is None or end <= size):
        return
    length = "" if size is None else f", which has {size} bytes"
    raise StorageError(
        f"bytes {start} to {end} are no range of {joined(root, key)}{length}", key=key, root=root, start=start, end=end
    )


def inside_root(root: str, path: str) -> str | None:
    """The key of a data path in the log, or None if it is not a data path of the table at `root`.

    A relative path is its own key. An absolute path or URL must lie inside the root, in any spelling of the same place.
    A path with an empty, `.` or `..` component, one elsewhere and one in the log itself have no key. Nothing is decoded.
    """
    key: str | None = path
    if is_absolute(path):
        key = None if ".." in path.split("/") else relative_to(_location(root), path)
    if key is None or not _BAD_COMPONENTS.isdisjoint(key.split("/")) or not _is_text(key):
        return None
    return None if key.partition("/")[0].lower() == "_transaction_log" else key
