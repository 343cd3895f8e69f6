"""The scan of TLS sees what a server accepts, also what OpenSSL's own client cannot offer."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.support.authority import Authority
from tests.support.tls_hello import TLS10, TLS12, TLS13
from tests.support.tls_scan import Port, Spoken

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def listening(context: ssl.SSLContext | None) -> Iterator[int]:
    """A port that answers each connection, by TLS with a context, else as it is."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_serve, args=(server, context), daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def _serve(server: socket.socket, context: ssl.SSLContext | None) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with closing(connection):
            try:
                if context:
                    context.wrap_socket(connection, server_side=True)
                else:
                    connection.sendall(connection.recv(100))
            except OSError:
                continue


@pytest.fixture
def context(tmp_path: Path) -> ssl.SSLContext:
    pair = Authority(tmp_path).issue("server")
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(pair.certificate, pair.key)
    return made


def scan(context: ssl.SSLContext | None) -> Spoken:
    with listening(context) as port:
        return Port("127.0.0.1", port).spoken()


def test_a_strict_server_has_no_fault(context: ssl.SSLContext) -> None:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")
    found = scan(context)
    assert set(found.suites) == {TLS12, TLS13}
    assert found.words()["TLS 1.2"] == [
        "ECDHE-ECDSA-AES256-GCM-SHA384",
        "ECDHE-ECDSA-AES128-GCM-SHA256",
        "ECDHE-ECDSA-CHACHA20-POLY1305",
    ]
    assert found.faults() == []


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1 is deprecated")
def test_a_server_of_old_versions_and_weak_suites_is_seen(context: ssl.SSLContext) -> None:
    context.minimum_version = ssl.TLSVersion.TLSv1
    # An anonymous suite, one without encryption, and one with block chaining and SHA-1.
    context.set_ciphers("AECDH-NULL-SHA:ECDHE-ECDSA-NULL-SHA:ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0")
    found = scan(context)
    assert TLS10 in found.suites
    assert "TLS 1.0 is accepted" in found.faults()
    assert "TLS 1.1 is accepted" in found.faults()
    assert {"the suite 0xC015 is accepted", "the suite 0xC006 is accepted", "the suite 0xC009 is accepted"} <= {
        *found.faults()
    }


def test_a_port_without_tls_speaks_none() -> None:
    assert scan(None).suites == {}
