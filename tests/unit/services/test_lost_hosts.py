"""The application masters of a host that is gone are failed, and no others."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from hopshive.hdfs.namenode.wire import Message, delimited, encode, read_delimited
from hopshive.services.health import NoAnswer
from hopshive.services.lost_hosts import (
    LIST_INTERVAL,
    REPEAT_AFTER,
    SILENT,
    LostHosts,
    answers,
)
from hopshive.services.resourcemanager import Job, Master, ResourceManager

ONE = Master("application_1700000000000_0001", "one:8041")
TWO = Master("application_1700000000000_0002", "two:8041")


class Manager(ResourceManager):
    """A ResourceManager that is told what to say. `failed` and `ended` are the attempts and applications that it was told to."""

    def __init__(self, *masters: Master, active: bool = True) -> None:
        super().__init__("rm:8088")
        self.listed = list(masters)
        self.active = active
        self.there = True
        self.refuses = False
        self.failed: list[str] = []
        self.ended: list[str] = []

    def is_active(self) -> bool:
        if not self.there:
            raise NoAnswer("gone")
        return self.active

    def masters(self) -> list[Master]:
        if not self.there or not self.active:
            raise NoAnswer("a standby")
        return self.listed

    def attempt(self, master: Master) -> str:
        return master.application.replace("application", "appattempt") + "_000001"

    def fail(self, attempt: str) -> None:
        self.failed.append(attempt)
        if self.refuses:
            raise NoAnswer("not now")

    def end(self, application: str, why: str) -> None:
        assert why == "Its client one:10000 and the node one:8041 are gone."
        self.ended.append(application)


class AtOnce(ThreadPoolExecutor):
    """Work is done when it is handed in."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except NoAnswer as error:
            future.set_exception(error)
        return future


class World:
    """Time, and who answers."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.silent: set[str] = set()
        self.unknown: set[str] = set()

    def answers(self, node: str) -> bool | None:
        return None if node in self.unknown else node not in self.silent

    def watch(self, own: ResourceManager, *others: ResourceManager) -> LostHosts:
        return LostHosts(own, others, self.answers, lambda: self.now)

    def pass_by(self, lost: LostHosts, seconds: float) -> None:
        with AtOnce() as pool:
            for _ in range(int(seconds)):
                lost.look(pool)
                self.now += 1


@pytest.fixture
def world() -> World:
    return World()


def test_who_is_on_a_host_that_is_gone_is_given_up_once(world: World) -> None:
    manager = Manager(ONE, TWO)
    lost = world.watch(manager)
    world.pass_by(lost, 3)
    world.silent.add("two:8041")
    world.pass_by(lost, SILENT)
    assert manager.failed == [], "too early"
    world.pass_by(lost, 2)
    assert manager.failed == ["appattempt_1700000000000_0002_000001"]
    manager.listed.remove(TWO)
    world.pass_by(lost, 60)
    assert len(manager.failed) == 1


@pytest.mark.parametrize(
    ("lost", "end"),
    [
        (
            {"one:8041"},
            "For Spark, YARN starts another one on another host. For Tez it starts none:"
            " Hive's statement there ends with an error.",
        ),
        (
            {"one:8041", "one:10000"},
            "Its application was ended, since its client one:10000 is gone as well.",
        ),
    ],
)
def test_the_log_says_what_becomes_of_an_application(
    world: World, caplog: pytest.LogCaptureFixture, lost: set[str], end: str
) -> None:
    watchdog = world.watch(Manager(Master(ONE.application, "one:8041", "one:10000")))
    world.pass_by(watchdog, 3)
    world.silent |= lost
    world.pass_by(watchdog, SILENT + 2)
    begin = (
        f"one:8041 was silent for {SILENT:.0f} s: the application master of application_1700000000000_0001 beside it"
    )
    assert caplog.messages == [f"{begin} (appattempt_1700000000000_0001_000001) was failed. {end}"]


@pytest.mark.parametrize("silent", ["one:8041", "one:10000", "both"])
def test_only_a_host_that_took_the_client_along_ends_an_application(world: World, silent: str) -> None:
    """Without its HiveServer2 no client would ask the next application master for anything."""
    manager = Manager(
        Master(ONE.application, "one:8041", "one:10000"), Master(TWO.application, "two:8041", "one:10000")
    )
    lost = world.watch(manager)
    world.pass_by(lost, 3)
    world.silent |= {"one:8041", "one:10000"} if silent == "both" else {silent}
    world.pass_by(lost, SILENT + 2)
    assert manager.ended == ([ONE.application] if silent == "both" else [])
    assert manager.failed == (["appattempt_1700000000000_0001_000001"] if silent == "one:8041" else [])


def test_a_client_that_never_answered_may_be_behind_a_firewall(world: World) -> None:
    manager = Manager(Master(ONE.application, "one:8041", "one:10000"))
    world.silent.add("one:10000")
    lost = world.watch(manager)
    world.pass_by(lost, 3)
    world.silent.add("one:8041")
    world.pass_by(lost, SILENT + 2)
    assert (manager.ended, manager.failed) == ([], ["appattempt_1700000000000_0001_000001"])


@pytest.mark.parametrize("silent_again", [1, 5])
def test_a_host_that_answers_now_and_then_is_there(world: World, silent_again: int) -> None:
    manager = Manager(ONE)
    lost = world.watch(manager)
    for _ in range(10):
        world.silent.discard("one:8041")
        world.pass_by(lost, 1)
        world.silent.add("one:8041")
        world.pass_by(lost, silent_again)
    assert manager.failed == []


def test_a_host_that_never_answered_may_be_behind_a_firewall(world: World) -> None:
    manager = Manager(ONE)
    world.silent.add("one:8041")
    world.pass_by(world.watch(manager), 60)
    assert manager.failed == []


def test_a_name_that_does_not_resolve_says_nothing(world: World) -> None:
    manager = Manager(ONE)
    lost = world.watch(manager)
    world.pass_by(lost, 3)
    world.unknown.add("one:8041")
    world.pass_by(lost, 60)
    assert manager.failed == []


def test_a_standby_only_watches_and_acts_at_once_when_it_takes_over(world: World) -> None:
    """The host that is gone is the one of the active ResourceManager, too."""
    own, other = Manager(ONE, active=False), Manager(ONE)
    lost = world.watch(own, other)
    world.pass_by(lost, LIST_INTERVAL + 1)
    world.silent.add("one:8041")
    other.there = False
    world.pass_by(lost, SILENT + 2)
    assert own.failed == other.failed == []
    own.active = True
    world.pass_by(lost, 1)
    assert own.failed == ["appattempt_1700000000000_0001_000001"]


def test_an_order_that_was_refused_is_given_again_later(world: World) -> None:
    manager = Manager(ONE)
    lost = world.watch(manager)
    world.pass_by(lost, 2)
    world.silent.add("one:8041")
    manager.refuses = True
    world.pass_by(lost, SILENT + 3)
    assert len(manager.failed) == 1
    world.pass_by(lost, REPEAT_AFTER)
    assert len(manager.failed) == 2


# --- what a ResourceManager says, as it writes it -------------------------------------------------------------------------

APPS = {
    "apps": {
        "app": [
            {"id": ONE.application, "state": "RUNNING", "masterNodeId": ONE.node, "unmanagedApplication": False},
            {"id": TWO.application, "state": "ACCEPTED", "masterNodeId": None, "unmanagedApplication": False},
            {"id": "application_1700000000000_0003", "state": "ACCEPTED"},
            {"id": "application_1700000000000_0004", "masterNodeId": "two:8041", "unmanagedApplication": True},
        ]
    }
}
ATTEMPTS = {
    "appAttempts": {
        "appAttempt": [
            {"id": 1, "nodeId": "two:8041", "appAttemptId": "appattempt_1700000000000_0001_000001"},
            {"id": 2, "nodeId": "one:8041", "appAttemptId": "appattempt_1700000000000_0001_000002"},
        ]
    }
}
JOBS = {"apps": {"app": [{"id": ONE.application, "user": "ann"}, {"id": TWO.application, "user": "sales__bob"}]}}
PAGES: dict[str, object] = {
    "/ws/v1/cluster/info": {"clusterInfo": {"state": "STARTED", "haState": "ACTIVE"}},
    "/ws/v1/cluster/apps": APPS,
    f"/ws/v1/cluster/apps/{ONE.application}/appattempts": ATTEMPTS,
}


class Pages(BaseHTTPRequestHandler):
    """Shows applications to yarn alone, as with yarn.webapp.filter-entity-list-by-user."""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        seen = path.endswith("/info") or "user.name=yarn" in query.split("&")
        text = json.dumps(PAGES[path] if seen else {"apps": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_applications_without_a_master_on_a_nodemanager_are_none_of_its_business(web: str) -> None:
    manager = ResourceManager(web)
    assert manager.is_active()
    assert manager.masters() == [ONE]


def test_no_application_at_all(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PAGES, "/ws/v1/cluster/apps", {"apps": None})
    assert ResourceManager(web).masters() == []


def test_jobs_of_all_are_listed_with_their_users(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PAGES, "/ws/v1/cluster/apps", JOBS)
    assert ResourceManager(web).jobs() == [Job(ONE.application, "ann"), Job(TWO.application, "sales__bob")]
    assert ResourceManager(web, user="mallory").jobs() == []


@pytest.mark.parametrize(
    ("tags", "client"),
    [
        ("client=one.example.org:10000", "one.example.org:10000"),
        ("userid=ada, client=one:10000", "one:10000"),
        ("client=one", ""),
        ("thatclient=one:10000", ""),
        ("", ""),
    ],
)
def test_an_application_tells_its_client_by_a_tag(
    web: str, monkeypatch: pytest.MonkeyPatch, tags: str, client: str
) -> None:
    told = {"id": ONE.application, "masterNodeId": ONE.node, "applicationTags": tags}
    monkeypatch.setitem(PAGES, "/ws/v1/cluster/apps", {"apps": {"app": [told]}})
    assert ResourceManager(web).masters() == [Master(ONE.application, ONE.node, client)]


def test_an_attempt_that_began_elsewhere_in_the_meantime_is_left_alone(web: str) -> None:
    manager = ResourceManager(web)
    assert manager.attempt(ONE) == "appattempt_1700000000000_0001_000002"
    assert manager.attempt(Master(ONE.application, "two:8041")) == ""


def told(refusal: str, order: Callable[[ResourceManager], None]) -> tuple[str, Message]:
    """Which method the ResourceManager's port is told by `order`, and the request; it answers with that refusal."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection = server.accept()[0]
            with connection, connection.makefile("rb") as stream:
                stream.read(7)
                for _ in range(2):
                    heard.append(stream.read(struct.unpack(">I", stream.read(4))[0]))
                header: dict[int, int | bytes | str] = (
                    {1: 0, 2: 1, 4: refusal, 5: "attempt not found"} if refusal else {1: 0, 2: 0}
                )
                body = delimited(encode(header)) + (b"" if refusal else delimited(b""))
                connection.sendall(struct.pack(">I", len(body)) + body)

        thread = threading.Thread(target=serve)
        thread.start()
        order(ResourceManager("rm:8088", f"127.0.0.1:{server.getsockname()[1]}", "yarn"))
        thread.join(10)
    _, at = read_delimited(heard[1])
    method, at = read_delimited(heard[1], at)
    request, _ = read_delimited(heard[1], at)
    assert Message(method).text(2) == "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
    return Message(method).text(1), Message(request)


def test_the_order_is_what_yarn_applicationattempt_sends() -> None:
    method, request = told("", lambda manager: manager.fail("appattempt_1700000000000_0007_000002"))
    assert method == "failApplicationAttempt"
    attempt = request.message(1)
    assert (attempt.message(1).number(2), attempt.message(1).number(1), attempt.number(2)) == (1700000000000, 7, 2)


def test_the_order_is_what_yarn_application_sends() -> None:
    method, request = told("", lambda manager: manager.end("application_1700000000000_0007", "Nobody wants it."))
    assert method == "forceKillApplication"
    assert (request.message(1).number(2), request.message(1).number(1)) == (1700000000000, 7)
    assert request.text(2) == "Nobody wants it."


def test_an_order_that_is_refused_names_its_cause() -> None:
    def order(manager: ResourceManager) -> None:
        with pytest.raises(NoAnswer, match=r"ApplicationAttemptNotFoundException: attempt not found"):
            manager.fail("appattempt_1700000000000_0007_000002")

    told("org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException", order)


def test_without_a_manager_to_give_the_order_to() -> None:
    with pytest.raises(NoAnswer, match=r"cannot be reached"):
        ResourceManager("rm:8088", f"127.0.0.1:{_closed_port()}").fail("appattempt_1700000000000_0007_000002")


# --- who answers ----------------------------------------------------------------------------------------------------------


def test_a_connection_and_its_refusal_are_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert answers(f"127.0.0.1:{server.getsockname()[1]}") is True
    assert answers(f"127.0.0.1:{_closed_port()}") is True


def test_no_word_at_all_is_silence() -> None:
    """A server whose queue of connections is full: the kernel leaves further attempts unanswered, as an empty address would."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        place = server.getsockname()
        waiting = []
        for _ in range(2):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(place)
            waiting.append(one)
        assert answers(f"127.0.0.1:{place[1]}") is False
        for one in waiting:
            one.close()


def test_an_unknown_name_is_neither() -> None:
    assert answers("no-such-host.invalid:8041") is None


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
