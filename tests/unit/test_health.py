"""Health is an answer: each protocol against the real server, and the sentences when there is none."""

from __future__ import annotations

import io
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopshive import health
from hopshive.components import COMPONENTS
from hopshive.health import Answer, NoAnswer, Target, WrongAnswer, parse_srvr, wait_for
from hopshive.thrift_wire import ThriftError, TType, call, encode_call, encode_value, read_struct
from tests.modules import run_module
from tests.servers import Hdfs, MariaDB, free_port, hadoop_classpath, run_java, write_site

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
    monkeypatch.setattr(health, "QUESTIONS", {**health.QUESTIONS, "zookeeper": question})
    assert wait_for(Target("zookeeper", "h", 1), 60, clock=clock, sleep=clock.sleep) == Answer({"version": "1"}, 3, 1.0)


@pytest.mark.parametrize("kind", sorted(health.QUESTIONS))
def test_nobody_there_is_a_sentence_for_each_kind(kind: str, clock: Clock) -> None:
    target = Target(kind, "127.0.0.1", free_port())
    with pytest.raises(NoAnswer) as caught:
        wait_for(target, 1, clock=clock, sleep=clock.sleep)
    message = str(caught.value).lower()
    assert message.startswith(f"{kind} at 127.0.0.1:{target.port} did not answer within 0 s (2 tries, asked for ")
    assert "connection refused" in message
    assert message.endswith(f"see journalctl -u {COMPONENTS[kind].unit} on 127.0.0.1.")


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

    monkeypatch.setattr(health, "fetch_json", fetch)
    with pytest.raises(NoAnswer, match=r"it is in safe mode\. Safe mode is ON\. It was turned on manually"):
        health.ask_namenode(Target("namenode", "h", 1), 1)
    assert health.ask_namenode(Target("namenode", "h", 1, safe_mode=True), 1)["state"] == "active"
    with pytest.raises(NoAnswer, match=r"does not list worker1:9866 among its live DataNodes \(worker2:9866\)"):
        health.ask_datanode(Target("datanode", "h", 1, namenode=["http://n"]), 1)


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

    monkeypatch.setattr(health, "fetch", fetch)
    return health.ask_cleaner(Target("cleaner", "own", 1, cleaners=["http://own:1", "http://other:1"]), 1)


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
    monkeypatch.setattr(health, "fetch", lambda *_: metrics(0))
    assert health.ask_cleaner(Target("cleaner", "own", 1), 1)["state"] == "standby"


# --- YARN -------------------------------------------------------------------------------------------------------------


def test_resourcemanager_and_nodemanager_answer(hadoop_home: Path, tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    names = ("resource-tracker", "scheduler", "admin", "webapp")
    ports = {name: free_port() for name in (*names, "rm", "nm", "localizer", "nm-http")}
    write_site(conf / "core-site.xml", {"fs.defaultFS": "file:///", "hadoop.tmp.dir": tmp_path / "tmp"})
    write_site(
        conf / "yarn-site.xml",
        {
            "yarn.resourcemanager.address": f"127.0.0.1:{ports['rm']}",
            **{f"yarn.resourcemanager.{name}.address": f"127.0.0.1:{ports[name]}" for name in names},
            "yarn.nodemanager.address": f"127.0.0.1:{ports['nm']}",
            "yarn.nodemanager.localizer.address": f"127.0.0.1:{ports['localizer']}",
            "yarn.nodemanager.webapp.address": f"127.0.0.1:{ports['nm-http']}",
            "yarn.nodemanager.local-dirs": tmp_path / "local",
            "yarn.nodemanager.log-dirs": tmp_path / "logs",
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 100,
        },
    )
    capacity = "yarn.scheduler.capacity.root"
    write_site(conf / "capacity-scheduler.xml", {f"{capacity}.queues": "default", f"{capacity}.default.capacity": 100})
    classpath = [str(conf), *hadoop_classpath(hadoop_home)]
    server = "org.apache.hadoop.yarn.server"
    with (
        run_java(f"{server}.resourcemanager.ResourceManager", classpath, tmp_path / "rm.log"),
        run_java(f"{server}.nodemanager.NodeManager", classpath, tmp_path / "nm.log"),
    ):
        assert ask("resourcemanager", ports["webapp"])["state"] == "active"
        resourcemanager = f"http://127.0.0.1:{ports['webapp']}"
        facts = ask("nodemanager", ports["nm-http"], resourcemanager=resourcemanager)
    assert facts["resourcemanager"] == resourcemanager
    assert facts["name"].endswith(f":{ports['nm']}")


def test_a_node_that_is_ill_or_unknown_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[str, Any] = {"info": {"nodeInfo": {"nodeHealthy": False, "healthReport": "1/1 local-dirs are bad"}}}
    monkeypatch.setattr(health, "fetch_json", lambda url, _: answers[url.rpartition("/")[2]])
    target = Target("nodemanager", "h", 1, resourcemanager=["http://rm"])
    with pytest.raises(NoAnswer, match="it is not healthy: 1/1 local-dirs are bad"):
        health.ask_nodemanager(target, 1)
    answers["info"] = {"nodeInfo": {"nodeHealthy": True, "id": "w:1"}}
    answers["nodes"] = {"nodes": None}
    with pytest.raises(NoAnswer, match="the ResourceManager does not know w:1"):
        health.ask_nodemanager(target, 1)
    answers["nodes"] = {"nodes": {"node": [{"id": "w:1", "state": "UNHEALTHY"}]}}
    with pytest.raises(NoAnswer, match="the ResourceManager lists w:1 as UNHEALTHY"):
        health.ask_nodemanager(target, 1)


# --- Hive -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hive(
    mariadb: MariaDB,
    hive_home: Path,
    hadoop_home: Path,
    mysql_connector_home: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, int]]:
    """Ports of a metastore and a HiveServer2, on a schema as schematool makes it."""
    directory = tmp_path_factory.mktemp("hive")
    ports = {"metastore": free_port(), "server2": free_port()}
    mariadb.execute(
        "CREATE DATABASE health CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "CREATE USER health@'%' IDENTIFIED BY 'health'",
        "GRANT ALL ON health.* TO health@'%'",
    )
    scripts = hive_home / "scripts/metastore/upgrade/mysql"
    client = ["mariadb", "--no-defaults", "-S", mariadb.socket, "-u", "root", "health"]
    with (scripts / "hive-schema-4.0.0.mysql.sql").open("rb") as script:
        subprocess.run(client, stdin=script, check=True, cwd=scripts)
    write_site(directory / "conf/core-site.xml", {"fs.defaultFS": "file:///", "hadoop.tmp.dir": directory / "tmp"})
    write_site(
        directory / "conf/hive-site.xml",
        {
            "javax.jdo.option.ConnectionURL": f"jdbc:mysql://127.0.0.1:{mariadb.port}/health?sslMode=DISABLED",
            "javax.jdo.option.ConnectionDriverName": "com.mysql.cj.jdbc.Driver",
            "javax.jdo.option.ConnectionUserName": "health",
            "javax.jdo.option.ConnectionPassword": "health",
            "metastore.housekeeping.threads.on": "false",
            "hive.metastore.uris": f"thrift://127.0.0.1:{ports['metastore']}",
            "hive.metastore.warehouse.dir": directory / "warehouse",
            "hive.metastore.warehouse.external.dir": directory / "external",
            "hive.metastore.event.db.notification.api.auth": "false",
            "hive.notification.event.poll.interval": "0",
            "hive.server2.materializedviews.registry.impl": "DUMMY",
            "hive.server2.thrift.port": ports["server2"],
            "hive.server2.webui.port": "0",
            "hive.server2.enable.doAs": "false",
            "hive.execution.engine": "mr",
            "hive.support.concurrency": "false",
            "hive.exec.scratchdir": directory / "scratch",
            "hive.exec.local.scratchdir": directory / "local",
            "hive.downloaded.resources.dir": directory / "resources",
        },
    )
    classpath = [
        str(directory / "conf"),
        f"{hive_home}/lib/*",
        f"{mysql_connector_home}/*",
        *hadoop_classpath(hadoop_home, logging=False),
    ]
    environment = {"HIVE_CONF_DIR": str(directory / "conf"), "HIVE_HOME": str(hive_home)}
    metastore, server2 = "org.apache.hadoop.hive.metastore.HiveMetaStore", "org.apache.hive.service.server.HiveServer2"
    port = ["-p", str(ports["metastore"])]
    with (
        run_java(metastore, classpath, directory / "metastore.log", port, environment=environment),
        run_java(server2, classpath, directory / "server2.log", environment=environment),
    ):
        # Every test that asks has servers that are up, whichever runs first.
        ask("metastore", ports["metastore"])
        ask("server2", ports["server2"], login_user="hive")
        yield ports


def test_a_metastore_answers_with_its_catalogs(hive: dict[str, int]) -> None:
    assert ask("metastore", hive["metastore"]) == {"version": "4.0.1", "catalogs": ["hive"]}


def test_a_hiveserver2_opens_a_session_and_runs_a_statement(hive: dict[str, int]) -> None:
    assert ask("server2", hive["server2"], login_user="hive") == {"version": "4.0.1"}
    assert ask("server2", hive["server2"], statement="SHOW DATABASES") == {"version": "4.0.1", "rows": 1}


def test_a_statement_that_fails_is_told(hive: dict[str, int]) -> None:
    target = Target("server2", "127.0.0.1", hive["server2"], statement="SELEKT 1")
    with pytest.raises(NoAnswer, match=r"ExecuteStatement: .*cannot recognize input near 'SELEKT'"):
        wait_for(target, 0)
