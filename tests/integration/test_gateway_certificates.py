"""A gateway with the certificates that the warehouse makes for its hosts and for programs, all by the role's defaults."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hopshive.install.tls.clients import Clients, issue, revoke
from hopshive.install.tls.hosts import Plan, ensure
from tests.support.authority import Pair
from tests.support.gateway_site import Gateway, nginx, run_gateway
from tests.support.login_site import ALICE, LoginSite, person
from tests.support.server2_http import Server2
from tests.support.servers import free_port, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.authority import Authority
    from tests.support.servers import MariaDB

# Hosts whose cluster_address is an address, which nginx compares with no certificate.
ADDRESSES = {"login1": "127.0.0.5", "server1": "127.0.0.6"}


@dataclass(frozen=True)
class Warehouse:
    """A gateway, and the directory with the warehouse's authorities."""

    gateway: Gateway
    tls: Path
    server: Server2
    stack: ExitStack

    @property
    def clients(self) -> Clients:
        return Clients(self.tls / "clients")

    def program(self, user: str) -> Pair:
        """A program's certificate."""
        output = self.tls / "programs"
        issue(self.clients, user, 30, output)
        return Pair(output / f"{user}.pem", output / f"{user}.key")

    def host(self, name: str) -> Pair:
        """A host's certificate."""
        return Pair(self.tls / f"hosts/{name}/host.pem", self.tls / f"hosts/{name}/host.key")

    def bring(self) -> None:
        """Authority and list, as the role copies them."""
        for source, target in (("authority.pem", "clients.pem"), ("revoked.pem", "revoked.pem")):
            shutil.copy(self.tls / "clients" / source, self.gateway.directory / target)


@pytest.fixture(scope="module")
def warehouse(
    login_tables: MariaDB, authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Warehouse]:
    if not nginx():
        pytest.skip("no nginx: apt-get install nginx-light")
    directory = tmp_path_factory.mktemp("warehouse")
    # A socket's path has 107 bytes at most.
    short = Path(tempfile.mkdtemp(prefix="gw"))
    ports = [free_port() for _ in range(3)]
    names = {**{host: [address, host] for host, address in ADDRESSES.items()}, "gate": ["gate", "localhost"]}
    ensure(Plan(directory / "tls", names, "store-password"))
    site = LoginSite(directory, login_tables, authority)
    site.write_people({ALICE: person()})
    login = directory / "tls/hosts/login1"
    site.more["listen"] = {
        "host": ADDRESSES["login1"],
        "certificate": str(login / "host.pem"),
        "key": str(login / "host.key"),
        "proxies": ["127.0.0.0/8"],
    }
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, short, ignore_errors=True)
        gateway = Gateway(short, ports[2], directory / "tls/authority.pem")
        pair = Pair(directory / "tls/hosts/server1/host.pem", directory / "tls/hosts/server1/host.key")
        server = Server2(ADDRESSES["server1"], ports[0], pair, directory / "server1.requests")
        made = Warehouse(gateway, directory / "tls", server, stack)
        alice = made.program("alice")
        made.bring()
        # As the role tls brings them to the host.
        shutil.copytree(directory / "tls/hosts/gate", short / "tls")
        variables = {
            "cluster_tls": "bundle",
            "cluster_tls_dir": str(short / "tls"),
            "gateway_client_authority": str(short / "clients.pem"),
            "gateway_revocation_list": str(short / "revoked.pem"),
            "cluster_login_port": ports[1],
            "cluster_server2_thrift_http_port": ports[0],
        }
        stack.enter_context(server.run())
        stack.enter_context(site.replica("login", ports[1]))
        groups = {"server2": ["server1"], "login": ["login1"]}
        stack.enter_context(run_gateway(short, ports[2], groups, gateway.authority, variables, ADDRESSES))
        wait_until(lambda: status(made, alice) == 200, "the gateway", gateway.log)
        yield made


def status(warehouse: Warehouse, pair: Pair) -> int:
    with suppress(OSError, HTTPException):
        return warehouse.gateway.post(pair).status
    return 0


def test_a_host_of_an_address_is_verified_by_its_name(warehouse: Warehouse) -> None:
    text = (warehouse.gateway.directory / "nginx.conf").read_text()
    assert all(f"proxy_ssl_name {name};" in text for name in ADDRESSES)
    assert warehouse.gateway.post(warehouse.program("alice")).status == 200
    assert warehouse.server.requests[-1]["path"] == "/cliservice"


def test_a_certificate_that_is_revoked_lets_in_no_one_from_the_next_list_on(warehouse: Warehouse) -> None:
    leaving, alice = warehouse.program("sales__alice"), warehouse.program("alice")
    assert status(warehouse, leaving) in (200, 403)
    revoke(warehouse.clients, "sales__alice")
    warehouse.bring()
    done = warehouse.gateway.refresh()
    assert done.returncode == 0, done.stderr
    wait_until(lambda: status(warehouse, leaving) == 401, "the next list", warehouse.gateway.log, 5)
    assert warehouse.gateway.post(leaving).json["error"] == "certificate"
    assert status(warehouse, alice) == 200


@pytest.mark.parametrize("name", ["gate", "login1"])
def test_a_host_is_no_client(warehouse: Warehouse, name: str) -> None:
    before = len(warehouse.server.requests)
    reply = warehouse.gateway.post(warehouse.host(name))
    assert (reply.status, reply.json["error"]) == (401, "certificate")
    assert len(warehouse.server.requests) == before


@pytest.mark.parametrize("impostor", ["a program", "another host"])
def test_a_server_with_a_certificate_that_is_not_its_own_gets_no_token(warehouse: Warehouse, impostor: str) -> None:
    alice, server = warehouse.program("alice"), warehouse.server
    server.kill()
    right, server.pair = server.pair, alice if impostor == "a program" else warehouse.host("gate")
    before = len(server.requests)
    try:
        with server.run():
            wait_until(lambda: status(warehouse, alice) == 502, "the impostor", warehouse.gateway.log, 5)
            assert "certificate" in warehouse.gateway.log.read_text()
    finally:
        server.pair = right
    assert len(server.requests) == before
    warehouse.stack.enter_context(server.run())
    wait_until(lambda: status(warehouse, alice) == 200, "the server", warehouse.gateway.log, 5)
