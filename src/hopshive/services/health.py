"""Health is an answer: ask a service something that it can only answer when it does its work, in its own protocol.

Standard library only, and no JVM (the database's answer needs PyMySQL). Each `ask_*` asks once and returns what it
learnt, raises `NoAnswer` when asking again may help, and `WrongAnswer` when only an operator can. `wait_for` repeats.
"""

from __future__ import annotations

import http.client
import json
import socket
import struct
import time
import urllib.parse
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hopshive.hdfs.namenode.rpc import Call, ConnectionLostError, NotHadoopError, RemoteError, answer_of
from hopshive.metastore.thrift import Closed, Fields, SocketStream, ThriftError, TType, call
from hopshive.services.components import COMPONENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

# Longest that one question may take, in seconds.
ATTEMPT_TIMEOUT = 10.0
# Between two questions, in seconds.
POLL = 0.5
# Of MariaDB: a wrong password, database or host does not become right by waiting.
_ACCESS_ERRORS = {1044, 1045, 1049, 1130, 1698}

_ZKFC_PROTOCOL = "org.apache.hadoop.ha.ZKFCProtocol"

Facts = dict[str, Any]
T = TypeVar("T")


class NoAnswer(Exception):
    """The service does not answer yet."""


class WrongAnswer(Exception):
    """The service answers, and waiting will not change what."""


@dataclass(frozen=True)
class Target:
    """Whom to ask, and what a question needs besides. URLs have no path: `http://namenode:9870`."""

    kind: str
    host: str
    port: int
    user: str = ""
    password: str = ""
    unix_socket: str = ""
    statement: str = ""
    namenode: Sequence[str] = ()
    resourcemanager: Sequence[str] = ()
    cleaners: Sequence[str] = ()
    safe_mode: bool = False

    @property
    def place(self) -> str:
        """Where it is asked."""
        return self.unix_socket or f"{self.host}:{self.port}"


def at(target: Target, place: str) -> Target:
    """The same question for another server, `host:port`."""
    host, _, port = place.rpartition(":")
    return replace(target, host=host, port=int(port))


@dataclass(frozen=True)
class Answer:
    """What a service said, and after how many questions and seconds."""

    facts: Facts
    attempts: int
    waited: float


# --- plumbing ---------------------------------------------------------------------------------------------------------


@contextmanager
def _connect(host: str, port: int, timeout: float) -> Iterator[SocketStream]:
    try:
        with socket.create_connection((host, port), timeout=timeout) as connection:
            yield SocketStream(connection)
    except TimeoutError:
        raise NoAnswer(f"nothing came back within {timeout:.0f} s") from None
    except OSError as error:
        raise NoAnswer(_reason(error)) from None


def _reason(error: Exception) -> str:
    """An error as an operator reads it: `connection refused` instead of `[Errno 111] ..`."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"{text[:1].lower()}{text[1:]}"


def fetch_json(url: str, timeout: float) -> Any:
    """The JSON that a URL answers with; raises NoAnswer for everything else."""
    try:
        return json.loads(fetch(url, timeout, "application/json"))
    except ValueError:
        raise NoAnswer(f"{url} answered with something that is not JSON") from None


def fetch(url: str, timeout: float, accept: str = "*/*") -> bytes:
    """What a URL answers with; raises NoAnswer if that is no success."""
    parts = urllib.parse.urlsplit(url)
    factory = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = factory(parts.hostname or "", parts.port, timeout=timeout)
    try:
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request("GET", path, headers={"Accept": accept})
        response = connection.getresponse()
        body = response.read()
    except TimeoutError:
        raise NoAnswer(f"nothing came back within {timeout:.0f} s") from None
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswer(_reason(error)) from None
    finally:
        connection.close()
    if response.status != 200:
        raise NoAnswer(f"{url} answered {response.status} {response.reason}")
    return body


def _first(urls: Sequence[str], ask: Callable[[str], T]) -> T:
    """The first answer of several servers, of which any may be down."""
    errors = []
    for url in urls:
        try:
            return ask(url)
        except NoAnswer as error:
            errors.append(f"{url}: {error}")
    raise NoAnswer("; ".join(errors))


def bean(base: str, name: str, timeout: float) -> Facts:
    """One bean of a Hadoop daemon's JMX servlet. Raises NoAnswer."""
    beans = fetch_json(f"{base}/jmx?qry={urllib.parse.quote(name, safe='=:,')}", timeout).get("beans") or []
    if not beans:
        raise NoAnswer(f"it has no bean {name} yet")
    bean: Facts = beans[0]
    return bean


# --- the questions ----------------------------------------------------------------------------------------------------


def ask_zookeeper(target: Target, timeout: float) -> Facts:
    """`srvr`: the only four-letter word that ZooKeeper allows by default. A server outside a quorum does not serve."""
    with _connect(target.host, target.port, timeout) as connection:
        connection.write(b"srvr")
        reply = b""
        while True:
            try:
                reply += connection.read(1)
            except Closed:
                break
    return parse_srvr(reply.decode(errors="replace"))


def parse_srvr(reply: str) -> Facts:
    """Version and mode (leader, follower, observer, standalone) out of the answer to `srvr`."""
    if "not in the whitelist" in reply:
        raise WrongAnswer("it does not allow srvr: add it to 4lw.commands.whitelist")
    lines = dict(line.split(": ", 1) for line in reply.splitlines() if ": " in line)
    if "Mode" not in lines:
        raise NoAnswer(reply.strip().rstrip(".") or "an empty answer")
    return {"mode": lines["Mode"], "version": lines.get("Zookeeper version", "").partition(",")[0]}


def ask_mariadb(target: Target, timeout: float) -> Facts:
    """`SELECT 1`, over the socket if one is given."""
    _, version = _query(target, timeout, "SELECT 1, VERSION()")
    return {"version": version}


def ask_ndb_sql(target: Target, timeout: float) -> Facts:
    """Whether it takes part in the cluster: without that it answers, and has none of its tables."""
    version, nodes = _query(
        target,
        timeout,
        "SELECT VERSION(), (SELECT VARIABLE_VALUE FROM performance_schema.global_status"
        " WHERE VARIABLE_NAME = 'Ndb_number_of_ready_data_nodes')",
    )
    if not int(nodes or 0):
        raise NoAnswer("it has no connection to a data node (ndb_mgm -e show tells which are started)")
    return {"version": version, "data_nodes": int(nodes)}


def strangers(target: Target, hosts: Sequence[str], timeout: float) -> list[str]:
    """From which of these hosts an SQL node is used right now by the user who asks, the only one he sees. As `Ask`."""
    asked = {address for host in hosts for address in _addresses(host)} - {"127.0.0.1", "::1", *_addresses(target.host)}
    names = {str(row[2]).rpartition(":")[0] or str(row[2]) for row in _rows(target, timeout, "SHOW PROCESSLIST")}
    return sorted(name for name in names if asked & {name, *_addresses(name)})


def wait_unused(target: Target, hosts: Sequence[str], timeout: float) -> None:
    """Until nobody of these other hosts uses an SQL node any more. Raises NoAnswer, WrongAnswer."""
    deadline = time.monotonic() + timeout
    while found := strangers(target, hosts, ATTEMPT_TIMEOUT):
        if time.monotonic() > deadline:
            raise NoAnswer(
                f"{target.user} at {', '.join(found)} is still connected to {target.place} after {timeout:.0f} s."
            )
        time.sleep(POLL)


def _addresses(host: str) -> set[str]:
    """Of a host's name or address; none if nobody knows it."""
    try:
        return {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except OSError:
        return set()


def _query(target: Target, timeout: float, sql: str) -> tuple[Any, ...]:
    """The first row of a query."""
    return next(iter(_rows(target, timeout, sql)), ())


def _rows(target: Target, timeout: float, sql: str) -> Sequence[tuple[Any, ...]]:
    """The rows of a query."""
    import pymysql

    seconds = max(1, int(timeout))
    where: dict[str, Any] = (
        {"unix_socket": target.unix_socket} if target.unix_socket else {"host": target.host, "port": target.port}
    )
    try:
        with (
            pymysql.connect(
                user=target.user or None,
                password=target.password,
                connect_timeout=seconds,
                read_timeout=seconds,
                **where,
            ) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(sql)
            return list(cursor.fetchall())
    except pymysql.MySQLError as error:
        code, text = (*error.args, "")[:2] if error.args else (0, str(error))
        if code in _ACCESS_ERRORS:
            raise WrongAnswer(f"{text} (login_user, login_password or login_unix_socket)") from None
        raise NoAnswer(str(text or code)) from None


def ask_namenode(target: Target, timeout: float) -> Facts:
    """Its JMX: up, and out of safe mode unless `safe_mode` lets that pass; with `namenode` also that one of those is active.

    Without that a standby counts as well: `state` tells which it is.
    """
    facts = _namenode(f"http://{target.place}", target.safe_mode, timeout)
    if target.namenode and facts["state"] != "active":
        facts["namenode"] = _first(target.namenode, lambda url: _active(url.rstrip("/"), target.safe_mode, timeout))
    return facts


def _active(base: str, safe_mode: bool, timeout: float) -> str:
    state = _namenode(base, safe_mode, timeout)["state"]
    if state != "active":
        raise NoAnswer(f"it is {state}")
    return base


def _namenode(base: str, safe_mode: bool, timeout: float) -> Facts:
    system = bean(base, "Hadoop:service=NameNode,name=FSNamesystemState", timeout)
    if system.get("FSState") != "Operational" and not safe_mode:
        why = bean(base, "Hadoop:service=NameNode,name=NameNodeInfo", timeout).get("Safemode") or ""
        raise NoAnswer(f"it is in safe mode. {why}".strip().rstrip("."))
    status = bean(base, "Hadoop:service=NameNode,name=NameNodeStatus", timeout)
    return {"state": status.get("State", ""), "live_datanodes": system.get("NumLiveDataNodes", 0)}


def ask_journalnode(target: Target, timeout: float) -> Facts:
    """Its JMX: it is up. Whether NameNodes write to it they know alone: hopshive.services.edits."""
    base = f"http://{target.place}"
    info = bean(base, "Hadoop:service=JournalNode,name=JournalNodeInfo", timeout)
    return {"version": str(info.get("Version", "")).partition(",")[0]}


def ask_zkfc(target: Target, timeout: float) -> Facts:
    """A call of no method, over its protocol; with `namenode` also that one of those is active."""
    try:
        answer = answer_of((target.host, target.port), "hdfs", Call(0, "hopshiveKnock", b"", _ZKFC_PROTOCOL), timeout)
    except (ConnectionLostError, NotHadoopError, RemoteError) as error:
        raise NoAnswer(str(error)) from None
    # Another daemon of Hadoop does not know the protocol.
    if not isinstance(answer, RemoteError) or answer.name != "RpcNoSuchMethodException":
        raise NoAnswer(f"it is not a failover controller: {answer}")
    if not target.namenode:
        return {}
    return {"namenode": _first(target.namenode, lambda url: _active(url.rstrip("/"), True, timeout))}


def ask_datanode(target: Target, timeout: float) -> Facts:
    """Its JMX, and with `namenode` also that a NameNode lists it as live."""
    info = bean(f"http://{target.place}", "Hadoop:service=DataNode,name=DataNodeInfo", timeout)
    name = f"{info.get('DatanodeHostname')}:{info.get('DataPort')}"
    facts: Facts = {"name": name, "version": info.get("Version", "").partition(",")[0]}
    if target.namenode:
        facts["namenode"] = _first(target.namenode, lambda url: _listed_live(url, name, timeout))
    return facts


def _listed_live(namenode: str, datanode: str, timeout: float) -> str:
    info = bean(namenode.rstrip("/"), "Hadoop:service=NameNode,name=NameNodeInfo", timeout)
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
    """Whether the active NameNode has copied everything that this DataNode holds (`namenode`; `host:port` is its data port).

    One that is dead counts as decommissioned at once. So of that, and of one that it does not know, it is asked whether any block
    has fewer copies than it should have.
    """

    def state(url: str) -> str:
        base = url.rstrip("/")
        _active(base, True, timeout)
        info = bean(base, "Hadoop:service=NameNode,name=NameNodeInfo", timeout)
        live = json.loads(info.get("LiveNodes") or "{}")
        if target.place in live:
            return str(live[target.place].get("adminState"))
        blocks = bean(base, "Hadoop:service=NameNode,name=FSNamesystem", timeout)
        lacking = int(blocks.get("UnderReplicatedBlocks", 0)) + int(blocks.get("MissingBlocks", 0))
        return f"not live, and that {lacking} blocks have too few copies" if lacking else "gone"

    found = _first(target.namenode, state)
    if found not in ("Decommissioned", "gone"):
        raise NoAnswer(
            f"the NameNode says that {target.place} is {found}; hdfs dfsadmin -report tells how much is left, hdfs fsck / of what"
        )
    return {"state": found.lower()}


def ask_nodemanager_leaving(target: Target, timeout: float) -> Facts:
    """Whether the active ResourceManager has ended what ran on this NodeManager (`resourcemanager`; `host:port` is its RPC)."""
    found = _first(target.resourcemanager, lambda url: _node_state(url, target.place, timeout))
    if found not in ("DECOMMISSIONED", "SHUTDOWN", "LOST", ""):
        raise NoAnswer(f"the ResourceManager says that {target.place} is {found}")
    return {"state": found.lower() or "gone"}


def _node_state(resourcemanager: str, node: str, timeout: float) -> str:
    """What a ResourceManager says of a NodeManager; empty if it does not know it."""
    nodes = fetch_json(f"{resourcemanager.rstrip('/')}/ws/v1/cluster/nodes", timeout).get("nodes") or {}
    states = {entry.get("id"): str(entry.get("state")) for entry in nodes.get("node", [])}
    return states.get(node, "")


def ask_resourcemanager(target: Target, timeout: float) -> Facts:
    """`/ws/v1/cluster/info`: started, and active or standby; just after its start it is neither."""
    info = fetch_json(f"http://{target.place}/ws/v1/cluster/info", timeout).get("clusterInfo", {})
    if info.get("state") != "STARTED" or info.get("haState") not in ("ACTIVE", "STANDBY"):
        raise NoAnswer(f"its state is {info.get('state')}, {info.get('haState')}")
    return {"state": info["haState"].lower(), "version": info.get("resourceManagerVersion", "")}


def ask_nodemanager(target: Target, timeout: float) -> Facts:
    """`/ws/v1/node/info`: healthy, and with `resourcemanager` also that one of them lists it as running."""
    info = fetch_json(f"http://{target.place}/ws/v1/node/info", timeout).get("nodeInfo", {})
    if not info.get("nodeHealthy"):
        raise NoAnswer(f"it is not healthy: {info.get('healthReport') or 'no report yet'}")
    facts: Facts = {"name": info.get("id", ""), "version": info.get("nodeManagerVersion", "")}
    if target.resourcemanager:
        facts["resourcemanager"] = _first(target.resourcemanager, lambda url: _registered(url, facts["name"], timeout))
    return facts


def _registered(resourcemanager: str, node: str, timeout: float) -> str:
    found = _node_state(resourcemanager, node, timeout)
    if found != "RUNNING":
        raise NoAnswer(f"the ResourceManager {f'lists {node} as {found}' if found else f'does not know {node}'}")
    return resourcemanager


def ask_metastore(target: Target, timeout: float) -> Facts:
    """`getVersion`, then `get_catalogs`, which reads its database. Plain Thrift: no SASL, no TLS, no framing."""
    with _connect(target.host, target.port, timeout) as connection, _thrift():
        version = call(connection, "getVersion", {})
        catalogs = call(connection, "get_catalogs", {}, sequence=2)
    if 0 not in catalogs:
        raise NoAnswer(f"get_catalogs: {_message(catalogs)}")
    return {"version": version.get(0, b"").decode(), "catalogs": [name.decode() for name in catalogs[0].get(1, [])]}


def metastore_start(host: str, port: int, timeout: float) -> float:
    """When a metastore's process began, in seconds since 1970 by its host's clock; it needs no database to tell. NoAnswer."""
    with _connect(host, port, timeout) as connection, _thrift():
        answer = call(connection, "aliveSince", {})
    if not isinstance(answer.get(0), int):
        raise NoAnswer(f"aliveSince: {_message(answer)}")
    return float(answer[0])


def call_metastore(place: str, method: str, arguments: Fields, timeout: float) -> dict[int, Any]:
    """Call a method of the metastore at `host:port` that returns a struct, or nothing; what it returned. Raises NoAnswer."""
    host, _, port = place.rpartition(":")
    with _connect(host, int(port), timeout) as connection, _thrift():
        result = call(connection, method, arguments)
    if result.keys() - {0}:
        raise NoAnswer(f"{method}: {_message(result)}")
    value: dict[int, Any] = result.get(0, {})
    return value


@contextmanager
def _thrift() -> Iterator[None]:
    try:
        yield
    except ThriftError as error:
        raise NoAnswer(str(error)) from None


def _message(result: Mapping[int, Any]) -> str:
    """The message of a declared exception: each of Hive's is a struct whose first field is it."""
    for exception in result.values():
        if isinstance(exception, dict) and isinstance(exception.get(1), bytes):
            return str(exception[1].decode(errors="replace"))
    return "an answer without a value"


# --- HiveServer2 ------------------------------------------------------------------------------------------------------

# Negotiation bytes of Thrift's SASL transport (TSaslTransport.NegotiationStatus).
_SASL_START: Final = 1
_SASL_OK: Final = 2
_SASL_COMPLETE: Final = 5
# TCLIService: HIVE_CLI_SERVICE_PROTOCOL_V10; TGetInfoType CLI_DBMS_VER; SUCCESS and SUCCESS_WITH_INFO.
_PROTOCOL_V10: Final = 9
_DBMS_VERSION: Final = 18
_SUCCESS: Final = (0, 1)


class _SaslStream:
    """After the handshake each message goes in a frame: four bytes of length, then the bytes."""

    def __init__(self, connection: SocketStream, user: str, password: str) -> None:
        self._connection = connection
        self._frame = b""
        self._negotiate(_SASL_START, b"PLAIN")
        self._negotiate(_SASL_OK, b"\0" + user.encode() + b"\0" + password.encode())
        status, length = struct.unpack(">bi", connection.read(5))
        if not 0 <= length <= 65536:
            raise ThriftError("not the SASL transport of Thrift; hive.server2.authentication NOSASL, or another port?")
        message = connection.read(length).decode(errors="replace")
        if status != _SASL_COMPLETE:
            raise WrongAnswer(f"it refused the login of {user}: {message or status}")

    def _negotiate(self, status: int, payload: bytes) -> None:
        self._connection.write(struct.pack(">bi", status, len(payload)) + payload)

    def write(self, data: bytes) -> None:
        self._connection.write(struct.pack(">i", len(data)) + data)

    def read(self, size: int) -> bytes:
        while len(self._frame) < size:
            (length,) = struct.unpack(">i", self._connection.read(4))
            self._frame += self._connection.read(length)
        data, self._frame = self._frame[:size], self._frame[size:]
        return data


def ask_server2(target: Target, timeout: float) -> Facts:
    """Log in with SASL PLAIN (authentication NONE, LDAP, PAM or CUSTOM), open a session, ask for its version, close it.

    With `statement` that is run as well; the answer must come within the same time.
    """
    user = target.user or "anonymous"
    with _connect(target.host, target.port, timeout) as connection, _thrift():
        stream = _SaslStream(connection, user, target.password or "anonymous")
        opened = _hive_call(
            stream,
            "OpenSession",
            {1: (TType.I32, _PROTOCOL_V10), 2: (TType.STRING, user), 3: (TType.STRING, target.password)},
        )
        session = _handle(opened[3][1])
        info = _hive_call(stream, "GetInfo", {1: session, 2: (TType.I32, _DBMS_VERSION)})
        facts: Facts = {"version": info[2].get(1, b"").decode()}
        if target.statement:
            facts["rows"] = _run(stream, session, target.statement)
        # After an error the server closes the session itself, with the connection.
        _hive_call(stream, "CloseSession", {1: session})
    return facts


def _handle(identifier: Mapping[int, bytes]) -> tuple[TType, Fields]:
    """A TSessionHandle or the identifier part of a TOperationHandle, from the one that was returned."""
    return TType.STRUCT, {1: (TType.STRUCT, {1: (TType.STRING, identifier[1]), 2: (TType.STRING, identifier[2])})}


def _run(stream: _SaslStream, session: tuple[TType, Any], statement: str) -> int:
    """Run one statement to its end and return the number of rows among the first hundred."""
    started = _hive_call(stream, "ExecuteStatement", {1: session, 2: (TType.STRING, statement), 4: (TType.BOOL, False)})
    returned = started[2]
    operation: tuple[TType, Fields] = (
        TType.STRUCT,
        {**_handle(returned[1])[1], 2: (TType.I32, returned[2]), 3: (TType.BOOL, returned[3])},
    )
    rows = 0
    if returned[3]:
        fetched = _hive_call(stream, "FetchResults", {1: operation, 2: (TType.I32, 0), 3: (TType.I64, 100)})
        # TRowSet.columns: a union with one list of values for each column.
        columns = fetched.get(3, {}).get(3, [])
        rows = max((len(next(iter(column.values())).get(1, [])) for column in columns), default=0)
    _hive_call(stream, "CloseOperation", {1: operation})
    return rows


def _hive_call(stream: _SaslStream, method: str, request: Fields) -> dict[int, Any]:
    """A call of TCLIService: one request struct, and a response whose first field is its status."""
    response: dict[int, Any] = call(stream, method, {1: (TType.STRUCT, request)}).get(0, {})
    status = response.get(1, {})
    if status.get(1) not in _SUCCESS:
        raise NoAnswer(f"{method}: {status.get(5, b'no message').decode(errors='replace')}")
    return response


def ask_cleaner(target: Target, timeout: float) -> Facts:
    """`/metrics`: it leads and can do what it has to, or it waits; with `cleaners` also that one of all leads."""
    own = f"http://{target.place}"
    found = _metrics(own, timeout)
    leads = found.get("hopshive_leader") == 1
    failing = [name for name, value in found.items() if name.startswith("hopshive_failing") and value]
    if failing:
        raise NoAnswer(f"it leads, but cannot do its work: {', '.join(failing)}")
    facts: Facts = {"state": "leading" if leads else "standby", "epoch": int(found.get("hopshive_epoch", 0))}
    leaders = [own] if leads else []
    for other in {url.rstrip("/") for url in target.cleaners} - {own}:
        try:
            leaders += [other] if _metrics(other, timeout).get("hopshive_leader") == 1 else []
        except NoAnswer:
            continue
    if target.cleaners and len(leaders) != 1:
        raise NoAnswer(f"of {', '.join(target.cleaners)}, {len(leaders) or 'none'} lead")
    return facts


def _metrics(base: str, timeout: float) -> dict[str, float]:
    """Prometheus' text: each series with its value."""
    lines = fetch(f"{base}/metrics", timeout).decode(errors="replace").splitlines()
    series = (line.rpartition(" ") for line in lines if line.startswith("hopshive_"))
    found = {name: float(value) for name, _, value in series}
    if "hopshive_leader" not in found:
        raise WrongAnswer("it has no metric hopshive_leader: something else listens there")
    return found


# --- waiting ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """How a kind of service is asked, and how that is called in a message; `unit` only where the kind is no component."""

    ask: Callable[[Target, float], Facts]
    asked: str
    port: int
    unit: str = ""


QUESTIONS: Mapping[str, Question] = {
    "zookeeper": Question(ask_zookeeper, "srvr", 2181),
    "mariadb": Question(ask_mariadb, "SELECT 1", 3306),
    "ndb_sql": Question(ask_ndb_sql, "its data nodes", 3306),
    "journalnode": Question(ask_journalnode, "its state, over JMX", 8480),
    "namenode": Question(ask_namenode, "its state, over JMX", 9870),
    "zkfc": Question(ask_zkfc, "an answer, over RPC", 8019, unit="hadoop-hdfs-zkfc"),
    "datanode": Question(ask_datanode, "its state, over JMX", 9864),
    "datanode_leaving": Question(ask_datanode_leaving, "whether it may go", 9866),
    "nodemanager_leaving": Question(ask_nodemanager_leaving, "whether it may go", 8041),
    "resourcemanager": Question(ask_resourcemanager, "/ws/v1/cluster/info", 8088),
    "nodemanager": Question(ask_nodemanager, "/ws/v1/node/info", 8042),
    "metastore": Question(ask_metastore, "get_catalogs, over Thrift", 9083),
    "cleaner": Question(ask_cleaner, "/metrics", 9853),
    "server2": Question(ask_server2, "a session, over Thrift", 10000),
}


def wait_for(
    target: Target,
    timeout: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Answer:
    """Ask until the service answers; at least once, at most for `timeout` seconds.

    Raises WrongAnswer or NoAnswer with a whole sentence: service, place, what was asked, the last error, where to look.
    """
    question = QUESTIONS[target.kind]
    begin = clock()
    attempts = 0
    while True:
        attempts += 1
        left = timeout - (clock() - begin)
        try:
            facts = question.ask(target, min(ATTEMPT_TIMEOUT, max(1.0, left)))
        except NoAnswer as error:
            if clock() - begin + POLL >= timeout:
                raise NoAnswer(failure(target, str(error), clock() - begin, attempts)) from None
        except WrongAnswer as error:
            raise WrongAnswer(
                f"{target.kind} at {target.place} was asked for {question.asked} and said: {error}."
            ) from None
        else:
            return Answer(facts, attempts, round(clock() - begin, 1))
        sleep(POLL)


def failure(target: Target, reason: str, waited: float, attempts: int) -> str:
    """The sentence for a service that did not answer in time."""
    unit = QUESTIONS[target.kind].unit or COMPONENTS[target.kind.removesuffix("_leaving")].unit
    where = target.host if not target.unix_socket else "this host"
    return (
        f"{target.kind} at {target.place} did not answer within {waited:.0f} s ({attempts} tries, asked for "
        f"{QUESTIONS[target.kind].asked}). Last error: {reason}. See journalctl -u {unit} on {where}."
    )
