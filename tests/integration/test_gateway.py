"""The gateway as the role gateway configures it: Debian's nginx before login services and HiveServer2s that are killed."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import socket
import ssl
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.services.health import Target
from hopshive.services.health.daemon import ask_gateway
from tests.support.authority import Authority
from tests.support.gateway_site import Gateway, Reply, ask, nginx, run_gateway
from tests.support.login_site import ALICE, GATEWAY, LoginSite, person
from tests.support.patience import scaled, within
from tests.support.server2_http import Server2
from tests.support.servers import free_port, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.authority import Pair
    from tests.support.login_site import Replica
    from tests.support.servers import MariaDB

LOGINS = ("127.0.0.1", "127.0.0.4")
SERVERS = ("127.0.0.2", "127.0.0.3")
PER_CLIENT, BODY_MB = 8, 1
# Seconds that the gateway waits for a HiveServer2 to accept a connection, and then does not ask it (fail_timeout).
CONNECT, LEFT_OUT = 2, 2
# A call of Thrift's binary protocol, of which no byte may change.
THRIFT = b"\x80\x01\x00\x01\x00\x00\x00\x0bOpenSession\x00\x00\x00\x00\xff\xfe\r\n\r\n\x00"


@dataclass
class World:
    """A gateway, its authorities of clients, and what is behind it."""

    gateway: Gateway
    site: LoginSite
    servers: dict[str, Server2]
    clients: Authority
    between: Authority
    stack: ExitStack
    login_port: int
    logins: dict[str, Replica] = field(default_factory=dict)
    revoked: list[Pair] = field(default_factory=list)

    def client(self, name: str, subject: str = "", *, ended: bool = False) -> Pair:
        return self.clients.issue(name, subject=subject, ended=ended)

    def write_revoked(self, *, ended: bool = False) -> None:
        """As an operator does."""
        text = self.clients.revoked(*self.revoked, ended=ended) + self.between.revoked()
        path = self.gateway.directory / "revoked.pem"
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").replace(path)

    def refresh(self) -> None:
        done = self.gateway.refresh()
        assert done.returncode == 0, done.stderr

    def received(self) -> list[dict[str, Any]]:
        return [request for server in self.servers.values() for request in server.requests]

    def start_login(self, host: str) -> None:
        pair = self.site.authority.issue(host, host)
        self.site.more["listen"] = {
            "host": host,
            "certificate": str(pair.certificate),
            "key": str(pair.key),
            "proxies": ["127.0.0.0/8"],
        }
        self.logins[host] = self.stack.enter_context(self.site.replica(f"login-{host}", self.login_port))


@pytest.fixture(scope="module")
def world(login_tables: MariaDB, authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if not nginx():
        pytest.skip("no nginx: apt-get install nginx-light")
    directory = tmp_path_factory.mktemp("gateway")
    # A socket's path has 107 bytes at most.
    short = Path(tempfile.mkdtemp(prefix="gw"))
    site = LoginSite(directory, login_tables, authority)
    site.write_people({ALICE: person()})
    site.join("sales", "alice")
    ports = [free_port() for _ in range(3)]
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, short, ignore_errors=True)
        clients = Authority(directory / "clients", "clients")
        between = Authority(directory / "clients", "between", parent=clients)
        servers = {
            host: Server2(host, ports[0], authority.issue(host, host), directory / f"{host}.requests")
            for host in SERVERS
        }
        pair = authority.issue("gateway", "localhost")
        made = World(Gateway(short, ports[2], authority.path), site, servers, clients, between, stack, ports[1])
        made.write_revoked()
        trusted = short / "clients.pem"
        trusted.write_text(clients.path.read_text() + between.path.read_text())
        variables = {
            "gateway_certificate": str(pair.certificate),
            "gateway_key": str(pair.key),
            "gateway_client_authority": str(trusted),
            "gateway_revocation_list": str(short / "revoked.pem"),
            "gateway_login_authority": str(authority.path),
            "gateway_server2_tls": True,
            "gateway_server2_authority": str(authority.path),
            "gateway_token_seconds": 2,
            "gateway_requests_per_client": PER_CLIENT,
            "gateway_body_mb": BODY_MB,
            "cluster_login_port": ports[1],
            "cluster_server2_thrift_http_port": ports[0],
        }
        for server in servers.values():
            stack.enter_context(server.run())
        for host in LOGINS:
            made.start_login(host)
        groups = {"server2": SERVERS, "login": LOGINS}
        stack.enter_context(run_gateway(short, ports[2], groups, authority.path, variables))
        alice = made.client("first", "alice")
        wait_until(lambda: answered(made, alice), "the gateway", made.gateway.log)
        yield made


def answered(world: World, pair: Pair) -> bool:
    with suppress(OSError, HTTPException):
        return world.gateway.post(pair).status == 200
    return False


@pytest.fixture(autouse=True)
def whole(world: World) -> Iterator[None]:
    """All runs before each test, and no list or limit is left over."""
    ended = [one for one in world.servers.values() if one.process is None or one.process.poll() is not None]
    for server in ended:
        world.stack.enter_context(server.run())
    absent = [host for host, replica in world.logins.items() if replica.process.poll() is not None]
    for host in absent:
        world.start_login(host)
    if ended or absent:
        wait_until(lambda: all_answer(world), "what was killed", world.gateway.log)
    yield


def all_answer(world: World) -> bool:
    """Whether nginx reaches each server again: it leaves one that failed alone for some seconds."""
    # Its token was not asked for before.
    fresh = world.client("fresh", f"fresh-{time.monotonic_ns()}")
    with suppress(OSError, HTTPException):
        replies = [world.gateway.post(fresh, path=f"/cliservice/{number}") for number in range(PER_CLIENT)]
        return {reply.body.split()[0].decode() for reply in replies if reply.status == 200} == set(SERVERS)
    return False


def basic(request: dict[str, Any]) -> tuple[str, str]:
    """Name and password of a request that a HiveServer2 was sent."""
    scheme, _, encoded = request["headers"]["authorization"].partition(" ")
    assert scheme == "Basic"
    name, _, password = base64.b64decode(encoded).decode().partition(":")
    return name, password


def server_of(reply: Reply) -> str:
    """The HiveServer2 that answered."""
    assert reply.status == 200, reply
    return reply.body.split()[0].decode()


def cookie_of(reply: Reply) -> dict[str, str]:
    """The cookie header of a client that keeps cookies, as JDBC does."""
    return {"Cookie": reply.headers["set-cookie"].split(";")[0]}


# --- what reaches a HiveServer2 ---------------------------------------------------------------------------------------


def test_a_client_with_a_certificate_reaches_a_server_with_a_token(world: World) -> None:
    reply = world.gateway.post(world.client("alice"), THRIFT)
    request = world.servers[server_of(reply)].requests[-1]
    assert request["sha256"] == hashlib.sha256(THRIFT).hexdigest()
    assert reply.body.partition(b" ")[2] == THRIFT
    name, token = basic(request)
    assert name == "alice"
    body = {"name": name, "password": token, "database": "sales"}
    context = ssl.create_default_context(cafile=world.site.authority.path)
    connection = HTTPSConnection(LOGINS[0], world.login_port, context=context)
    connection.request("POST", "/v1/login", json.dumps(body))
    assert json.loads(connection.getresponse().read())["user"] == "sales__alice"
    connection.close()


def test_nothing_of_a_client_but_its_call_reaches_a_server(world: World) -> None:
    """No other user (doAs), no login or cookie of its own, no address that it claims."""
    headers = {
        "Authorization": "Basic aGl2ZTpoaXZl",
        "Cookie": "hive.server2.auth=forged; hopshive_server2=nowhere",
        "X-Forwarded-For": "192.0.2.7",
        "X-Hopshive-Subject": "CN=hive",
        "X-XSRF-HEADER": "true",
    }
    reply = world.gateway.post(world.client("alice"), b"x", "/cliservice/etl-1?doAs=hive", headers)
    request = world.servers[server_of(reply)].requests[-1]
    assert request["path"] == "/cliservice"
    assert basic(request)[0] == "alice"
    assert request["headers"]["x-forwarded-for"] == "127.0.0.1"
    allowed = "host content-length content-type accept-encoding authorization x-forwarded-for x-xsrf-header connection"
    assert set(request["headers"]) <= set(allowed.split())


def test_what_a_server_says_of_logins_stays_with_the_gateway(world: World) -> None:
    reply = world.gateway.post(world.client("alice"), b"status 401 ")
    assert (reply.status, reply.body.split()[1:]) == (401, [b"status", b"401"])
    assert "www-authenticate" not in reply.headers
    assert "hive.server2.auth" not in reply.headers.get("set-cookie", "")


def test_a_token_is_asked_for_once_in_a_while(world: World) -> None:
    pair = world.client("cached", "alice")
    replies = [world.gateway.post(pair, f"token {number}".encode()) for number in range(5)]
    server = world.servers[server_of(replies[0])]
    tokens = [basic(request)[1] for request in server.requests if request["begins"].startswith("token")]
    assert len(tokens) == 5
    assert len(set(tokens)) < 5


def test_a_health_check_without_a_certificate_is_answered(world: World) -> None:
    place = Target("gateway", "localhost", world.gateway.port, authority=str(world.gateway.authority))
    assert ask_gateway(place, 5) == {}


# --- who may come in --------------------------------------------------------------------------------------------------


def test_a_certificate_below_an_intermediate_authority_counts(world: World) -> None:
    assert world.gateway.post(world.between.issue("below", subject="alice")).status == 200


@pytest.mark.parametrize("what", ["none", "another authority", "ended", "revoked", "the gateway's own authority"])
def test_a_certificate_that_does_not_count_reaches_no_server(world: World, what: str, tmp_path: Path) -> None:
    pair: Pair | None = None
    if what == "another authority":
        pair = Authority(tmp_path, "clients").issue("alice")
    elif what == "ended":
        pair = world.client("ended", "alice", ended=True)
    elif what == "revoked":
        pair = world.client("revoked", "alice")
        assert world.gateway.post(pair).status == 200
        world.revoked.append(pair)
        world.write_revoked()
        world.refresh()
        settle(world, pair, 401)
    elif what.startswith("the gateway"):
        pair = world.site.authority.issue("alice-of-servers", subject="alice")
    before = len(world.received())
    reply = world.gateway.post(pair)
    assert (reply.status, reply.json["error"]) == (401, "certificate")
    assert "client certificate of its authority" in reply.json["message"]
    assert len(world.received()) == before


def settle(world: World, pair: Pair, status: int) -> None:
    """A reload takes a moment, within which the processes of before still accept."""
    wait_until(lambda: world.gateway.post(pair).status == status, "the new list", world.gateway.log, 5)


@pytest.mark.parametrize(
    ("subject", "status", "message"),
    [
        ("alice/admin", 401, "The certificate names no user."),
        ("älice", 401, "The certificate names no user."),
        ("alic\u0435", 401, "The certificate names no user."),
        ("alice\nX-Hopshive-Subject: CN=hive", 401, "The certificate names no user."),
        ("alice,CN=hive", 401, "The certificate names no user."),
        ("alice@example.org", 401, "The certificate names no user."),
        ("hr__alice", 403, "alice is not a member of the project hr, or there is no such project."),
        ("hive", 403, "The account hive is that of a service: no person logs in as it."),
    ],
)
def test_a_subject_that_may_not_come_in_gets_the_service_s_sentence(
    world: World, subject: str, status: int, message: str
) -> None:
    before = len(world.received())
    reply = world.gateway.post(world.client("strange", subject))
    assert (reply.status, reply.json["message"]) == (status, message)
    assert len(world.received()) == before


def whoami(world: World, pair: Pair | None) -> Reply:
    connection = world.gateway.connect(pair)
    try:
        return ask(connection, path="/whoami", method="GET")
    finally:
        connection.close()


def test_the_gateway_says_whom_a_certificate_lets_in(world: World) -> None:
    before = len(world.received())
    assert whoami(world, world.client("alice")).json == {"user": "alice"}
    assert whoami(world, world.client("sales", "sales__alice")).json == {"user": "sales__alice"}
    foreign = whoami(world, world.client("foreign", "hr__alice"))
    assert (foreign.status, foreign.json["message"]) == (
        403,
        "alice is not a member of the project hr, or there is no such project.",
    )
    none = whoami(world, None)
    assert (none.status, none.json["error"]) == (401, "certificate")
    assert len(world.received()) == before


def test_a_certificate_of_a_project_s_user_is_for_that_project(world: World) -> None:
    reply = world.gateway.post(world.client("sales", "sales__alice"))
    assert basic(world.servers[server_of(reply)].requests[-1])[0] == "alice"


def test_a_revoked_client_loses_the_connection_that_it_has(world: World) -> None:
    pair = world.client("leaving", "alice")
    held = world.gateway.connect(pair)
    assert ask(held).status == 200
    world.revoked.append(pair)
    world.write_revoked()
    world.refresh()
    settle(world, pair, 401)
    with pytest.raises((OSError, HTTPException)):
        held.auto_open = 0
        ask(held)


def test_no_tls_session_is_taken_up_again(world: World) -> None:
    """Its certificate would not be checked against a newer revocation list."""
    pair = world.client("again", "alice")
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = ssl.create_default_context(cafile=world.gateway.authority)
        context.load_cert_chain(pair.certificate, pair.key)
        context.minimum_version = context.maximum_version = version
        session = None
        for _ in range(2):
            with (
                socket.create_connection(("localhost", world.gateway.port)) as raw,
                context.wrap_socket(raw, server_hostname="localhost", session=session) as tls,
            ):
                tls.sendall(b"POST /cliservice HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
                assert tls.recv(20).startswith(b"HTTP/1.1 200")
                assert not tls.session_reused
                session = tls.session


def test_a_list_that_cannot_be_read_leaves_the_one_of_before(world: World) -> None:
    gone, alice = world.client("gone", "alice"), world.client("alice")
    world.revoked.append(gone)
    world.write_revoked()
    world.refresh()
    settle(world, gone, 401)
    (world.gateway.directory / "revoked.pem").write_text("-----BEGIN X509 CRL-----\nhalf a li")
    done = world.gateway.refresh()
    assert done.returncode != 0
    assert "revoked.pem" in done.stderr
    assert world.gateway.post(gone).status == 401
    assert world.gateway.post(alice).status == 200
    world.write_revoked()
    world.refresh()


def test_a_list_that_has_ended_lets_no_one_in(world: World) -> None:
    alice = world.client("alice")
    world.write_revoked(ended=True)
    world.refresh()
    settle(world, alice, 401)
    world.write_revoked()
    world.refresh()
    settle(world, alice, 200)


def test_what_did_not_change_is_not_read_again(world: World) -> None:
    world.refresh()
    time.sleep(0.3)
    before = world.gateway.workers()
    world.refresh()
    time.sleep(0.3)
    assert world.gateway.workers() == before


# --- sessions and servers that end ------------------------------------------------------------------------------------


def test_a_client_stays_with_its_server_over_connections(world: World) -> None:
    alice = world.client("alice")
    for path in ("/cliservice", "/cliservice/etl"):
        assert len({server_of(world.gateway.post(alice, path=path)) for _ in range(8)}) == 1


def test_sessions_of_one_client_spread_by_their_path(world: World) -> None:
    alice = world.client("alice")
    paths = [f"/cliservice/{number}" for number in range(PER_CLIENT * 2)]
    assert {server_of(world.gateway.post(alice, path=path)) for path in paths} == set(SERVERS)


@pytest.mark.wall_time
def test_a_server_that_dies_is_left_at_once_and_comes_back_for_new_sessions(world: World) -> None:
    alice = world.client("alice")
    old = server_of(world.gateway.post(alice))
    (other,) = set(SERVERS) - {old}
    world.servers[old].kill()
    with within(5):
        first = world.gateway.post(alice)
    assert server_of(first) == other
    kept = cookie_of(first)
    world.stack.enter_context(world.servers[old].run())
    # The session that began meanwhile stays where it is, when its client keeps cookies.
    assert {server_of(world.gateway.post(alice, headers=kept)) for _ in range(4)} == {other}
    wait_until(lambda: server_of(world.gateway.post(alice)) == old, "its server", world.gateway.log, 10)


def test_a_cookie_leads_to_its_server_and_away_from_a_dead_one(world: World) -> None:
    alice = world.client("alice")
    found = [world.gateway.post(alice, path=f"/cliservice/{number}") for number in range(12)]
    for reply in {server_of(one): one for one in found}.values():
        assert server_of(world.gateway.post(alice, headers=cookie_of(reply))) == server_of(reply)
    gone = found[0]
    world.servers[server_of(gone)].kill()
    assert server_of(world.gateway.post(alice, headers=cookie_of(gone))) != server_of(gone)


def test_a_call_that_a_server_began_is_sent_to_no_other(world: World) -> None:
    alice = world.client("alice")
    reply = world.gateway.post(alice, b"die now")
    assert (reply.status, reply.json["error"]) == (504, "lost")
    assert len([one for one in world.received() if one["begins"] == "die now"]) == 1


def test_under_load_a_killed_server_costs_no_call_twice_and_no_new_session(world: World) -> None:
    alice = world.client("alice")
    killed = server_of(world.gateway.post(alice))
    found: list[tuple[str, int, float, float]] = []

    def work(thread: int) -> None:
        for number in range(40):
            name, began = f"load-{thread}-{number} ", time.monotonic()
            status = world.gateway.post(alice, name.encode(), f"/cliservice/{thread}").status
            found.append((name, status, began, time.monotonic()))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    world.servers[killed].kill()
    for thread in threads:
        thread.join()
    assert len(found) == 160
    assert max(ended - began for _, _, began, ended in found) < scaled(5)
    received = [one["begins"] for one in world.received() if one["begins"].startswith("load-")]
    assert len(received) == len(set(received))
    # A call is lost only when it was under way. On a busy machine the server that is left may not accept one in time.
    lost = {name for name, status, _, _ in found if status == 504}
    unsent = [(name, began, ended) for name, status, began, ended in found if status == 502]
    assert {status for _, status, _, _ in found} <= {200, 502, 504}
    assert len(lost) <= 4
    assert {name for name, status, _, _ in found if status == 200} <= set(received)
    assert not {name for name, _, _ in unsent} & set(received)
    late = [ended for _, began, ended in unsent if ended - began >= CONNECT]
    for name, began, ended in unsent:
        assert any(began - LEFT_OUT <= one <= ended + LEFT_OUT for one in late), (
            f"{name} was not sent, and no server was late"
        )


def test_no_server_is_a_sentence(world: World) -> None:
    for server in world.servers.values():
        server.kill()
    reply = world.gateway.post(world.client("alice"))
    assert (reply.status, reply.json["message"]) == (502, "No HiveServer2 can be reached.")


def test_a_server_with_the_certificate_of_another_host_gets_no_token(world: World) -> None:
    alice = world.client("alice")
    impostor = server_of(world.gateway.post(alice))
    server = world.servers[impostor]
    server.kill()
    right, server.pair = server.pair, world.site.authority.issue("another-host", "another-host")
    before = len(server.requests)
    try:
        with server.run():
            assert server_of(world.gateway.post(alice)) != impostor
    finally:
        server.pair = right
    assert len(server.requests) == before


# --- the login service ------------------------------------------------------------------------------------------------


@pytest.mark.wall_time
def test_a_login_service_that_dies_is_left_for_another(world: World) -> None:
    replica = world.logins[LOGINS[0]]
    replica.process.kill()
    replica.process.wait()
    # Their tokens were not asked for yet, and one after the other would be asked for at another replica.
    for number in range(4):
        with within(5):
            assert world.gateway.post(world.client("new", f"new-{number}")).status == 200


def test_without_a_login_service_no_new_client_comes_in(world: World) -> None:
    for replica in world.logins.values():
        replica.process.kill()
        replica.process.wait()
    before = len(world.received())
    reply = world.gateway.post(world.client("late"))
    assert reply.status == 503
    assert reply.json == {"error": "unavailable", "message": "The login service does not answer."}
    assert len(world.received()) == before


# --- limits, TLS, logs ------------------------------------------------------------------------------------------------


def test_other_requests_get_a_sentence(world: World) -> None:
    connection = world.gateway.connect(world.client("alice"))
    for method, path, status, word in (
        ("GET", "/cliservice", 405, "POST"),
        ("POST", "/", 404, "cliservice"),
        ("POST", "/session", 404, "cliservice"),
        ("POST", "/cliservice/../session", 404, "cliservice"),
        ("POST", "/cliservice/" + "x" * 65, 404, "cliservice"),
    ):
        reply = ask(connection, b"", path, method=method)
        assert (reply.status, word in reply.json["message"]) == (status, True), (path, reply)
    connection.close()


def test_a_call_that_is_too_large_is_refused(world: World) -> None:
    alice = world.client("alice")
    assert world.gateway.post(alice, b"x" * (BODY_MB << 20)).status == 200
    reply = world.gateway.post(alice, b"x" * ((BODY_MB << 20) + 1))
    assert (reply.status, reply.json["message"]) == (413, "A request has 1 MB at most.")


def test_one_client_cannot_take_all_requests(world: World) -> None:
    greedy, alice = world.client("greedy"), world.client("alice")
    replies: list[Reply] = []
    threads = [
        threading.Thread(target=lambda: replies.append(world.gateway.post(greedy, b"wait 1.5 ")))
        for _ in range(PER_CLIENT + 3)
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.7)
    assert world.gateway.post(alice).status == 200
    for thread in threads:
        thread.join()
    assert sorted({reply.status for reply in replies}) == [200, 429]
    (limited,) = {reply.json["error"] for reply in replies if reply.status == 429}
    assert limited == "limited"


@pytest.mark.parametrize(
    "ciphers", ["AES256-SHA", "ECDHE-ECDSA-AES128-SHA", "AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA256"]
)
def test_weak_ciphers_are_refused(world: World, ciphers: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(world.gateway.authority)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(ciphers)
    with pytest.raises(ssl.SSLError):
        shake(world, context)


def test_old_protocols_are_refused(world: World) -> None:
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(world.gateway.authority)
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = version
        with pytest.raises(ssl.SSLError):
            shake(world, context)


def shake(world: World, context: ssl.SSLContext) -> None:
    with (
        socket.create_connection(("localhost", world.gateway.port), timeout=10) as raw,
        context.wrap_socket(raw, server_hostname="localhost") as tls,
    ):
        tls.sendall(b"GET / HTTP/1.0\r\n\r\n")


def test_no_log_has_a_secret(world: World) -> None:
    alice = world.client("alice")
    world.gateway.post(alice, b"x", "/cliservice?password=of-a-client", {"Authorization": "Basic b2YtYS1jbGllbnQ="})
    logs = world.gateway.log.read_text() + world.gateway.access_log.read_text()
    assert '"CN=alice"' in logs
    tokens = {basic(request)[1] for request in world.received()}
    assert len(tokens) > 1
    secrets = {*tokens, GATEWAY, base64.b64encode(f"gateway:{GATEWAY}".encode()).decode()}
    secrets |= {request["headers"]["authorization"].split()[1] for request in world.received()}
    assert not [one for one in secrets if one in logs]
    assert "of-a-client" not in world.gateway.access_log.read_text()
    assert "b2YtYS1jbGllbnQ" not in logs
    assert (world.gateway.directory / "r").stat().st_mode & 0o077 == 0


def test_a_host_whose_name_is_unknown_now_keeps_its_address(world: World) -> None:
    """Its name must not keep nginx from reading a revocation list."""
    script = world.gateway.directory / "refresh"
    text = script.read_text()
    hosts = sorted((world.gateway.directory / "r/hosts").iterdir())
    before = [path.read_text() for path in hosts]
    try:
        script.write_text(text.replace("getent ahosts", "false getent"))
        world.refresh()
    finally:
        script.write_text(text)
    assert [path.read_text() for path in hosts] == before
    assert len(before) == len(SERVERS) + len(LOGINS)
    assert all(line.startswith("server 127.0.0.") for line in before)
    assert os.access(script, os.X_OK)
