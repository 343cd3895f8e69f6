"""A daemon's probe of the NameNode, on real NameNodes and on ports of other servers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from hopshive.daemon import probe as probe_module
from hopshive.daemon.health import Contact
from hopshive.daemon.probe import NameNodeProbe
from hopshive.hdfs.namenode import NameNode
from tests.support.patience import until
from tests.support.servers import connect, free_port

if TYPE_CHECKING:
    from tests.support.servers import Hdfs


@pytest.fixture
def running(hdfs: Hdfs) -> Hdfs:
    """A NameNode that has started and left its safe mode."""
    connect(hdfs).close()
    return hdfs


@contextmanager
def probing(port: int, user: str = "hdfs", timeout: float = 10.0) -> Iterator[Contact]:
    contact = Contact("the NameNode")
    probe = NameNodeProbe(NameNode([("127.0.0.1", port)], user, timeout), contact)
    probe.start()
    try:
        yield contact
    finally:
        probe.stop()


def test_a_namenode_that_answers_is_reached(running: Hdfs) -> None:
    with probing(running.rpc_port, running.user) as contact:
        until(lambda: not contact.problem)


def test_a_user_without_rights_reaches_it_too(running: Hdfs) -> None:
    """The duties report missing rights."""
    with probing(running.rpc_port, "nobody") as contact:
        until(lambda: not contact.problem)


def test_a_namenode_that_is_down_is_asked_again_until_it_answers(
    monkeypatch: pytest.MonkeyPatch, running: Hdfs
) -> None:
    monkeypatch.setattr(probe_module, "INTERVAL", 0.02)
    port = free_port()
    contact = Contact("the NameNode")
    namenode = NameNode([("127.0.0.1", port)], running.user)
    probe = NameNodeProbe(namenode, contact)
    probe.start()
    until(lambda: f"The NameNode 127.0.0.1:{port} " in contact.problem)
    namenode._addresses = [("127.0.0.1", running.rpc_port)]
    until(lambda: not contact.problem)
    probe.stop()


def test_a_namenode_that_hangs_is_given_up_after_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as hung, probing(hung.getsockname()[1], timeout=0.2) as contact:
        until(lambda: "did not answer within 0.2 s" in contact.problem)


def test_what_is_no_namenode_is_out_of_reach(running: Hdfs) -> None:
    with probing(running.namenode_port) as contact:
        until(lambda: "it is not a NameNode's RPC port" in contact.problem)


def test_a_probe_ends_when_it_is_stopped(running: Hdfs) -> None:
    probe = NameNodeProbe(NameNode([("127.0.0.1", running.rpc_port)]), Contact("the NameNode"))
    probe.start()
    probe.stop()
    probe._thread.join(10)
    assert not probe._thread.is_alive()
