"""Health is an answer: from real servers, and the sentences when there is none.

Those of YARN and Hive are asked on a whole warehouse: molecule/default/tests/test_answers.py.
"""

from __future__ import annotations

import io
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymysql
import pytest

from hopshive.metastore.thrift import ThriftError, TType, call, encode_call, encode_value, read_struct
from hopshive.services import health
from hopshive.services.components import COMPONENTS
from hopshive.services.health import (
    Answer,
    NoAnswer,
    Target,
    WrongAnswer,
    daemon,
    hadoop,
    questions,
    wait_for,
    wait_unused,
)
from hopshive.services.health.hadoop import parse_srvr
from hopshive.services.health.sql import strangers
from tests.support.modules import run_module
from tests.support.servers import Hdfs, MariaDB, connect, free_port, run_java

START = 180


def ask(kind: str, port: int, **more: Any) -> dict[str, Any]:
    result = run_module("hopshive_answers", {"kind": kind, "host": "127.0.0.1", "port": port, "timeout": START, **more})
    assert not result.get("failed"), result
    assert not result["changed"]
    facts: dict[str, Any] = result["facts"]
    return facts


# --- Thrift -----------------------------------------------------------------------------------------------------------


class Recorded:
    """A stream that answers with given bytes."""

    def __init__(self, answer: bytes) -> None:
        self.sent = b""
        self._answer = io.BytesIO(answer)

    def write(self, data: bytes) -> None:
        self.sent += data

    def read(self, size: int) -> bytes:
        return self._answer.read(size)


def test_a_call_is_written_as_the_specification_has_it() -> None:
    assert encode_call("get", {1: (TType.STRING, "é"), 2: (TType.I32, 5), 3: (TType.BOOL, False)}, 7) == bytes.fromhex(
        "80010001 00000003 676574 00000007  0b0001 00000002 c3a9  080002 00000005  020003 00  00"
    )


def test_a_list_is_written_with_the_type_of_its_items() -> None:
    assert encode_value(TType.LIST, (TType.STRING, ["a", "b"])) == bytes.fromhex("0b00000002 0000000161 0000000162")


def test_values_of_all_types_are_read() -> None:
    wire = bytes.fromhex(
        "020001 01"
        "060002 0102"
        "0a0003 0000000000000009"
        "0b0004 00000001 61"
        "0f0005 08 00000002 00000001 00000002"
        "0d0006 0b08 00000001 00000001 6b 00000003"
        "0c0007 030001 7f 00"
        "00"
    )
    assert read_struct(Recorded(wire)) == {1: True, 2: 258, 3: 9, 4: b"a", 5: [1, 2], 6: {b"k": 3}, 7: {1: 127}}


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"HTTP/1.1 400 Bad Request", "begins with 0x48545450: not the strict binary protocol"),
        (encode_call("other", {}, 1), r"an answer to other \(1\) came instead of one to get \(1\)"),
        (
            bytes.fromhex("80010003 00000003 676574 00000001") + bytes.fromhex("0b0001 00000002 6e6f 00"),
            "get: no",
        ),
        (bytes.fromhex("80010002 7fffffff"), "a length of 2147483647"),
    ],
)
def test_what_is_no_answer_is_told(answer: bytes, sentence: str) -> None:
    with pytest.raises(ThriftError, match=sentence):
        call(Recorded(answer), "get", {})


# --- waiting, and its sentences ---------------------------------------------------------------------------------------


class Clock:
    """Time that passes only by sleeping."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_it_is_asked_until_it_answers(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    answers = iter([NoAnswer("not yet"), NoAnswer("not yet")])

    def answer(*_: object) -> dict[str, Any]:
        for error in answers:
            raise error
        return {"version": "1"}

    question = replace(health.QUESTIONS["zookeeper"], ask=answer)
    monkeypatch.setattr(questions, "QUESTIONS", {**health.QUESTIONS, "zookeeper": question})
    assert wait_for(Target("zookeeper", "h", 1), 60, clock=clock, sleep=clock.sleep) == Answer({"version": "1"}, 3, 1.0)


@pytest.mark.parametrize("kind", sorted(health.QUESTIONS))
def test_nobody_there_is_a_sentence_for_each_kind(kind: str, clock: Clock) -> None:
    nobody = (f"http://127.0.0.1:{free_port()}",)
    target = Target(kind, "127.0.0.1", free_port(), namenode=nobody, resourcemanager=nobody)
    with pytest.raises(NoAnswer) as caught:
        wait_for(target, 1, clock=clock, sleep=clock.sleep)
    message = str(caught.value).lower()
    assert message.startswith(f"{kind} at 127.0.0.1:{target.port} did not answer within 0 s (2 tries, asked for ")
    assert "connection refused" in message
    unit = "hadoop-hdfs-zkfc" if kind == "zkfc" else COMPONENTS[kind.removesuffix("_leaving")].unit
    assert message.endswith(f"see journalctl -u {unit} on 127.0.0.1.")


@contextmanager
def listener(reply: bytes) -> Iterator[int]:
    """A port where something says the same to everybody."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def serve() -> None:
            while not ended.is_set():
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(1)
                    try:
                        connection.recv(4096)
                        connection.sendall(reply)
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(server.getsockname()[1])
        ended.set()
        server.shutdown(socket.SHUT_RDWR)
        thread.join(2)


@pytest.mark.parametrize("kind", sorted(set(health.QUESTIONS)))
@pytest.mark.parametrize(
    "reply", [b"", b"\x00", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"]
)
def test_another_service_at_the_port_is_no_answer(kind: str, reply: bytes) -> None:
    with listener(reply) as port, pytest.raises(NoAnswer):
        wait_for(Target(kind, "127.0.0.1", port), 0)


def test_an_unknown_host_is_a_sentence() -> None:
    result = run_module("hopshive_answers", {"kind": "metastore", "host": "nowhere.invalid", "timeout": 0})
    assert result["failed"]
    assert "metastore at nowhere.invalid:9083 did not answer" in result["msg"]


def test_in_check_mode_no_answer_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    result = run_module("hopshive_answers", {"kind": "metastore", "host": "127.0.0.1", "port": free_port()}, check=True)
    assert not result.get("failed")
    # Where the controller's side of Ansible is loaded too, a module's warning goes straight to its display.
    assert "did not answer" in str(result.get("warnings", "")) + capsys.readouterr().err


# --- ZooKeeper and MariaDB --------------------------------------------------------------------------------------------


def test_a_namenode_is_no_failover_controller(hdfs: Hdfs) -> None:
    connect(hdfs).close()
    with pytest.raises(NoAnswer, match=r"it is not a failover controller: .*ZKFCProtocol"):
        wait_for(Target("zkfc", "127.0.0.1", hdfs.rpc_port), 0)


def test_a_zookeeper_tells_its_mode(zookeeper_home: Path, tmp_path: Path) -> None:
    port = free_port()
    arguments = [str(port), str(tmp_path / "data")]
    main = "org.apache.zookeeper.server.ZooKeeperServerMain"
    quiet = {"zookeeper.admin.enableServer": "false"}
    with run_java(main, [f"{zookeeper_home}/lib/*"], tmp_path / "log", arguments, quiet):
        facts = ask("zookeeper", port)
    assert facts["mode"] == "standalone"
    assert facts["version"].startswith("3.8.")


def test_a_zookeeper_without_quorum_or_permission_does_not_pass() -> None:
    with pytest.raises(NoAnswer, match="not currently serving requests"):
        parse_srvr("This ZooKeeper instance is not currently serving requests\n")
    with pytest.raises(WrongAnswer, match=r"add it to 4lw\.commands\.whitelist"):
        parse_srvr("srvr is not executed because it is not in the whitelist.\n")


def test_a_mariadb_answers_by_socket_and_by_port(mariadb: MariaDB) -> None:
    assert "MariaDB" in ask("mariadb", 1, login_unix_socket=mariadb.socket, login_user="root")["version"]
    assert "MariaDB" in ask("mariadb", mariadb.port, login_user="root")["version"]


def test_who_is_connected_from_elsewhere_is_told_and_waited_for(mariadb: MariaDB) -> None:
    login: dict[str, Any] = {"host": "127.0.0.1", "port": mariadb.port, "user": "hive", "password": "secret"}
    target = Target("ndb_sql", "127.0.0.1", mariadb.port, user="hive", password="secret")
    with (
        pymysql.connect(unix_socket=mariadb.socket, user="root") as connection,
        connection.cursor() as root,
    ):
        root.execute("CREATE USER hive@'127.0.0.%' IDENTIFIED BY 'secret'")
        try:
            with pymysql.connect(**login):
                assert strangers(target, ["127.0.0.1", "127.0.0.2"], 5) == []
            with pymysql.connect(**login, bind_address="127.0.0.2"):
                # One without an SQL node of its own will not leave.
                assert strangers(target, ["127.0.0.3", "nowhere.invalid"], 5) == []
                assert strangers(target, ["127.0.0.2"], 5) == ["127.0.0.2"]
                with pytest.raises(NoAnswer, match=r"^hive at 127\.0\.0\.2 is still connected to .* after 1 s\.$"):
                    wait_unused(target, ["127.0.0.2"], 1)
            wait_unused(target, ["127.0.0.2"], 5)
        finally:
            root.execute("DROP USER hive@'127.0.0.%'")


def test_a_refused_login_is_told_at_once_and_without_the_password(mariadb: MariaDB) -> None:
    given = {
        "kind": "mariadb",
        "host": "127.0.0.1",
        "port": mariadb.port,
        "login_user": "x",
        "login_password": "hunter2",
    }
    result = run_module("hopshive_answers", {**given, "timeout": 60})
    assert "Access denied for user 'x'" in result["msg"]
    assert "hunter2" not in result["msg"]


# --- HDFS -------------------------------------------------------------------------------------------------------------


def test_namenode_and_datanode_answer(hdfs: Hdfs) -> None:
    datanode = ask("datanode", hdfs.datanode_port, namenode=[f"http://127.0.0.1:{free_port()}", hdfs.url])
    assert datanode["namenode"] == hdfs.url
    assert datanode["version"] == "3.3.6"
    assert ask("namenode", hdfs.namenode_port) == {"state": "active", "live_datanodes": 1}


def test_a_namenode_in_safe_mode_and_a_datanode_it_does_not_know_do_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    beans = {
        "FSNamesystemState": {"FSState": "safeMode"},
        "NameNodeInfo": {
            "Safemode": "Safe mode is ON. It was turned on manually.",
            "LiveNodes": '{"worker2:9866": {}}',
        },
        "NameNodeStatus": {"State": "active"},
        "DataNodeInfo": {"DatanodeHostname": "worker1", "DataPort": "9866"},
    }

    def fetch(url: str, _: float) -> dict[str, Any]:
        return {"beans": [beans[url.rpartition("name=")[2]]]}

    monkeypatch.setattr(hadoop, "fetch_json", fetch)
    with pytest.raises(NoAnswer, match=r"it is in safe mode\. Safe mode is ON\. It was turned on manually"):
        hadoop.ask_namenode(Target("namenode", "h", 1), 1)
    assert hadoop.ask_namenode(Target("namenode", "h", 1, safe_mode=True), 1)["state"] == "active"
    with pytest.raises(NoAnswer, match=r"does not list worker1:9866 among its live DataNodes \(worker2:9866\)"):
        hadoop.ask_datanode(Target("datanode", "h", 1, namenode=["http://n"]), 1)


@pytest.mark.parametrize(
    ("node", "lacking", "sentence"),
    [
        ({"LiveNodes": "Decommission In Progress"}, 0, "is Decommission In Progress; hdfs dfsadmin -report"),
        ({"LiveNodes": "Decommissioned"}, 5, ""),
        ({"DeadNodes": "Decommissioned"}, 5, "is not live, and that 5 blocks have too few copies"),
        ({"DeadNodes": "Decommissioned"}, 0, ""),
        ({"DeadNodes": "In Service"}, 5, "is not live, and that 5 blocks have too few copies"),
        ({}, 5, "is not live, and that 5 blocks have too few copies"),
        ({}, 0, ""),
    ],
)
def test_a_datanode_leaves_when_its_blocks_are_elsewhere(
    monkeypatch: pytest.MonkeyPatch, node: dict[str, str], lacking: int, sentence: str
) -> None:
    nodes = {group: json.dumps({"worker1:9866": {"adminState": state}}) for group, state in node.items()}
    beans = {
        "FSNamesystemState": {"FSState": "Operational"},
        "NameNodeInfo": {"Safemode": "", "LiveNodes": "{}", "DeadNodes": "{}", **nodes},
        "NameNodeStatus": {"State": "active"},
        "FSNamesystem": {"UnderReplicatedBlocks": lacking - 2 if lacking else 0, "MissingBlocks": 2 if lacking else 0},
    }
    monkeypatch.setattr(hadoop, "fetch_json", lambda url, _: {"beans": [beans[url.rpartition("name=")[2]]]})
    target = Target("datanode_leaving", "worker1", 9866, namenode=["http://n"])
    if sentence:
        with pytest.raises(NoAnswer, match=re.escape(sentence)):
            hadoop.ask_datanode_leaving(target, 1)
    else:
        assert hadoop.ask_datanode_leaving(target, 1)["state"] in ("decommissioned", "gone")


# --- the cleaner ------------------------------------------------------------------------------------------------------


def metrics(leader: int, failing: int | None = None) -> bytes:
    text = f"# HELP hopshive_leader x\n# TYPE hopshive_leader gauge\nhopshive_leader {leader}.0\nhopshive_epoch 3.0\n"
    if failing is not None:
        text += f'hopshive_failing{{duty="mirror"}} {failing}.0\n'
    return text.encode()


def ask_cleaner(monkeypatch: pytest.MonkeyPatch, own: bytes, other: bytes | None) -> dict[str, Any]:
    def fetch(url: str, _: float) -> bytes:
        if "other" in url and other is None:
            raise NoAnswer("connection refused")
        return other if "other" in url and other is not None else own

    monkeypatch.setattr(daemon, "fetch", fetch)
    return daemon.ask_cleaner(Target("cleaner", "own", 1, cleaners=["http://own:1", "http://other:1"]), 1)


def test_a_cleaner_leads_or_waits_and_one_of_all_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask_cleaner(monkeypatch, metrics(1, 0), metrics(0)) == {"state": "leading", "epoch": 3}
    assert ask_cleaner(monkeypatch, metrics(1), None)["state"] == "leading"
    assert ask_cleaner(monkeypatch, metrics(0), metrics(1))["state"] == "standby"
    for own, other, sentence in (
        (metrics(0), metrics(0), "none lead"),
        (metrics(0), None, "none lead"),
        (metrics(1), metrics(1), "2 lead"),
        (metrics(1, 1), metrics(0), 'it leads, but cannot do its work: hopshive_failing{duty="mirror"}'),
    ):
        with pytest.raises(NoAnswer, match=re.escape(sentence)):
            ask_cleaner(monkeypatch, own, other)
    with pytest.raises(health.WrongAnswer, match="something else listens there"):
        ask_cleaner(monkeypatch, b"<html>", None)


def test_a_cleaner_without_others_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "fetch", lambda *_: metrics(0))
    assert daemon.ask_cleaner(Target("cleaner", "own", 1), 1)["state"] == "standby"


# --- YARN -------------------------------------------------------------------------------------------------------------


def test_a_node_that_is_ill_or_unknown_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[str, Any] = {"info": {"nodeInfo": {"nodeHealthy": False, "healthReport": "1/1 local-dirs are bad"}}}
    monkeypatch.setattr(hadoop, "fetch_json", lambda url, _: answers[url.rpartition("/")[2]])
    target = Target("nodemanager", "h", 1, resourcemanager=["http://rm"])
    with pytest.raises(NoAnswer, match="it is not healthy: 1/1 local-dirs are bad"):
        hadoop.ask_nodemanager(target, 1)
    answers["info"] = {"nodeInfo": {"nodeHealthy": True, "id": "w:1"}}
    answers["nodes"] = {"nodes": None}
    with pytest.raises(NoAnswer, match="the ResourceManager does not know w:1"):
        hadoop.ask_nodemanager(target, 1)
    answers["nodes"] = {"nodes": {"node": [{"id": "w:1", "state": "UNHEALTHY"}]}}
    with pytest.raises(NoAnswer, match="the ResourceManager lists w:1 as UNHEALTHY"):
        hadoop.ask_nodemanager(target, 1)
