"""A server on the loopback that serves ranges, counts requests and can stop in the middle of a file."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.stop_after: int | None = None  # bytes of a body after which the connection is cut, once
        self.delay = 0.0  # seconds before each 64 KiB
        self.ranges = True
        self.wrong_range = False
        self.requests: list[str | None] = []  # the Range header of each request

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        body = self.server.files.get(self.path.lstrip("/"))
        wanted = self.headers.get("Range")
        self.server.requests.append(wanted)
        if body is None:
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.server.ranges else 0
        if start and start >= len(body):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            first = 0 if self.server.wrong_range else start
            self.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        part = body[start:]
        if self.server.stop_after is not None:
            part, self.server.stop_after = part[: self.server.stop_after], None
        for at in range(0, len(part), 1 << 16):
            time.sleep(self.server.delay)
            try:
                self.wfile.write(part[at : at + (1 << 16)])
            except OSError:
                return  # the client has gone

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()
