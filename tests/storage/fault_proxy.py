"""A TCP proxy for HTTP that does one wrong thing once: it drops an answer, or invents one."""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Rule:
    """What happens to the next request whose method is `method`. Used up by it."""

    method: str
    action: str
    """`fin` and `rst` forward the request and drop the answer; `answer` forwards nothing."""
    status: str = ""
    body: str = ""


class FaultProxy(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, upstream: tuple[str, int] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.upstream = upstream
        self.rules: list[Rule] = []
        self.log: list[tuple[str, str, bytes]] = []
        """Method, action and the first line of the upstream's answer."""
        self.last_request = b""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def take(self, method: str) -> Rule | None:
        for rule in self.rules:
            if rule.method in (method, "*"):
                self.rules.remove(rule)
                return rule
        return None


class _Connection(socketserver.BaseRequestHandler):
    server: FaultProxy

    def handle(self) -> None:
        request = _read_message(self.request)
        if not request:
            return
        self.server.last_request = request
        method = request.partition(b" ")[0].decode()
        rule = self.server.take(method)
        if rule is not None and rule.action == "answer":
            body = rule.body.encode()
            head = f"HTTP/1.1 {rule.status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            self.server.log.append((method, "answer", b""))
            self.request.sendall(head.encode() + (b"" if method == "HEAD" else body))
            return
        answer = self._forward(request)
        self.server.log.append((method, rule.action if rule else "pass", answer.partition(b"\r\n")[0]))
        if rule is None:
            self.request.sendall(answer)
        elif rule.action == "rst":
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _forward(self, request: bytes) -> bytes:
        assert self.server.upstream is not None
        with socket.create_connection(self.server.upstream, timeout=10) as upstream:
            upstream.sendall(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            parts = []
            while part := upstream.recv(65536):
                parts.append(part)
        return b"".join(parts)


def _read_message(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


@contextmanager
def fault_proxy(upstream: tuple[str, int] | None = None) -> Iterator[FaultProxy]:
    with FaultProxy(upstream) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield proxy
        proxy.shutdown()
        thread.join()
