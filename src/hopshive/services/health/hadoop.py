"""ZooKeeper, and the daemons of HDFS and YARN: over JMX, REST and RPC."""

from __future__ import annotations

import json
import urllib.parse
from dataclasses import replace

from hopshive.hdfs.namenode.rpc import Call, ConnectionLostError, NotHadoopError, RemoteError, answer_of
from hopshive.metastore.thrift import Closed
from hopshive.services.health.answer import Facts, NoAnswer, Target, WrongAnswer, connect, first
from hopshive.services.health.http import fetch_json

_ZKFC_PROTOCOL = "org.apache.hadoop.ha.ZKFCProtocol"


def bean(base: str, name: str, timeout: float, authority: str = "") -> Facts:
    """One bean of a Hadoop daemon's JMX servlet. Raises NoAnswer."""
    beans = fetch_json(f"{base}/jmx?qry={urllib.parse.quote(name, safe='=:,')}", timeout, authority).get("beans") or []
    if not beans:
        raise NoAnswer(f"it has no bean {name} yet")
    bean: Facts = beans[0]
    return bean


def page(target: Target) -> str:
    """The URL of the daemon's page: with TLS if the target names an authority."""
    return f"{'https' if target.authority else 'http'}://{target.place}"


def ask_zookeeper(target: Target, timeout: float) -> Facts:
    """`srvr`: the only four-letter word that ZooKeeper allows by default. A server without a quorum does not answer it."""
    with connect(target.host, target.port, timeout) as connection:
        connection.write(b"srvr")
        reply = b""
        while True:
            try:
                reply += connection.read(1)
            except Closed:
                break
    return parse_srvr(reply.decode(errors="replace"))


def parse_srvr(reply: str) -> Facts:
    """Version and mode (leader, follower, observer, standalone) in an answer to `srvr`. Raises NoAnswer, WrongAnswer."""
    if "not in the whitelist" in reply:
        raise WrongAnswer("it does not allow srvr: add it to 4lw.commands.whitelist")
    lines = dict(line.split(": ", 1) for line in reply.splitlines() if ": " in line)
    if "Mode" not in lines:
        raise NoAnswer(reply.strip().rstrip(".") or "an empty answer")
    return {"mode": lines["Mode"], "version": lines.get("Zookeeper version", "").partition(",")[0]}


def ask_namenode(target: Target, timeout: float) -> Facts:
    """JMX of a NameNode: it runs and is not in safe mode, which `safe_mode` allows. With `namenode`, one of those is active.

    Without `namenode` a standby counts as well. `state` in the answer says whether it is active or standby.
    """
    facts = _namenode(page(target), target, timeout)
    if target.namenode and facts["state"] != "active":
        facts["namenode"] = first(target.namenode, lambda url: _active(url.rstrip("/"), target, timeout))
    return facts


def _active(base: str, target: Target, timeout: float) -> str:
    state = _namenode(base, target, timeout)["state"]
    if state != "active":
        raise NoAnswer(f"it is {state}")
    return base


def _namenode(base: str, target: Target, timeout: float) -> Facts:
    authority = target.authority
    system = bean(base, "Hadoop:service=NameNode,name=FSNamesystemState", timeout, authority)
    if system.get("FSState") != "Operational" and not target.safe_mode:
        why = bean(base, "Hadoop:service=NameNode,name=NameNodeInfo", timeout, authority).get("Safemode") or ""
        raise NoAnswer(f"it is in safe mode. {why}".strip().rstrip("."))
    status = bean(base, "Hadoop:service=NameNode,name=NameNodeStatus", timeout, authority)
    return {"state": status.get("State", ""), "live_datanodes": system.get("NumLiveDataNodes", 0)}


def ask_journalnode(target: Target, timeout: float) -> Facts:
    """JMX of a JournalNode: it runs. Only NameNodes know whether they write to it: hopshive.services.edits asks them."""
    base = page(target)
    info = bean(base, "Hadoop:service=JournalNode,name=JournalNodeInfo", timeout, target.authority)
    return {"version": str(info.get("Version", "")).partition(",")[0]}


def ask_zkfc(target: Target, timeout: float) -> Facts:
    """A call of a method that does not exist, over RPC. With `namenode`, one of those must be active."""
    try:
        answer = answer_of((target.host, target.port), "hdfs", Call(0, "hopshiveProbe", b"", _ZKFC_PROTOCOL), timeout)
    except (ConnectionLostError, NotHadoopError, RemoteError) as error:
        raise NoAnswer(str(error)) from None
    # Another daemon of Hadoop answers with another error: it does not know the protocol.
    if not isinstance(answer, RemoteError) or answer.name != "RpcNoSuchMethodException":
        raise NoAnswer(f"it is not a failover controller: {answer}")
    if not target.namenode:
        return {}
    return {
        "namenode": first(
            target.namenode, lambda url: _active(url.rstrip("/"), replace(target, safe_mode=True), timeout)
        )
    }


def ask_datanode(target: Target, timeout: float) -> Facts:
    """JMX of a DataNode: it runs. With `namenode`, a NameNode must list it as live."""
    info = bean(page(target), "Hadoop:service=DataNode,name=DataNodeInfo", timeout, target.authority)
    name = f"{info.get('DatanodeHostname')}:{info.get('DataPort')}"
    facts: Facts = {"name": name, "version": info.get("Version", "").partition(",")[0]}
    if target.namenode:
        facts["namenode"] = first(target.namenode, lambda url: _listed_live(url, name, timeout, target.authority))
    return facts


def _listed_live(namenode: str, datanode: str, timeout: float, authority: str) -> str:
    info = bean(namenode.rstrip("/"), "Hadoop:service=NameNode,name=NameNodeInfo", timeout, authority)
    live = json.loads(info.get("LiveNodes") or "{}")
    if datanode not in live:
        others = ", ".join(sorted(live)) or "none"
        raise NoAnswer(f"the NameNode does not list {datanode} among its live DataNodes ({others})")
    if live[datanode].get("adminState") != "In Service":
        raise NoAnswer(
            f"the NameNode lists {datanode} as {live[datanode].get('adminState')} (playbooks/decommission.yml)"
        )
    return namenode


def ask_datanode_leaving(target: Target, timeout: float) -> Facts:
    """Whether the active NameNode has copied all blocks of this DataNode. `host:port`: the DataNode's data port.

    A dead DataNode counts as decommissioned at once. So for a dead or unknown one, no block of the whole file system may
    have fewer copies than it should.
    """

    def state(url: str) -> str:
        base = url.rstrip("/")
        _active(base, replace(target, safe_mode=True), timeout)
        info = bean(base, "Hadoop:service=NameNode,name=NameNodeInfo", timeout, target.authority)
        live = json.loads(info.get("LiveNodes") or "{}")
        if target.place in live:
            return str(live[target.place].get("adminState"))
        blocks = bean(base, "Hadoop:service=NameNode,name=FSNamesystem", timeout, target.authority)
        lacking = int(blocks.get("UnderReplicatedBlocks", 0)) + int(blocks.get("MissingBlocks", 0))
        return f"not live, and that {lacking} blocks have too few copies" if lacking else "gone"

    found = first(target.namenode, state)
    if found not in ("Decommissioned", "gone"):
        raise NoAnswer(
            f"the NameNode says that {target.place} is {found};"
            " hdfs dfsadmin -report says how much is left, hdfs fsck / which files"
        )
    return {"state": found.lower()}


def ask_nodemanager_leaving(target: Target, timeout: float) -> Facts:
    """Whether the active ResourceManager has ended all containers of this NodeManager. `host:port`: the NodeManager's RPC."""
    found = first(target.resourcemanager, lambda url: _node_state(url, target.place, timeout))
    if found not in ("DECOMMISSIONED", "SHUTDOWN", "LOST", ""):
        raise NoAnswer(f"the ResourceManager says that {target.place} is {found}")
    return {"state": found.lower() or "gone"}


def _node_state(resourcemanager: str, node: str, timeout: float) -> str:
    """The state of a NodeManager at a ResourceManager; empty if unknown there."""
    nodes = fetch_json(f"{resourcemanager.rstrip('/')}/ws/v1/cluster/nodes", timeout).get("nodes") or {}
    states = {entry.get("id"): str(entry.get("state")) for entry in nodes.get("node", [])}
    return states.get(node, "")


def ask_resourcemanager(target: Target, timeout: float) -> Facts:
    """`/ws/v1/cluster/info`: the ResourceManager is started, and active or standby. Just after its start it is neither."""
    info = fetch_json(f"http://{target.place}/ws/v1/cluster/info", timeout).get("clusterInfo", {})
    if info.get("state") != "STARTED" or info.get("haState") not in ("ACTIVE", "STANDBY"):
        raise NoAnswer(f"its state is {info.get('state')}, {info.get('haState')}")
    return {"state": info["haState"].lower(), "version": info.get("resourceManagerVersion", "")}


def ask_nodemanager(target: Target, timeout: float) -> Facts:
    """`/ws/v1/node/info`: the NodeManager is healthy. With `resourcemanager`, one of those must list it as running."""
    info = fetch_json(f"http://{target.place}/ws/v1/node/info", timeout).get("nodeInfo", {})
    if not info.get("nodeHealthy"):
        raise NoAnswer(f"it is not healthy: {info.get('healthReport') or 'no report yet'}")
    facts: Facts = {"name": info.get("id", ""), "version": info.get("nodeManagerVersion", "")}
    if target.resourcemanager:
        facts["resourcemanager"] = first(target.resourcemanager, lambda url: _registered(url, facts["name"], timeout))
    return facts


def _registered(resourcemanager: str, node: str, timeout: float) -> str:
    found = _node_state(resourcemanager, node, timeout)
    if found != "RUNNING":
        raise NoAnswer(f"the ResourceManager {f'lists {node} as {found}' if found else f'does not know {node}'}")
    return resourcemanager
