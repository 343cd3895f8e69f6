"""The configuration of daemon and commands: one YAML file, read once, and checked as a whole before anything starts."""

from __future__ import annotations

import difflib
import math
import posixpath
import re
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import yaml

from hopshive.access import denial
from hopshive.database import Names, Server
from hopshive.errors import Refused
from hopshive.hdfs.namenode import NameNode
from hopshive.hdfs.paths import FileSystem, authority
from hopshive.tls import parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEFAULT_PATH = Path("/etc/hopshive/hopshive.yml")
DAY = 86400.0
# In a pattern of scratch directories: any one directory.
ANY = "*"
# The fewest directories that a pattern names: /tmp and /user hold more than scratch.
LEAST_NAMED = 2
# Sections of the file that had another name.
RENAMED = {"cleaner": "garbage"}
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
Settings = TypeVar("Settings")


class ConfigError(Refused):
    """The file cannot be used; the message names the file and the setting."""


@dataclass(frozen=True)
class ServerConfig:
    """How a database is reached. The password is the first line of `password_file`; `unix_socket` replaces host and port.

    `others`: host:port of each other SQL node of the same cluster, tried in turn when the first does not answer.
    """

    host: str = "localhost"
    port: int = 3306
    others: list[str] = field(default_factory=list)
    unix_socket: str = ""
    user: str = "hopshive"
    password_file: str = ""
    # A file of certificates: with it the server must have TLS, and a certificate that one of them vouches for.
    ca_cert: str = ""
    # Whether that certificate must be for `host`.
    check_hostname: bool = True
    # The schema with hopshive's own tables.
    state: str = "hopshive"

    def server(self, database: str) -> Server:
        """The server with one of its databases, and the password read from its file. Raises ConfigError."""
        password = secret(self.password_file, "database.password_file")
        others = addresses(self.others)
        server = Server(database, self.host, self.port, self.user, password, self.unix_socket, others)
        if not self.ca_cert:
            return server
        return replace(server, ca_cert=self.ca_cert, check_hostname=self.check_hostname)


@dataclass(frozen=True)
class DatabaseConfig(ServerConfig):
    """The metastore's database."""

    metastore: str = "metastore"
    inodes: str = "hops.hdfs_inodes"


@dataclass(frozen=True)
class HdfsConfig:
    """The file system. `uris`: prefixes of locations, fs.defaultFS first. `namenodes`: host:port of each NameNode's RPC."""

    uris: list[str] = field(default_factory=list)
    namenodes: list[str] = field(default_factory=list)
    user: str = "hdfs"
    # Seconds to wait for a NameNode's answer.
    timeout: float = 10.0


@dataclass(frozen=True)
class MirrorConfig:
    """How the metastore follows HDFS. Times in seconds."""

    # From a deletion until the NameNode is asked again: some engines delete a directory and make it again.
    grace: float = 2.0
    # The same for metadata whose directory never existed, such as after ALTER TABLE SET LOCATION.
    unbound_grace: float = 300.0
    # From a move outside the trash until the policy applies: ALTER TABLE RENAME moves first and commits later.
    rename_grace: float = 300.0
    # The longest wait of a deleted directory for a job that writes beside it and may make it again.
    writer_grace: float = DAY
    rename_policy: Literal["delete", "follow", "report"] = "delete"
    # Objects in one transaction.
    batch: int = 500
    # The fuse: beyond `max_removals` removals within `fuse_window`, removals wait for a human.
    max_removals: int = 10000
    fuse_window: float = 600.0
    # Between two searches for new metadata. Events are asked for more often.
    poll: float = 0.2
    # Between two full comparisons. 0: only at the first start and after a gap in the events.
    compare_interval: float = DAY


@dataclass(frozen=True)
class JournalConfig:
    """How long removed metadata can be restored. Times in seconds."""

    expiry: float = 7 * DAY
    # Restore without a request when a directory comes back with the inode that it had.
    automatic: bool = True


@dataclass(frozen=True)
class GarbageConfig:
    """Garbage. Times in seconds."""

    # Follow the binary log of an SQL node of NDB Cluster: it has the rows that foreign keys delete.
    binary_log: bool = False
    # Between two sweeps over whole tables; candidates of the journal and the binary log are collected at once.
    sweep_interval: float = 3600.0
    # The most rows to delete in a second, on average.
    rate: int = 2000
    # Directories whose children are removed after `scratch_age` without a change. `*`: any one directory.
    scratch: list[str] = field(default_factory=list)
    scratch_age: float = 7 * DAY


@dataclass(frozen=True)
class MetricsConfig:
    """The daemon's HTTP port, with /metrics, /healthz and /leader; port 0: none."""

    host: str = "0.0.0.0"  # noqa: S104 - a metrics endpoint that only the host can read is of no use
    port: int = 9853
    # PEM files: with them the port has TLS. They are read again when they change.
    certificate: str = ""
    key: str = ""


@dataclass(frozen=True)
class Config:
    """The whole file. `lease`: seconds after which another daemon may lead. `name`: this daemon's; empty: the host name.

    `metastores`: host:port of each, with TLS `tls://host:port/<file of certificates>`; without one, the daemon finishes no
    DROP TABLE that was cut off.
    """

    source: Literal["hdfs", "hopsfs"] = "hdfs"
    name: str = ""
    lease: float = 10.0
    metastores: list[str] = field(default_factory=list)
    database: DatabaseConfig = field(default_factory=DatabaseConfig)
    hdfs: HdfsConfig = field(default_factory=HdfsConfig)
    mirror: MirrorConfig = field(default_factory=MirrorConfig)
    journal: JournalConfig = field(default_factory=JournalConfig)
    garbage: GarbageConfig = field(default_factory=GarbageConfig)
    metrics: MetricsConfig = field(default_factory=MetricsConfig)

    @property
    def file_system(self) -> FileSystem:
        """The file system, for locations."""
        return FileSystem(tuple(self.hdfs.uris))

    @property
    def namenodes(self) -> list[tuple[str, int]]:
        """Host and port of each NameNode."""
        return [authority(f"hdfs://{address}") for address in self.hdfs.namenodes]

    def namenode(self) -> NameNode:
        """A client of the NameNodes, for one thread."""
        return NameNode(self.namenodes, self.hdfs.user, self.hdfs.timeout)

    @property
    def names(self) -> Names:
        """The names of hopshive's schemas."""
        return Names(self.database.state, self.database.inodes)

    def server(self) -> Server:
        """The database, with the password read from its file. Raises ConfigError."""
        return self.database.server(self.database.metastore)


def read(path: Path) -> Config:
    """Read and check a file. Raises ConfigError, for an unknown setting too."""
    return checked(content(path, "cleaner"), path)


def content(path: Path, group: str) -> object:
    """What a YAML file holds. Raises ConfigError; `group` has the hosts with the file."""
    try:
        return yaml.safe_load(path.read_text())
    except OSError as error:
        elsewhere = ""
        if isinstance(error, FileNotFoundError):
            elsewhere = f" The hosts of the group {group} have this file; --config names another one."
        raise ConfigError(f"{path} cannot be read: {_reason(path, error)}.{elsewhere}") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        where = getattr(error, "problem_mark", None)
        line = f" in line {where.line + 1}" if where else ""
        raise ConfigError(f"{path} is not YAML{line}: {getattr(error, 'problem', error)}.") from None


def secret(file: str, setting: str) -> str:
    """The first line of a file that `setting` names; empty without a file. Raises ConfigError."""
    if not file:
        return ""
    try:
        return Path(file).read_text().split("\n", 1)[0]
    except (OSError, UnicodeDecodeError) as error:
        reason = _reason(Path(file), error) if isinstance(error, OSError) else "not text"
        raise ConfigError(f"{file} ({setting}) cannot be read: {reason}.") from None


def addresses(places: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Host and port of each `host:port`."""
    return tuple((host, int(port)) for host, _, port in (place.rpartition(":") for place in places))


def _reason(path: Path, error: OSError) -> str | None:
    return denial(path) if isinstance(error, PermissionError) else error.strerror


def checked(content: object, path: Path) -> Config:
    """The configuration that the content of the file `path` stands for; the file need not exist. Raises ConfigError."""
    config = made(Config, content, path)
    _check(config, path)
    return config


def made(cls: type[Settings], content: object, path: Path) -> Settings:
    """A dataclass of settings from the content of the file `path`. Raises ConfigError."""
    if not isinstance(content, dict):
        # The message must not repeat the content: another file may hold a secret.
        held = "a text" if isinstance(content, str) else _said(content)
        raise ConfigError(f"{path} must hold settings as `name: value`; it holds {held}.")
    settings: Settings = _made(cls, content, path, "")
    return settings


def _made(cls: type[Any], content: Mapping[Any, object], path: Path, prefix: str) -> Any:
    hints = get_type_hints(cls)
    known = {item.name for item in fields(cls)}
    for name in content:
        if name in RENAMED and not prefix:
            raise ConfigError(f"{path}: the section {name} is called {RENAMED[name]} now: rename the section.")
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            meant = f"did you mean {prefix}{near[0]}? " if near else ""
            raise ConfigError(
                f"{path}: unknown setting {prefix}{name}: {meant}Known settings: {', '.join(sorted(known))}."
            )
    return cls(**{name: _value(hints[name], value, path, prefix + name) for name, value in content.items()})


def _value(hint: Any, value: object, path: Path, name: str) -> object:
    if is_dataclass(hint):
        if not isinstance(value, dict):
            raise ConfigError(f"{path}: {name} must hold settings as `name: value`; it holds {_said(value)}.")
        return _made(hint, value, path, name + ".")  # type: ignore[arg-type]
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise ConfigError(f"{path}: {name} must be one of {', '.join(get_args(hint))}; it is {_said(value)}.")
        return value
    if get_origin(hint) is list:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f"{path}: {name} must be a list of texts; it is {_said(value)}.")
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    kind, fits = {
        bool: ("true or false", isinstance(value, bool)),
        int: ("a whole number", number and isinstance(value, int)),
        float: ("a number", number),
        str: ("a text", isinstance(value, str)),
    }[hint]
    if not fits:
        raise ConfigError(f"{path}: {name} must be {kind}; it is {_said(value)}.")
    if number and float(value) < 0:  # type: ignore[arg-type]
        raise ConfigError(f"{path}: {name} must not be negative; it is {value}.")
    return float(value) if hint is float else value  # type: ignore[arg-type]


def _said(value: object) -> str:
    return "nothing" if value is None else repr(value)


def _check(config: Config, path: Path) -> None:
    """Check values that the type of a setting allows and that cannot work. Raises ConfigError."""
    database = config.database
    schema, _, table = database.inodes.partition(".")
    for name, value in {"metastore": database.metastore, "state": database.state, "inodes": schema}.items():
        if not is_identifier(value):
            raise ConfigError(f"{path}: database.{name} is not a valid name of a schema: {_said(value)}.")
    if not is_identifier(table):
        raise ConfigError(f"{path}: database.inodes must be schema.table; it is {_said(database.inodes)}.")
    for name, number, least in (("database.port", database.port, 1), ("metrics.port", config.metrics.port, 0)):
        if not least <= number < 65536:
            raise ConfigError(f"{path}: {name} must be a port, {least} to 65535; it is {number}.")
    check_addresses("database.others", database.others, path)
    if not config.hdfs.uris:
        raise ConfigError(f"{path}: hdfs.uris is empty: give fs.defaultFS, for example hdfs://namenode:8020.")
    for uri in config.hdfs.uris:
        try:
            authority(uri)
        except ValueError as error:
            raise ConfigError(f"{path}: hdfs.uris: {error}.") from None
        if uri.endswith("/"):
            raise ConfigError(f"{path}: hdfs.uris: {uri} must not end with a slash.")
        if uri.count("/") > 2:
            raise ConfigError(f"{path}: hdfs.uris: {uri} must name a file system without a path.")
    if config.source == "hdfs" and not config.hdfs.namenodes:
        raise ConfigError(f"{path}: hdfs.namenodes is empty: give host:port of each NameNode.")
    check_addresses("hdfs.namenodes", config.hdfs.namenodes, path)
    check_places("metastores", config.metastores, path)
    try:
        check_scratch(config.garbage.scratch)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    if config.lease < 1:
        raise ConfigError(f"{path}: lease must be a second or more; it is {config.lease}.")
    for name, number in (("batch", config.mirror.batch), ("max_removals", config.mirror.max_removals)):
        if number < 1:
            raise ConfigError(f"{path}: mirror.{name} must be 1 or more; it is {number}.")


def is_identifier(text: str) -> bool:
    """Whether it can be the name of a schema or a table without quotes."""
    return _IDENTIFIER.fullmatch(text) is not None


def is_address(text: str) -> bool:
    """Whether it is `host:port`."""
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdecimal() and 0 < int(port) < 65536


def check_addresses(name: str, places: Sequence[str], path: Path) -> None:
    """Raises ConfigError unless each is `host:port`."""
    for address in places:
        if not is_address(address):
            raise ConfigError(f"{path}: {name}: {address} is not host:port.")


def check_places(name: str, places: Sequence[str], path: Path) -> None:
    """Raises ConfigError unless each is `host:port` or `tls://host:port/<file>`."""
    for place in places:
        try:
            parse(place)
        except ValueError as error:
            raise ConfigError(f"{path}: {name}: {error}.") from None


def check_scratch(patterns: Sequence[str]) -> None:
    """Raises ConfigError for a pattern that would remove more than scratch."""
    for pattern in patterns:
        parts = pattern.split("/")[1:]
        named = [part for part in parts if part != ANY]
        if not pattern.startswith("/") or posixpath.normpath(pattern) != pattern or pattern.startswith("//"):
            raise ConfigError(
                f"garbage.scratch: {pattern} must be an absolute path, without `.`, `..` and double slashes."
            )
        if any(ANY in part for part in named):
            raise ConfigError(
                f"garbage.scratch: {pattern}: an asterisk must stand for a whole directory, as in /tmp/hive/*."
            )
        if len(named) < LEAST_NAMED or parts[0] == ANY:
            raise ConfigError(
                f"garbage.scratch: {pattern} holds more than scratch. Name two directories or more, as in /tmp/hive/*."
            )
