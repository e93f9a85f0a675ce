"""Serve the metrics of a program at http://127.0.0.1:9464/metrics, for Prometheus or curl: nothing but Python's own library.

    python examples/serve_metrics.py            a small table is asked once a second, until Ctrl-C

In a program of your own: `server = serve(9464)` once, at its start. Prometheus then needs

    scrape_configs:
      - job_name: indextables
        static_configs: [{targets: ["127.0.0.1:9464"]}]
"""

from __future__ import annotations

import itertools
import signal
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from indextables import Table, metrics

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class MetricsHandler(BaseHTTPRequestHandler):
    """Answers `/metrics` with the metrics of this process."""

    def do_GET(self) -> None:
        if self.path.split("?", 1)[0] != "/metrics":
            self.send_error(404, "the metrics are at /metrics")
            return
        body = metrics.openmetrics().encode()
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """A scrape every few seconds is no news."""


def serve(port: int, host: str = "127.0.0.1") -> ThreadingHTTPServer:
    """Serve on a thread that ends with the program. Only this machine can ask; `server.server_port` has the port (0: any)."""
    server = ThreadingHTTPServer((host, port), MetricsHandler)
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


def main() -> None:
    """Ask a small table once a second, so that there is something to see."""
    import pyarrow as pa

    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9464
    with tempfile.TemporaryDirectory() as directory:
        options = {"spark.indextables.indexing.typemap.message": "text"}
        table = Table.create(f"{directory}/logs", pa.schema([("message", pa.string())]), options=options)
        server = serve(port)
        stop = threading.Event()
        signal.signal(signal.SIGINT, lambda *_: stop.set())
        print(f"http://127.0.0.1:{server.server_port}/metrics", flush=True)
        for number in itertools.count():
            table.append(pa.table({"message": [f"disk {number} is full"]}))
            table.search("full")
            if stop.wait(1):
                break
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    main()
