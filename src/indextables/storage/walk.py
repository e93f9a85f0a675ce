"""Listing a directory tree as an object store would: by key, in the order of keys, from any prefix and offset.

A directory is read when the listing reaches it, and only if its keys can match. Sorting the names of one directory gives
the order of whole keys when a directory counts as its name and a slash: `a-b` comes before `a/b`, and `a.b` after `a-b`.
Code points sort as their UTF-8 bytes do, so plain comparison of text is the order that object stores have.
"""

# ruff: noqa: PTH120
# Paths are text here: Path objects would cost more than the system calls.

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from indextables.storage.durable import is_temporary
from indextables.storage.object_keys import is_unicode


def walk(base: str, prefix: str, after: str, *, temporaries: bool = False) -> Iterator[tuple[str, os.stat_result]]:
    """Keys and what stat says of them, for files under `base` (which ends in a slash) whose key begins with `prefix`.

    Hides temporary files, or with `temporaries` shows only them. Files that vanish meanwhile are left out, and so are
    names that are not UTF-8, which cannot be keys.
    """
    directory, slash, name = prefix.rpartition("/")
    return _walk(base, directory + slash, name, after, temporaries)


def _walk(
    base: str, directory: str, name_prefix: str, after: str, temporaries: bool
) -> Iterator[tuple[str, os.stat_result]]:
    if after.startswith(directory):
        after_name = after[len(directory) :]
    elif after > directory:
        return
    else:
        after_name = ""
    for name, entry in _entries(base + directory, name_prefix, after_name, temporaries):
        if name.endswith("/"):
            yield from _walk(base, directory + name, "", after, temporaries)
            continue
        try:
            found = entry.stat()
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ELOOP):
                raise
            continue
        yield directory + name, found


def _entries(path: str, prefix: str, after: str, temporaries: bool) -> list[tuple[str, os.DirEntry[str]]]:
    """What one directory offers, in order; names of directories end in a slash."""
    entries = []
    try:
        with os.scandir(path) as scan:
            for entry in scan:
                name = entry.name
                if not name.startswith(prefix) or not (name.isascii() or is_unicode(name)):
                    continue
                if _is_directory(entry):
                    name += "/"
                    if name > after or after.startswith(name):
                        entries.append((name, entry))
                elif name > after and is_temporary(name) == temporaries:
                    entries.append((name, entry))
    except (FileNotFoundError, NotADirectoryError):
        return []
    entries.sort(key=_first)
    return entries


def _first(pair: tuple[str, os.DirEntry[str]]) -> str:
    return pair[0]


def _is_directory(entry: os.DirEntry[str]) -> bool:
    """Whether to look inside. A link to a directory counts, unless it leads back to where it was found."""
    try:
        if not entry.is_dir():
            return False
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return False
    if not entry.is_symlink():
        return True
    here, target = os.path.realpath(os.path.dirname(entry.path)), os.path.realpath(entry.path)
    return os.path.commonpath((here, target)) != target
