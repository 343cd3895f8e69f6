"""The port of a login service: certificates that are renewed, protocols that are refused, gateways with a certificate."""

from __future__ import annotations

import socket
import ssl
import time
from contextlib import closing
from http.client import HTTPSConnection
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.authority import Authority, Pair
from tests.support.login_site import ALICE, PASSWORD, LoginSite, Replica
from tests.support.patience import until
from tests.support.servers import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SUBJECT = {"X-Hopshive-Subject": "CN=alice"}


@pytest.fixture
def gateways(tmp_path: Path) -> Authority:
    """The authority of gateways' certificates, which is not that of servers."""
    return Authority(tmp_path / "gateways", "gateways")


@pytest.fixture
def replica(login_site: LoginSite, gateways: Authority) -> Iterator[Replica]:
    login_site.more |= {
        "gateway": {"secret_file": "", "authority": str(gateways.path), "names": ["gateway1", "gateway2.example.org"]},
        "limits": {"refusal_seconds": 0},
    }
    with login_site.replica("one") as found:
        wait_until(found.healthy, "the replica", found.log)
        yield found


def served(replica: Replica, **limits: Any) -> ssl.SSLSocket:
    """A connection to the port; close it."""
    context = ssl.create_default_context(cafile=replica.authority)
    for name, value in limits.items():
        setattr(context, name, value)
    return context.wrap_socket(socket.create_connection(("localhost", replica.port), 10), server_hostname="localhost")


def serial(replica: Replica) -> str:
    """Of the certificate that the port has now."""
    with served(replica) as connection:
        found: Any = connection.getpeercert()
        return str(found["serialNumber"])


def test_a_gateway_proves_itself_by_its_certificate(replica: Replica, gateways: Authority) -> None:
    for pair in (gateways.issue("gateway1", "x"), gateways.issue("other", "gateway2.example.org")):
        answer = replica.ask("GET", "/v1/session", None, SUBJECT, pair=pair)
        assert (answer.status, answer.headers.get("x-hopshive-user")) == (200, "alice")


def test_no_other_certificate_is_a_gateways(replica: Replica, gateways: Authority, login_site: LoginSite) -> None:
    assert replica.ask("GET", "/v1/session", None, SUBJECT).status == 401
    another = gateways.issue("gateway3", "gateway3.example.org")
    assert replica.ask("GET", "/v1/session", None, SUBJECT, pair=another).status == 401
    foreign: Pair = login_site.authority.issue("gateway1", "gateway1")
    with pytest.raises(OSError, match=r"(?i)unknown ca|reset|closed|eof"):
        replica.ask("GET", "/v1/session", None, SUBJECT, pair=foreign)


def test_people_need_no_certificate(replica: Replica) -> None:
    assert replica.login(ALICE, PASSWORD).status == 200


def test_a_certificate_is_renewed_while_it_serves(replica: Replica, login_site: LoginSite) -> None:
    before = serial(replica)
    with served(replica) as kept:
        login_site.authority.issue("localhost")
        until(lambda: serial(replica) != before, 15)
        # A connection that is open stays.
        kept.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert kept.recv(100).startswith(b"HTTP/1.1 200")
    now = serial(replica)
    path = login_site.authority.path.parent / "localhost.pem"
    path.write_text("no certificate\n")
    until(lambda: "The former certificate stays." in replica.log.read_text(), 15)
    assert serial(replica) == now
    assert replica.login(ALICE, PASSWORD).status == 200


def test_old_protocols_and_ciphers_are_refused(replica: Replica) -> None:
    with served(replica) as connection:
        assert connection.version() == "TLSv1.3"
    with served(replica, maximum_version=ssl.TLSVersion.TLSv1_2) as connection:
        assert connection.version() == "TLSv1.2"
        name, _, _ = connection.cipher() or ("", "", 0)
        assert name.startswith("ECDHE-")
        assert "GCM" in name or "CHACHA20" in name
    context = ssl.create_default_context(cafile=replica.authority)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    # Without forward secrecy, or with CBC.
    context.set_ciphers("AES256-GCM-SHA384:ECDHE-ECDSA-AES256-SHA384:ECDHE-RSA-AES256-SHA")
    with socket.create_connection(("localhost", replica.port), 10) as plain, pytest.raises(ssl.SSLError):
        context.wrap_socket(plain, server_hostname="localhost")
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.load_verify_locations(replica.authority)
    with pytest.warns(DeprecationWarning):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    with socket.create_connection(("localhost", replica.port), 10) as plain, pytest.raises(ssl.SSLError):
        old.wrap_socket(plain, server_hostname="localhost")


def test_plain_http_is_no_answer(replica: Replica) -> None:
    with socket.create_connection(("localhost", replica.port), 10) as plain:
        plain.sendall(b"POST /v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
        assert not plain.recv(100).startswith(b"HTTP")


def test_an_answer_on_a_connection_that_stays_open_waits_for_no_acknowledgement(replica: Replica) -> None:
    """A client acknowledges the first part of an answer after 40 ms, unless it has something to send."""
    context = ssl.create_default_context(cafile=replica.authority)
    took = []
    with closing(HTTPSConnection("localhost", replica.port, timeout=30, context=context)) as connection:
        for _ in range(20):
            began = time.monotonic()
            connection.request("GET", "/none")
            connection.getresponse().read()
            took.append(time.monotonic() - began)
    # On a busy machine some take longer. Where answers wait, all do.
    assert min(took) < 0.03
