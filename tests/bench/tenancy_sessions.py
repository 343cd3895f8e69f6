"""Sessions and results of HiveServer2 by Hive's JDBC driver: with login and TLS, without, and through a gateway."""

from __future__ import annotations

import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import click

from tests.bench.figures import percentile
from tests.bench.measurement import Measurement
from tests.bench.tenancy_logins import token
from tests.bench.tenancy_servers import OFF_PORTS, ON_PORTS
from tests.warehouse.hosts import ROOT
from tests.warehouse.people import GATEWAY_PORT, PeopleLab

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SOURCE = Path(__file__).with_name("SessionClient.java")
# Not below /tmp, which is mounted over what `docker cp` writes.
PLACE = "/var/lib/hopshive/bench-client"
LIBRARIES = ("hive/current/lib", "hadoop/current/share/hadoop/common", "hadoop/current/share/hadoop/common/lib")
LOG = ROOT / "build" / "bench" / "tenancy-jdbc.log"
PERSON, PROJECT = "alice", "sales"
TRUST = "ssl=true;sslTrustStore=/etc/hopshive-tls/truststore.p12;trustStoreType=PKCS12;trustStorePassword=changeit"
HTTP = "transportMode=http;httpPath=cliservice"
SESSION_ROUNDS, RESULT_ROUNDS = 60, 7
# Sessions of each way until the JVMs have compiled what they run.
WARM = 40
TABLE = "bench_result"
COLUMNS, WIDTH, ROWS = 10, 100, 100_000
SESSION_TARGET = RESULT_TARGET = 1.3
GATEWAY_TARGET = 1.5


class Client:
    """Hive's JDBC driver in a JVM on the first host of the group `server2`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.names: list[str] = []

    def way(self, name: str, url: str, user: str, password: str) -> None:
        """Name a way in; a second one of the name replaces it."""
        self._ask("way", name, url, user, password)
        if name not in self.names:
            self.names.append(name)

    def session(self, name: str) -> tuple[float, float, float]:
        """Milliseconds to open a session, to ask it one row, and to close it."""
        opened, asked, closed = (int(one) / 1e6 for one in self._ask("session", name))
        return opened, asked, closed

    def run(self, name: str, sql: str) -> None:
        """A statement in a session of its own."""
        self._ask("run", name, sql)

    def read(self, name: str, sql: str) -> tuple[float, int]:
        """Seconds from asking to the last row, and the characters of all rows."""
        nanoseconds, characters = self._ask("read", name, sql)
        return int(nanoseconds) / 1e9, int(characters)

    def _ask(self, *fields: str) -> list[str]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("\t".join(fields) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("> "):
                return understood(line)
        raise click.ClickException(f"The JDBC client ended at {fields[0]} {fields[1]}: see {LOG}.")


def understood(line: str) -> list[str]:
    """The fields of an answer. Raises ClickException for an error."""
    kind, _, rest = line.removeprefix("> ").strip().partition(" ")
    if kind != "ok":
        raise click.ClickException(f"JDBC: {rest}")
    return rest.split()


@contextmanager
def client(people: PeopleLab, *, gateway: bool) -> Iterator[Client]:
    """A client that knows all ways in, that through a gateway only if it is wanted. Raises ClickException."""
    host = people.lab.one("server2")
    with tempfile.TemporaryDirectory() as classes:
        done = subprocess.run(["javac", "-d", classes, str(SOURCE)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise click.ClickException(f"{SOURCE.name} does not compile: {done.stderr}")
        host.run("rm", "-rf", PLACE)
        host.run("mkdir", "-m", "0700", PLACE)
        subprocess.run(["docker", "cp", f"{classes}/.", f"{host.name}:{PLACE}"], check=True, capture_output=True)
    certificate, _ = people.certificate(PERSON)
    if (store := certificate.with_suffix(".p12")).exists():
        subprocess.run(["docker", "cp", str(store), f"{host.name}:{PLACE}/client.p12"], check=True, capture_output=True)
    classpath = ":".join([PLACE, *(f"/opt/hopshive/{directory}/*" for directory in LIBRARIES)])
    command = host.argv("java", "-Xmx1g", "-XX:+UseSerialGC", "-cp", classpath, "SessionClient")
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with (
        LOG.open("w") as log,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, encoding="utf-8"
        ) as process,
    ):
        try:
            found = Client(process)
            for name, way in ways(people, gateway=gateway).items():
                found.way(name, *way)
            yield found
        finally:
            assert process.stdin
            process.stdin.close()
            process.wait(30)
            host.run("rm", "-rf", PLACE)


def ways(people: PeopleLab, *, gateway: bool) -> dict[str, tuple[str, str, str]]:
    """URL, name and password of each way in. A gateway leads to the lab's own HiveServer2s, the others to the two of one host."""
    host, person = people.lab.one("server2").name, people.person(PERSON)
    found = {
        "off": (f"jdbc:hive2://{host}:{OFF_PORTS[0]}/default", "hive", "hive"),
        "off, HTTP": (f"jdbc:hive2://{host}:{OFF_PORTS[1]}/default;{HTTP}", "hive", "hive"),
        "password": (f"jdbc:hive2://{host}:{ON_PORTS[0]}/{PROJECT};{TRUST}", person.name, person.password),
    }
    secret = people.certificate(PERSON)[0].with_suffix(".password")
    if gateway and secret.exists() and (gateways := people.lab.group("gateway")):
        store = f"twoWay=true;sslKeyStore={PLACE}/client.p12;keyStoreType=PKCS12;keyStorePassword={secret.read_text().strip()}"
        url = f"jdbc:hive2://{gateways[0].name}:{GATEWAY_PORT}/{PROJECT};{TRUST};{HTTP};{store}"
        found["gateway"] = (url, "-", "-")
    elif gateway:
        click.echo(f"Without the gateway: {secret} or hosts of the group gateway are missing.")
    return found


def use_token(people: PeopleLab, found: Client) -> None:
    """Give the way `token` a new one, since tokens end."""
    host, name = people.lab.one("server2").name, people.person(PERSON).name
    found.way("token", f"jdbc:hive2://{host}:{ON_PORTS[0]}/{PROJECT};{TRUST}", name, token(people, PERSON, PROJECT))


def measure_sessions(people: PeopleLab, found: Client, scale: float) -> list[Measurement]:
    """What a session takes each way, in turns."""
    use_token(people, found)
    names = list(found.names)
    for _ in range(max(1, round(WARM * scale))):
        for name in names:
            found.session(name)
    use_token(people, found)
    taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    for turn in range(max(1, round(SESSION_ROUNDS * scale))):
        for name in names if turn % 2 == 0 else reversed(names):
            taken[name].append(found.session(name))
    return session_figures(taken)


def session_figures(taken: Mapping[str, Sequence[tuple[float, float, float]]]) -> list[Measurement]:
    """Medians, the slowest hundredth, and how many times as long as without."""
    figures = []
    for name, all_parts in taken.items():
        opened, asked, closed = (list(parts) for parts in zip(*all_parts, strict=True))
        figures += [
            Measurement(f"open a session, {shown(name)}", median(opened), "ms"),
            Measurement(f"- the same, p99, {shown(name)}", percentile(opened, 99), "ms"),
            Measurement(f"- SELECT 1, {shown(name)}", median(asked), "ms"),
            Measurement(f"- close, {shown(name)}", median(closed), "ms"),
        ]
    opening = {name: median(parts[0] for parts in all_parts) for name, all_parts in taken.items()}
    whole = {name: median(sum(parts) for parts in all_parts) for name, all_parts in taken.items()}
    for name in opening:
        against = base_of(name)
        if against is None:
            continue
        target = None if name == "gateway" else SESSION_TARGET
        said = f"{shown(name)} against {shown(against)}"
        figures.append(Measurement(f"open a session, {said}", opening[name] / opening[against], "times", target))
        figures.append(Measurement(f"open, ask, close, {said}", whole[name] / whole[against], "times"))
    return figures


def measure_results(found: Client, scale: float) -> list[Measurement]:
    """What a result of 100 MB takes each way, in turns."""
    rows = round(ROWS * scale)
    # Beyond the login a token makes no difference.
    names = [name for name in found.names if name != "token"]
    for name in ("off", "password"):
        for sql in statements(rows):
            found.run(name, sql)
    taken: dict[str, list[float]] = {name: [] for name in names}
    try:
        for turn in range(1 + max(1, round(RESULT_ROUNDS * scale))):
            for name in names if turn % 2 == 0 else reversed(names):
                seconds, characters = found.read(name, f"SELECT * FROM {TABLE}")
                if characters != rows * COLUMNS * WIDTH:
                    raise click.ClickException(f"{name}: the result has {characters} characters.")
                if turn:
                    taken[name].append(seconds)
    finally:
        for name in ("off", "password"):
            found.run(name, f"DROP TABLE IF EXISTS {TABLE}")
    return result_figures(taken, rows * COLUMNS * WIDTH / 1e6)


def result_figures(taken: Mapping[str, Sequence[float]], megabytes: float) -> list[Measurement]:
    """Medians, and how many times as long as without."""
    size = f"a result of {megabytes:g} MB"
    figures = [Measurement(f"{size}, {shown(name)}", median(seconds), "s") for name, seconds in taken.items()]
    for name in taken:
        if (against := base_of(name)) is not None:
            target = GATEWAY_TARGET if name == "gateway" else RESULT_TARGET
            times = median(taken[name]) / median(taken[against])
            figures.append(Measurement(f"{size}, {shown(name)} against {shown(against)}", times, "times", target))
    return figures


def base_of(name: str) -> str | None:
    """What a way is compared with: the same transport without login and TLS."""
    return {"password": "off", "token": "off", "gateway": "off, HTTP"}.get(name)


def shown(name: str) -> str:
    """A way as the tables name it."""
    return {
        "off": "without login and TLS",
        "off, HTTP": "without login and TLS over HTTP",
        "password": "TLS and password",
        "token": "TLS and token",
        "gateway": "gateway with certificate",
    }[name]


def statements(rows: int) -> list[str]:
    """Make the table: texts that cannot be compressed, of which a page of a result is as many bytes as characters."""
    # md5 has 32 letters; three and four more are 100.
    column = "concat(md5(concat(n, '{0}a')), md5(concat(n, '{0}b')), md5(concat(n, '{0}c')), '....') AS c{0}"
    columns = ", ".join(column.format(number) for number in range(COLUMNS))
    numbers = f"SELECT posexplode(split(space({rows - 1}), ' ')) AS (n, x)"
    return [
        f"DROP TABLE IF EXISTS {TABLE}",
        f"CREATE TABLE {TABLE} STORED AS ORC AS SELECT {columns} FROM ({numbers}) numbers",
    ]
