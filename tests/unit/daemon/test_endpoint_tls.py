"""The HTTP port of the daemon with a certificate."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from hopshive.daemon.endpoint import EndpointError, endpoint
from hopshive.daemon.health import Contact, Health
from hopshive.daemon.metrics import Metrics
from hopshive.services.health import NoAnswer, fetch
from tests.support.authority import Authority
from tests.support.servers import free_port
from tests.support.tls_scan import Port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "first")


@pytest.fixture
def port(authority: Authority) -> Iterator[int]:
    found = free_port()
    pair = authority.issue("daemon")
    health = Health("one", Contact("the database"), ["nn1:8020"])
    with endpoint("127.0.0.1", found, Metrics().registry, health, (str(pair.certificate), str(pair.key))):
        yield found


def metrics(port: int, authority: Authority) -> bytes:
    return fetch(f"https://127.0.0.1:{port}/metrics", 5, authority=str(authority.path))


def test_metrics_come_over_tls_alone(port: int, authority: Authority) -> None:
    assert b"hopshive_" in metrics(port, authority)
    with pytest.raises(NoAnswer):
        fetch(f"http://127.0.0.1:{port}/metrics", 5)


def test_no_old_version_and_no_weak_suite_is_accepted(port: int) -> None:
    spoken = Port("127.0.0.1", port).spoken()
    assert list(spoken.words()) == ["TLS 1.2", "TLS 1.3"]
    assert spoken.faults() == []


def test_a_client_that_says_nothing_keeps_no_other_waiting(port: int, authority: Authority) -> None:
    with socket.create_connection(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)):
        assert b"hopshive_" in metrics(port, authority)


def test_a_renewed_certificate_is_shown_without_a_restart(port: int, authority: Authority, tmp_path: Path) -> None:
    metrics(port, authority)
    second = Authority(tmp_path / "second")
    pair = second.issue("daemon")
    (tmp_path / "first/daemon.pem").write_bytes(pair.certificate.read_bytes())
    with pytest.raises(NoAnswer):
        # Certificate and key do not fit: that of before stays.
        metrics(port, second)
    (tmp_path / "first/daemon.key").write_bytes(pair.key.read_bytes())
    assert b"hopshive_" in metrics(port, second)


def test_files_that_cannot_be_used_are_named_with_their_settings(tmp_path: Path) -> None:
    missing = f"{tmp_path}/none.pem"
    health = Health("one", Contact("the database"), ["nn1:8020"])
    with (
        pytest.raises(
            EndpointError, match=r"none\.pem and .*none\.pem \(metrics\.certificate, metrics\.key\) cannot be used"
        ),
        endpoint("127.0.0.1", free_port(), Metrics().registry, health, (missing, missing)),
    ):
        pass
