"""In place of a HiveServer2 in HTTP mode: a process that writes down what it was sent, and can be killed.

  python -m tests.support.server2_http HOST PORT CERTIFICATE KEY FILE

The body of a request says how it behaves: `wait N` answers after N s, `die` ends the process, `status N` answers with N.
"""

from __future__ import annotations

import hashlib
import json
import os
import ssl
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.servers import ROOT, running, wait_until

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from tests.support.authority import Pair

_LOCK = threading.Lock()


@dataclass
class Server2:
    """Where it listens, and what it was sent."""

    host: str
    port: int
    pair: Pair
    file: Path
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """All that came, in order: path, headers (names in lower case), sha256 of the body, its first bytes."""
        return [json.loads(line) for line in self.file.read_text().splitlines()]

    def kill(self) -> None:
        """Without a word to its clients."""
        assert self.process
        self.process.kill()
        self.process.wait()

    @contextmanager
    def run(self) -> Iterator[None]:
        """Serve until the block's end; what it was sent before is kept."""
        argv = [sys.executable, "-m", "tests.support.server2_http", self.host, str(self.port)]
        argv += [str(path) for path in (self.pair.certificate, self.pair.key, self.file)]
        log = self.file.with_suffix(".log")
        log.unlink(missing_ok=True)
        self.file.touch()
        with running(argv, log, {"PYTHONPATH": str(ROOT)}) as self.process:
            wait_until(lambda: "serves" in log.read_text(), "the HiveServer2", log)
            yield


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        begins = body[:40].decode(errors="replace")
        told = {
            "path": self.path,
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "sha256": hashlib.sha256(body).hexdigest(),
            "begins": begins,
        }
        with _LOCK, Path(sys.argv[5]).open("a") as file:
            file.write(json.dumps(told) + "\n")
        status, words = 200, begins.split()
        match words[:1]:
            case ["wait"]:
                time.sleep(float(words[1]))
            case ["die"]:
                os._exit(1)
            case ["status"]:
                status = int(words[1])
        answer = sys.argv[1].encode() + b" " + body
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("Content-Type", "application/x-thrift")
        self.send_header("Set-Cookie", "hive.server2.auth=of-hive")
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="hive"')
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Not in the log of the process."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    """Serve until it is killed."""
    host, port, certificate, key, _ = sys.argv[1:]
    server = _Server((host, int(port)), _Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print("serves", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
