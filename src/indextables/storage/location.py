"""Which place a URL means, for the many spellings that people and engines use.

    /data/t                                  relative/t          a local path, taken as it is
    ~/t  ~user/t                             a local path in a home directory; `./~` is a directory of that name
    file:///data/t  file:/data/t             a local path; percent escapes are decoded, as URLs of files need it
    memory://name/t                          kept in this process, by name
    s3://bucket/t  s3a://…  s3n://…          one scheme with three names
    abfss://container@account.dfs.core.windows.net/t  abfs://…  wasbs://…  wasb://…  az://container/t
    gs://bucket/t

Object keys are literal, so in all but `file:` URLs a percent sign is a percent sign.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from indextables.core.errors import StoreMisconfigured

Scheme = Literal["file", "memory", "s3", "azure", "gs"]

SCHEMES: dict[str, Scheme] = {
    "file": "file",
    "memory": "memory",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "abfss": "azure",
    "abfs": "azure",
    "az": "azure",
    "wasbs": "azure",
    "wasb": "azure",
    "gs": "gs",
}

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)", re.DOTALL)
_SHORT_FILE_URL = re.compile(r"file:(?=/[^/]|/$)", re.IGNORECASE)
_AZURE_HOST = re.compile(r"([a-z0-9]{3,24})(?:\.(?:dfs|blob)\.([a-z0-9.-]+))?", re.IGNORECASE)
_AZURE_SUFFIX = "core.windows.net"


@dataclass(frozen=True, slots=True)
class Location:
    """A place: scheme, bucket (container, name), account and path. The path of a file is absolute, of others relative."""

    scheme: Scheme
    bucket: str
    path: str
    account: str = ""
    suffix: str = ""
    """The part of Azure's host name that tells its clouds apart."""

    @property
    def url(self) -> str:
        """The canonical spelling, without a slash at the end. A local path is its own."""
        if self.scheme == "file":
            return self.path
        path = f"/{self.path}" if self.path else ""
        if self.scheme != "azure":
            return f"{self.scheme}://{self.bucket}{path}"
        if not self.account:
            return f"az://{self.bucket}{path}"
        return f"abfss://{self.bucket}@{self.account}.dfs.{self.suffix or _AZURE_SUFFIX}{path}"


def parse_url(url: str | os.PathLike[str]) -> Location:
    """The place that a URL or a path means. Raises StoreMisconfigured."""
    text = os.fspath(url)
    if not isinstance(text, str) or not text or "\0" in text:
        raise StoreMisconfigured(f"{text!r} is no URL and no path of a table", url=text)
    match = None if isinstance(url, os.PathLike) else _URL.fullmatch(_SHORT_FILE_URL.sub("file://", text))
    if match is None:
        # Path.resolve would follow links
        return Location("file", "", os.path.abspath(os.path.expanduser(text)))  # noqa: PTH100, PTH111
    name, authority, path = match.group(1).lower(), match.group(2), match.group(3)
    scheme = SCHEMES.get(name)
    if scheme is None:
        known = ", ".join(SCHEMES)
        raise StoreMisconfigured(f"{name}:// is not a scheme that tables can have (known: {known})", url=text)
    for mark, what in (("?", "query string"), ("#", "fragment")):
        if mark in authority + path:
            raise StoreMisconfigured(f"the {name}:// URL of a table has no {what}: set options instead", scheme=name)
    if scheme == "file":
        return _file(text, authority, path)
    if scheme == "azure":
        return _azure(name, authority, _relative(text, path))
    if "@" in authority:
        raise StoreMisconfigured(f"credentials do not belong into a {name}:// URL: set options instead", scheme=name)
    if not authority:
        raise StoreMisconfigured(f"{text!r} names no bucket: write {name}://bucket/path", url=text)
    if authority.endswith("--x-s3"):
        raise StoreMisconfigured(
            f"{authority} is a directory bucket: its listings have no order, as a log needs", url=text
        )
    return Location(scheme, authority, _relative(text, path))


def relative_to(root: Location, path: str) -> str | None:
    """What is left of an absolute path or URL inside `root`; None where it is outside, or not one. Nothing is decoded."""
    match = _URL.fullmatch(_SHORT_FILE_URL.sub("file://", path))
    scheme, authority, path = match.groups() if match else ("file", "", path)
    if SCHEMES.get(scheme.lower()) != root.scheme:
        return None
    if root.scheme == "file":
        same = authority in ("", "localhost")
    elif root.scheme == "azure":
        same = _same_container(root, authority)
    else:
        same = authority == root.bucket
    inside = "/".join(("", *filter(None, (root.path.strip("/"),)), ""))
    return path.removeprefix(inside) if same and path.startswith(inside) else None


def is_absolute(path: str) -> bool:
    """Whether a path of the log is absolute or a URL, rather than relative to the table."""
    return path.startswith("/") or _URL.fullmatch(path) is not None or _SHORT_FILE_URL.match(path) is not None


def _file(text: str, authority: str, path: str) -> Location:
    if authority not in ("", "localhost"):
        raise StoreMisconfigured(f"{text!r} is a file on another host: write file:///path", url=text)
    decoded = unquote(path, errors="strict") if path else "/"
    if "\0" in decoded:
        raise StoreMisconfigured(f"{text!r} has a NUL in its path", url=text)
    return Location("file", "", os.path.abspath(decoded))  # noqa: PTH100 - Path.resolve would follow links


def _azure(name: str, authority: str, path: str) -> Location:
    container, at, host = authority.partition("@")
    match = _AZURE_HOST.fullmatch(host)
    if not container or ":" in container or (at and match is None):
        raise StoreMisconfigured(
            f"a {name}:// URL names a container and an account: write "
            "abfss://container@account.dfs.core.windows.net/path, or az://container/path",
            scheme=name,
        )
    if match is None:
        return Location("azure", container, path)
    suffix = (match.group(2) or "").lower()
    return Location("azure", container, path, match.group(1).lower(), "" if suffix == _AZURE_SUFFIX else suffix)


def _same_container(root: Location, authority: str) -> bool:
    """A URL without an account means the one that is configured, which is the root's."""
    container, at, host = authority.partition("@")
    if container != root.bucket:
        return False
    match = _AZURE_HOST.fullmatch(host)
    return not at or not root.account or (match is not None and match.group(1).lower() == root.account)


def _relative(text: str, path: str) -> str:
    path = path.strip("/")
    if path and not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise StoreMisconfigured(f"{text!r} has an empty, '.' or '..' component in its path", url=text)
    return path
