"""Health is an answer: from real servers, and the sentences when there is none.

Those of YARN and Hive are asked on a whole warehouse: molecule/default/tests/test_answers.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hopshive.services.health import (
    NoAnswer,
    Target,
    wait_for,
)
from tests.support.modules import run_module
from tests.support.servers import Hdfs, MariaDB, connect, free_port, run_java

START = 180


def ask(kind: str, port: int, **more: Any) -> dict[str, Any]:
    result = run_module("hopshive_answers", {"kind": kind, "host": "127.0.0.1", "port": port, "timeout": START, **more})
    assert not result.get("failed"), result
    assert not result["changed"]
    facts: dict[str, Any] = result["facts"]
    return facts


# --- waiting, and its sentences ---------------------------------------------------------------------------------------


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
