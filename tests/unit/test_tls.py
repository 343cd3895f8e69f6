"""Where a service with TLS is, and connections that verify it, against a server of this process."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from hopshive.metastore.thrift import MessageType, TType, encode_value
from hopshive.services.health import NoAnswer, call_metastore, fetch
from hopshive.services.watchdog import probe_metastore, probe_web
from hopshive.tls import Place, context, parse
from tests.support.authority import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.authority import Pair


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@contextmanager
def serve(answer: bytes, pair: Pair | None) -> Iterator[int]:
    """The port of a server that reads once, answers each connection with these bytes and closes it."""
    secured = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    if pair:
        secured.load_cert_chain(pair.certificate, pair.key)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            while True:
                try:
                    plain, _ = listening.accept()
                except OSError:
                    return
                try:
                    plain.settimeout(5)
                    with secured.wrap_socket(plain, server_side=True) if pair else plain as connection:
                        connection.recv(65536)
                        connection.sendall(answer)
                except OSError:
                    plain.close()

        thread = threading.Thread(target=run)
        thread.start()
        yield int(listening.getsockname()[1])
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def reply(method: str) -> bytes:
    """What a metastore answers to a call that returns an empty struct."""
    head = (0x80010000 | MessageType.REPLY).to_bytes(4, "big")
    return head + encode_value(TType.STRING, method) + (1).to_bytes(4, "big") + b"\x0c\0\0\0\0"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("master:9083", Place("master", 9083)),
        ("tls://master:9083", Place("master", 9083, tls=True)),
        ("tls://master:9083/etc/a.pem", Place("master", 9083, tls=True, authority="/etc/a.pem")),
        ("tls://[::1]:9083/a.pem", Place("::1", 9083, tls=True, authority="/a.pem")),
    ],
)
def test_a_place_says_whether_there_is_tls(text: str, place: Place) -> None:
    assert parse(text) == place


@pytest.mark.parametrize(
    "text", ["", "master", "tls://master", "master:x", "master:70000", "http://master:1", "tls:///a.pem"]
)
def test_what_is_no_place_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is not host:port, nor tls://host:port/"):
        parse(text)


def test_a_metastore_is_asked_over_tls(authority: Authority) -> None:
    with serve(reply("abort_txns"), authority.issue("metastore")) as port:
        assert call_metastore(f"tls://127.0.0.1:{port}{authority.path}", "abort_txns", {}, 5) == {}


def test_a_metastore_of_another_authority_is_refused(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path, "other")
    with (
        serve(reply("abort_txns"), other.issue("metastore")) as port,
        pytest.raises(NoAnswer, match=rf"its certificate is refused: .* \(authority: {authority.path}\)"),
    ):
        call_metastore(f"tls://127.0.0.1:{port}{authority.path}", "abort_txns", {}, 5)


def test_a_metastore_with_another_hosts_certificate_is_refused(authority: Authority) -> None:
    with (
        serve(reply("abort_txns"), authority.issue("elsewhere", "elsewhere")) as port,
        pytest.raises(NoAnswer, match="its certificate is refused: IP address mismatch"),
    ):
        call_metastore(f"tls://127.0.0.1:{port}{authority.path}", "abort_txns", {}, 5)


def test_a_metastore_without_tls_gets_no_question(authority: Authority) -> None:
    with serve(reply("abort_txns"), None) as port, pytest.raises(NoAnswer):
        call_metastore(f"tls://127.0.0.1:{port}{authority.path}", "abort_txns", {}, 5)


def test_an_authority_that_changed_is_read_again(authority: Authority, tmp_path: Path) -> None:
    path = tmp_path / "authority.pem"
    path.write_bytes(Authority(tmp_path / "old").path.read_bytes())
    assert context(str(path)) is context(str(path))
    before = context(str(path))
    path.write_bytes(authority.path.read_bytes())
    assert context(str(path)) is not before


@pytest.mark.parametrize("names", [("127.0.0.1",), ("elsewhere",)])
def test_a_watchdog_sees_life_whatever_the_certificate_is(authority: Authority, names: tuple[str, ...]) -> None:
    pair = authority.issue("watched", *names)
    with serve(reply("hopshive_probe"), pair) as port:
        assert probe_metastore(f"tls://127.0.0.1:{port}", 5)
    with serve(b"HTTP/1.0 404 Not Found\r\n\r\n", pair) as port:
        assert probe_web(f"tls://127.0.0.1:{port}", 5)


def test_a_watchdog_misses_one_that_only_accepts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert not probe_web(f"tls://127.0.0.1:{silent.getsockname()[1]}", 0.3)


def test_a_page_is_verified(authority: Authority) -> None:
    page = b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n[]"
    with serve(page, authority.issue("page")) as port:
        assert fetch(f"https://127.0.0.1:{port}/", 5, authority=str(authority.path)) == b"[]"
        with pytest.raises(NoAnswer, match=r"its certificate is refused: .* \(authority: the system\)"):
            fetch(f"https://127.0.0.1:{port}/", 5)
