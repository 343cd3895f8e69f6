"""What ZooKeeper, HDFS and YARN answer, and what of it is health."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from hopshive.services.health import (
    NoAnswer,
    Target,
    WrongAnswer,
    hadoop,
)
from hopshive.services.health.hadoop import parse_srvr


def test_a_zookeeper_without_quorum_or_permission_does_not_pass() -> None:
    with pytest.raises(NoAnswer, match="not currently serving requests"):
        parse_srvr("This ZooKeeper instance is not currently serving requests\n")
    with pytest.raises(WrongAnswer, match=r"add it to 4lw\.commands\.whitelist"):
        parse_srvr("srvr is not executed because it is not in the whitelist.\n")


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

    def fetch(url: str, *_: object) -> dict[str, Any]:
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
    monkeypatch.setattr(hadoop, "fetch_json", lambda url, *_: {"beans": [beans[url.rpartition("name=")[2]]]})
    target = Target("datanode_leaving", "worker1", 9866, namenode=["http://n"])
    if sentence:
        with pytest.raises(NoAnswer, match=re.escape(sentence)):
            hadoop.ask_datanode_leaving(target, 1)
    else:
        assert hadoop.ask_datanode_leaving(target, 1)["state"] in ("decommissioned", "gone")


def test_a_node_that_is_ill_or_unknown_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[str, Any] = {"info": {"nodeInfo": {"nodeHealthy": False, "healthReport": "1/1 local-dirs are bad"}}}
    monkeypatch.setattr(hadoop, "fetch_json", lambda url, *_: answers[url.rpartition("/")[2]])
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
