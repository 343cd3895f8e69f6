"""A login service that answers as a test tells it to: right answers, and those that a broken service would give."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

# Status and body of an answer.
Answer = tuple[int, bytes]
# A request that is never answered.
NEVER: Answer = (0, b"")


@dataclass
class LoginStub:
    """Passwords by name, members by project. `broken` answers in place of the service while it is set."""

    passwords: dict[str, str]
    members: dict[str, set[str]]
    url: str = ""
    broken: Answer | None = None
    # Each request: the fields, and the address that it was forwarded for.
    asked: list[dict[str, Any]] = field(default_factory=list)
    revoked: set[str] = field(default_factory=set)

    def answer(self, fields: dict[str, str]) -> Answer:
        """As the service answers a login."""
        if self.broken is not None:
            return self.broken
        name, password, database = fields["name"], fields["password"], fields["database"]
        name, _, project = name.partition("#")
        project = database if database not in ("", "default") else project
        token = f"token of {name}"
        if password not in (self.passwords.get(name), token) or (password == token and name in self.revoked):
            return said(401, "refused", "The name, the password or the one-time code is wrong.")
        account = name.partition("@")[0]
        if project and account not in self.members.get(project, ()):
            return said(403, "not_a_member", f"{name} is not a member of the project {project}, or there is none.")
        user = f"{project}__{account}" if project else account
        return 200, json.dumps({"user": user, "token": token}).encode()


def said(status: int, error: str, message: str) -> Answer:
    """An answer that refuses."""
    return status, json.dumps({"error": error, "message": message}).encode()


@contextmanager
def run_login_stub(stub: LoginStub) -> Iterator[LoginStub]:
    """The service on a free port of 127.0.0.1 until the block's end; sets `url`."""
    stopping = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(200 if self.path == "/healthz" else 404, b"{}")

        def do_POST(self) -> None:
            fields = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            stub.asked.append({**fields, "from": self.headers.get("X-Forwarded-For", "")})
            status, body = stub.answer(fields)
            if (status, body) == NEVER:
                stopping.wait(60)
                self.close_connection = True
                return
            self._send(status, body)

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            if status == 302:
                self.send_header("Location", stub.url + "/elsewhere")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    stub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield stub
    finally:
        stopping.set()
        server.shutdown()
        server.server_close()
