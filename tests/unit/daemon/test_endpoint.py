"""The HTTP port of the daemon, asked over a socket."""

from __future__ import annotations

import gzip
import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from hopshive.daemon import endpoint as endpoint_module
from hopshive.daemon.endpoint import EndpointError, endpoint
from hopshive.daemon.health import Contact, Health
from hopshive.daemon.lease import Standing
from hopshive.daemon.metrics import Metrics
from tests.support.patience import until, within
from tests.support.servers import free_port

if TYPE_CHECKING:
    from hopshive.daemon.lease import Term

DATABASE = "the database metastore at db:3306"
PATHS = ("/metrics", "/healthz", "/leader")


@dataclass
class Held:
    """A term that lasts until a test ends it."""

    epoch: int = 7
    held: bool = True


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        assert self.headers["Content-Type"] == "text/plain; charset=utf-8"
        return self.body.decode()


Ask = Callable[..., Answer]


@pytest.fixture
def health() -> Health:
    return Health("one", Contact(DATABASE), ["nn1:8020", "nn2:8020"])


@pytest.fixture
def well(health: Health) -> Health:
    """All was reached just now."""
    for contact in health.contacts:
        contact.reached()
    return health


@pytest.fixture
def port(health: Health) -> Iterator[int]:
    port = free_port()
    with endpoint("127.0.0.1", port, Metrics().registry, health):
        yield port


@pytest.fixture
def ask(port: int) -> Ask:
    def ask(path: str, method: str = "GET", **headers: str) -> Answer:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())

    return ask


# --- paths ------------------------------------------------------------------------------------------------------------


def test_metrics_are_text_for_prometheus(ask: Ask) -> None:
    answer = ask("/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    assert f'hopshive_build_info{{version="{version("hopshive")}"}} 1.0' in answer.body.decode()


def test_metrics_are_compressed_and_selected_as_prometheus_asks(ask: Ask) -> None:
    answer = ask("/metrics?name[]=hopshive_leader", **{"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    series = [line for line in gzip.decompress(answer.body).decode().splitlines() if not line.startswith("#")]
    assert series == ["hopshive_leader 0.0"]


@pytest.mark.usefixtures("well")
def test_a_daemon_that_reached_all_is_well(ask: Ask) -> None:
    answer = ask("/healthz")
    assert (answer.status, answer.text) == (
        200,
        f"The daemon is alive and reaches {DATABASE} and an active NameNode (nn1:8020, nn2:8020).\n",
    )


def test_a_standby_is_as_well_as_the_leader(ask: Ask, well: Health) -> None:
    well.waits(Standing("two", 8, 9.0))
    assert (ask("/healthz").status, ask("/leader").status) == (200, 503)


def test_what_is_out_of_reach_is_named_with_its_moment_and_reason(ask: Ask, health: Health) -> None:
    health.database.reached()
    assert health.namenode
    health.namenode.failed("The NameNode nn1:8020 does not answer.")
    answer = ask("/healthz")
    assert answer.status == 503
    (sentence,) = answer.text.splitlines()
    assert sentence.startswith(
        "The daemon has not reached an active NameNode (nn1:8020, nn2:8020) since its start at 2"
    )
    assert sentence.endswith(" UTC, 0 s ago. The NameNode nn1:8020 does not answer.")


def test_the_leader_says_yes_and_who_leads(ask: Ask, health: Health) -> None:
    term = Held()
    health.leads(cast("Term", term))
    answer = ask("/leader")
    assert (answer.status, answer.text) == (200, "one leads, epoch 7.\n")
    term.held = False
    assert ask("/leader").status == 503


def test_a_standby_says_no_and_who_leads(ask: Ask, health: Health) -> None:
    health.waits(Standing("two", 8, 9.0))
    answer = ask("/leader")
    assert (answer.status, answer.text) == (503, "two leads, epoch 8.\n")


@pytest.mark.parametrize("path", ["/", "/metrics/", "/healthz/x", "/favicon.ico"])
def test_another_path_is_not_found_and_lists_the_paths(ask: Ask, path: str) -> None:
    answer = ask(path)
    assert (answer.status, answer.text) == (404, "The paths of this port are /metrics, /healthz, /leader.\n")


# --- methods ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PATHS, "/elsewhere"])
def test_head_has_the_status_and_header_of_get_and_no_body(ask: Ask, path: str) -> None:
    head, get = ask(path, "HEAD"), ask(path)
    assert head.body == b""
    assert get.body
    assert head.status == get.status
    assert head.headers["Content-Length"] == get.headers["Content-Length"] == str(len(get.body))
    assert head.headers["Content-Type"] == get.headers["Content-Type"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"])
def test_another_method_is_refused_with_those_that_are_allowed(ask: Ask, path: str, method: str) -> None:
    answer = ask(path, method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert answer.text == "The methods of this path are GET, HEAD.\n"


# --- clients that keep others waiting ---------------------------------------------------------------------------------


@pytest.mark.wall_time
@pytest.mark.usefixtures("well")
def test_a_silent_client_keeps_no_other_waiting(ask: Ask, port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as silent:
        silent.sendall(b"GET /metr")
        with within(1):
            assert ask("/healthz").status == 200


def test_a_silent_client_does_not_keep_its_thread(
    ask: Ask, port: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(endpoint_module._Handler, "timeout", 0.1)
    before = threading.active_count()
    with socket.create_connection(("127.0.0.1", port), timeout=5) as silent:
        silent.sendall(b"GET /metr")
        assert silent.recv(1) == b""
    until(lambda: threading.active_count() <= before, 5, "The thread of the silent client is still there.")
    ask("/healthz")
    assert capfd.readouterr().err == ""


# --- the port ---------------------------------------------------------------------------------------------------------


def test_the_port_is_free_after_the_end(health: Health) -> None:
    port = free_port()
    with endpoint("127.0.0.1", port, Metrics().registry, health), socket.create_connection(("127.0.0.1", port)):
        pass
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", port))


def test_a_port_that_is_taken_is_said(port: int, health: Health) -> None:
    with (
        pytest.raises(
            EndpointError, match=rf"127\.0\.0\.1:{port} \(metrics.host, metrics.port\).*Address already in use"
        ),
        endpoint("127.0.0.1", port, Metrics().registry, health),
    ):
        pass


def test_an_ipv6_address_is_served(health: Health) -> None:
    try:
        with socket.socket(socket.AF_INET6) as listener:
            listener.bind(("::1", 0))
            port = listener.getsockname()[1]
    except OSError:
        pytest.skip("this machine has no IPv6 on its loopback: sysctl net.ipv6.conf.lo.disable_ipv6=0")
    with (
        endpoint("::1", port, Metrics().registry, health),
        closing(http.client.HTTPConnection("::1", port, timeout=5)) as connection,
    ):
        connection.request("GET", "/leader")
        assert connection.getresponse().status == 503


def listening() -> set[str]:
    """The sockets of this process that listen, as /proc/self/fd shows them."""
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    listeners = {f"socket:[{fields[9]}]" for fields in lines if fields[3] == "0A"}
    own = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            own.add(str(descriptor.readlink()))
    return own & listeners


def test_port_zero_serves_nothing(health: Health) -> None:
    before = listening()
    with endpoint("127.0.0.1", free_port(), Metrics().registry, health):
        assert len(listening() - before) == 1
    with endpoint("127.0.0.1", 0, Metrics().registry, health):
        assert listening() == before
