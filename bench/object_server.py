"""An S3 server for benchmarks: objects in memory, listed in the time of their page, however many there are.

The servers that tests use look at every object for every page of a listing, so that a listing of a million objects would measure
the server. This one knows what stores and their clients need: GET, HEAD, PUT (also if nothing is there), DELETE, uploads in
parts, listings, and deletes of many objects. It checks no signatures, listens on 127.0.0.1 only, and ends with its process.
"""

from __future__ import annotations

import hashlib
import re
import sys
import time
import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

_PAGE = 1_000
"""Objects of a page, as S3 has it."""
_KEY = re.compile(rb"<Key>(.*?)</Key>")
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


@dataclass(frozen=True)
class Stored:
    """An object: its bytes and when it was written, in seconds since 1970."""

    data: bytes
    written: float

    @cached_property
    def etag(self) -> str:
        """The hash of the bytes, between quotes."""
        return f'"{hashlib.md5(self.data, usedforsecurity=False).hexdigest()}"'


@dataclass
class Objects:
    """All objects by key, with their keys in order. Keys that were deleted stay in the order until there are many of them."""

    found: dict[str, Stored] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    """Parts of objects that are uploaded in parts, by upload and number."""
    lock: Lock = field(default_factory=Lock)

    def put(self, key: str, stored: Stored, *, only_new: bool) -> bool:
        """Store an object. False if there is one already and only a new one is wanted."""
        with self.lock:
            if key not in self.found:
                place = bisect_left(self.order, key)
                if place == len(self.order) or self.order[place] != key:
                    self.order.insert(place, key)
            elif only_new:
                return False
            self.found[key] = stored
            return True

    def put_many(self, keys: Iterable[str], stored: Stored) -> None:
        """Store the same bytes under many keys."""
        with self.lock:
            self.found.update(dict.fromkeys(keys, stored))
            self.order = sorted(self.found)

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; those that are not there are no error."""
        with self.lock:
            for key in keys:
                self.found.pop(key, None)
            if len(self.order) > 2 * len(self.found) + _PAGE:
                self.order = sorted(self.found)

    def page(self, prefix: str, after: str, delimiter: str) -> tuple[list[str], list[str], str]:
        """Keys and common prefixes of a page, and the key after which the next page begins; empty at the end."""
        keys: list[str] = []
        prefixes: list[str] = []
        with self.lock:
            place = max(bisect_left(self.order, prefix), bisect_right(self.order, after))
            while place < len(self.order) and self.order[place].startswith(prefix):
                if len(keys) + len(prefixes) == _PAGE:
                    return keys, prefixes, self.order[place - 1]
                key = self.order[place]
                cut = key.find(delimiter, len(prefix)) if delimiter else -1
                if cut >= 0:
                    prefixes.append(key[: cut + 1])
                    place = bisect_left(self.order, key[:cut] + chr(ord("/") + 1), place)
                    continue
                if key in self.found:
                    keys.append(key)
                place += 1
        return keys, prefixes, ""


class _Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    objects: Objects

    def do_GET(self) -> None:
        key, asked = self._asked()
        if not key:
            self._list({name: values[0] for name, values in asked.items()})
            return
        self._give(key, with_body=True)

    def do_HEAD(self) -> None:
        self._give(self._asked()[0], with_body=False)

    def do_PUT(self) -> None:
        key, asked = self._asked()
        stored = Stored(self._body(), time.time())
        if "uploadId" in asked:
            self.objects.uploads[asked["uploadId"][0]][int(asked["partNumber"][0])] = stored.data
            self._answer(200, b"", {"ETag": stored.etag})
        elif not key or self.objects.put(key, stored, only_new=self.headers.get("If-None-Match") == "*"):
            self._answer(200, b"", {"ETag": stored.etag})
        else:
            self._answer(412, b"<Error><Code>PreconditionFailed</Code><Message>it is there</Message></Error>")

    def do_DELETE(self) -> None:
        self.objects.delete([self._asked()[0]])
        self._answer(204)

    def do_POST(self) -> None:
        key, asked = self._asked()
        body = self._body()
        if "uploads" in asked:
            upload = uuid.uuid4().hex
            self.objects.uploads[upload] = {}
            self._answer(200, f"<Result><UploadId>{upload}</UploadId></Result>".encode())
            return
        if "uploadId" in asked:
            parts = self.objects.uploads.pop(asked["uploadId"][0])
            stored = Stored(b"".join(parts[number] for number in sorted(parts)), time.time())
            self.objects.put(key, stored, only_new=False)
            self._answer(200, f"<Result><ETag>{escape(stored.etag)}</ETag></Result>".encode())
            return
        keys = [unescape(key.decode(), {"&quot;": '"', "&apos;": "'"}) for key in _KEY.findall(body)]
        self.objects.delete(keys)
        gone = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        self._answer(200, f"<DeleteResult>{gone}</DeleteResult>".encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the base class has
        """Say nothing."""

    def _asked(self) -> tuple[str, dict[str, list[str]]]:
        """The key, empty for the bucket itself, and the parameters."""
        parts = urlsplit(self.path)
        return unquote(parts.path.lstrip("/")).partition("/")[2], parse_qs(parts.query, keep_blank_values=True)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _give(self, key: str, *, with_body: bool) -> None:
        stored = self.objects.found.get(key)
        if stored is None:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>" if with_body else b"")
            return
        facts = {"ETag": stored.etag, "Last-Modified": formatdate(stored.written, usegmt=True)}
        data, code = stored.data, 200
        wanted = _RANGE.fullmatch(self.headers.get("Range") or "")
        if wanted:
            first = int(wanted[1]) if wanted[1] else max(len(data) - int(wanted[2]), 0)
            last = min(int(wanted[2]), len(data) - 1) if wanted[1] and wanted[2] else len(data) - 1
            facts["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            data, code = data[first : last + 1], 206
        self._answer(code, data, facts, with_body=with_body)

    def _list(self, asked: dict[str, str]) -> None:
        prefix, after = asked.get("prefix", ""), asked.get("continuation-token") or asked.get("start-after", "")
        keys, prefixes, following = self.objects.page(prefix, after, asked.get("delimiter", ""))
        parts = ["<ListBucketResult>", f"<IsTruncated>{'true' if following else 'false'}</IsTruncated>"]
        if following:
            parts.append(f"<NextContinuationToken>{escape(following)}</NextContinuationToken>")
        for key in keys:
            stored = self.objects.found.get(key)
            if stored is not None:
                parts.append(_entry(key, stored))
        parts += [f"<CommonPrefixes><Prefix>{escape(found)}</Prefix></CommonPrefixes>" for found in prefixes]
        self._answer(200, "".join([*parts, "</ListBucketResult>"]).encode())

    def _answer(
        self, code: int, data: bytes = b"", facts: dict[str, str] | None = None, *, with_body: bool = True
    ) -> None:
        self.send_response_only(code)
        for name, value in (facts or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if with_body and data:
            self.wfile.write(data)


def _entry(key: str, stored: Stored) -> str:
    written = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(stored.written))
    return (
        f"<Contents><Key>{escape(key)}</Key><LastModified>{written}</LastModified><ETag>{escape(stored.etag)}</ETag>"
        f"<Size>{len(stored.data)}</Size></Contents>"
    )


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away in the middle of an answer, as clients do that have seen enough."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def start(objects: Objects) -> tuple[_Server, str]:
    """A server of these objects that nobody has asked to serve yet, and its address."""
    handler = type("Handler", (_Handler,), {"objects": objects})
    server = _Server(("127.0.0.1", 0), handler)
    return server, f"http://127.0.0.1:{server.server_address[1]}"
