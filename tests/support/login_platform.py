"""A platform as HopsWorks has it: a real HTTPS server that can misbehave."""

from __future__ import annotations

import json
import secrets
import ssl
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.authority import Pair

LOGIN = "/hopsworks-api/api/auth/login"
PROFILE = "/hopsworks-api/api/user/profile"
COOKIE = "SESSION"


class Platform:
    """People by e-mail: (password, code or empty, account). `mode` is how it behaves; `asked` counts logins.

    Modes: `right`; at the login: `nonsense`, `redirect`, `error`, `created`, `no cookie`, `silent`, `drip`, `huge`; of the
    profile: `no json`, `no account`, `another`, `profile redirect`.
    """

    def __init__(self) -> None:
        self.people: dict[str, tuple[str, str, str]] = {}
        self.projects: dict[str, list[object]] = {}
        self.mode = "right"
        self.asked = 0
        self.sessions: dict[str, str] = {}
        self.url = ""

    def get(self, handler: Handler) -> None:
        """Answer the profile, and nothing else."""
        if handler.path == PROFILE:
            self.profile(handler)
        else:
            handler.answer(404, b"", {})

    def post(self, handler: Handler, body: bytes) -> None:
        """Answer the login, and nothing else."""
        if handler.path == LOGIN:
            self.login(handler, body)
        else:
            handler.answer(404, b"", {})

    def login(self, handler: Handler, body: bytes) -> None:
        """Answer a POST of the login."""
        self.asked += 1
        fields = {name: values[0] for name, values in parse_qs(body.decode(), keep_blank_values=True).items()}
        password, code, _ = self.people.get(fields.get("email", ""), ("", "", ""))
        right = bool(password) and (fields.get("password"), fields.get("otp", "")) == (password, code)
        cookie = secrets.token_urlsafe(16)
        if right:
            self.sessions[cookie] = fields["email"]
        header = {"Set-Cookie": f"{COOKIE}={cookie}; Path=/; HttpOnly"}
        if self.mode == "silent":
            time.sleep(30)
        elif self.mode == "drip":
            _drip(handler)
        elif self.mode == "nonsense":
            handler.answer(200, b"<html>maintenance</html>", {})
        elif self.mode == "huge":
            handler.answer(200, b"x" * 1_000_000, header)
        elif self.mode == "redirect":
            handler.answer(302, b"", {**header, "Location": f"{self.url}{PROFILE}"})
        elif self.mode == "error":
            handler.answer(500, b"{}", header)
        elif self.mode == "created":
            handler.answer(201, b"{}", header)
        elif self.mode == "no cookie":
            handler.answer(200, b"{}", {})
        else:
            handler.answer(200 if right else 401, b"{}", header if right else {})

    def profile(self, handler: Handler) -> None:
        """Answer a GET of the profile."""
        found = handler.headers.get("Cookie", "").partition(f"{COOKIE}=")[2]
        email = self.sessions.get(found)
        if email is None:
            handler.answer(401, b"{}", {})
            return
        said: dict[str, object] = {"email": email, "username": self.people[email][2]}
        said["projects"] = self.projects.get(email, [])
        if self.mode == "another":
            said["email"] = "another@example.org"
        if self.mode == "no account":
            del said["username"]
        if self.mode == "profile redirect":
            handler.answer(302, b"", {"Location": "/"})
            return
        handler.answer(200, b"<html>" if self.mode == "no json" else json.dumps(said).encode(), {})


class Served(Protocol):
    """What answers GET and POST. `url` is where it is served."""

    url: str

    def get(self, handler: Handler) -> None:
        """Answer a GET."""

    def post(self, handler: Handler, body: bytes, /) -> None:
        """Answer a POST."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: Served

    def do_POST(self) -> None:
        self.served.post(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def do_GET(self) -> None:
        self.served.get(self)

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        with suppress(OSError):
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Not among the output of tests."""


def _drip(handler: Handler) -> None:
    """One byte now and then: no single read runs out of time."""
    with suppress(OSError):
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300:
            handler.wfile.write(bytes([byte]))
            time.sleep(0.1)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the tests."""


@contextmanager
def served(what: Served, pair: Pair, port: int = 0) -> Iterator[int]:
    """Serve HTTPS on 127.0.0.1 until the block's end; the port. Connections that are open end with it."""
    handler = type("Handler", (Handler,), {"served": what})
    server = _Server(("127.0.0.1", port), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    what.url = f"https://localhost:{server.server_port}"
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
