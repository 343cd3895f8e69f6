"""What the commands share: options, exit codes, printing."""

from __future__ import annotations

import json
import signal
import sys
import threading
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from hopshive import config as configuration
from hopshive.access import denial
from hopshive.database import Database, DatabaseError, Server
from hopshive.errors import Refused
from hopshive.hdfs.namenode import NameNode, NameNodeError
from hopshive.install.artifacts.errors import ArtifactError
from hopshive.tls import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from hopshive.config import Config

# Exit codes, as in docs/cleaner.md. Click ends with 2 after wrong usage.
OK = 0
ERROR = 1
DIFFERENCES = 3
NO_LEADER = 4
# EX_CONFIG of sysexits.h: the daemon ended because a human must act.
REFUSED = 78

# Columns of output that is not a terminal: lines are not wrapped.
WIDE = 250


class Commands(click.Group):
    """Turns errors of the package and of files into one line and exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (ArtifactError, Refused, DatabaseError, NameNodeError) as error:
            raise click.ClickException(str(error)) from error
        except OSError as error:
            # A closed pipe names no file; click ends without a message.
            if error.filename is None:
                raise
            why = denial(Path(error.filename)) if isinstance(error, PermissionError) else error.strerror
            raise click.ClickException(f"{error.filename} cannot be used: {why}.") from error


def complain(sentence: str) -> None:
    """Print an error as click prints it, and continue."""
    click.ClickException(sentence).show()


class Place(click.ParamType[str]):
    """`host:port`."""

    name = "host:port"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The value itself; fails unless it is `host:port`."""
        if not configuration.is_address(value):
            self.fail(f"{value!r} is not host:port", param, ctx)
        return value


class TlsPlace(click.ParamType[str]):
    """`host:port`, or with TLS `tls://host:port/<file of certificates>`."""

    name = "place"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The value itself; fails unless hopshive.tls reads it."""
        try:
            parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return value


def until_stopped(run: Callable[[Callable[[], bool], Callable[[float], None]], None]) -> None:
    """Call `run(stop, sleep)`: `stop()` is true after SIGTERM or SIGINT, which also cut `sleep` short."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())

    def sleep(seconds: float) -> None:
        stop.wait(seconds)

    run(stop.is_set, sleep)


@dataclass(frozen=True)
class Site:
    """The configuration that a command uses, and how the command prints."""

    path: Path
    json: bool

    @cached_property
    def config(self) -> Config:
        """The configuration file's content. Raises ConfigError."""
        return configuration.read(self.path)

    @cached_property
    def server(self) -> Server:
        """The database server. Raises ConfigError."""
        return self.config.server()

    def database(self) -> Database:
        """A connection that does not check the lease: for reading, and for requests to the leader."""
        return Database(self.server, self.config.names)

    def namenode(self) -> NameNode | None:
        """A client of the NameNodes; None with the source `hopsfs`."""
        if self.config.source == "hopsfs":
            return None
        return self.config.namenode()

    def path_of(self, given: str, what: str) -> str:
        """The path on HDFS of a path or of a location (`hdfs://mycluster/x`), as DESCRIBE FORMATTED prints it.

        Raises UsageError, whose message begins with `what`.
        """
        path = given if given.startswith("/") else self.config.file_system.path_of(given)
        if path is None:
            places = ", ".join(self.config.file_system.uris)
            raise click.UsageError(
                f"{what} is neither a path on HDFS, which begins with /, nor a location on {places}."
            )
        return path

    def print_json(self, content: object) -> None:
        """Print one JSON document on standard output."""
        click.echo(json.dumps(content, default=_plain, indent=2))

    @cached_property
    def console(self) -> Console:
        """Standard output, for tables."""
        return console()

    @cached_property
    def progress_console(self) -> Console:
        """Standard error, for progress bars."""
        return console(stderr=True)


def console(stderr: bool = False) -> Console:
    """A console; it wraps lines only on a terminal."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else WIDE, highlight=False)


def site_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options --config and --json. The command gets both as its first argument, a Site."""

    @click.option(
        "--config",
        "config_path",
        # Site.config reports a file that cannot be read, and names the user or group that may.
        type=click.Path(path_type=Path, dir_okay=False, readable=False),
        default=configuration.DEFAULT_PATH,
        show_default=True,
        help="The daemon's configuration.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
    @wraps(command)
    def wrapped(config_path: Path, as_json: bool, **others: Any) -> Any:
        return command(Site(config_path, as_json), **others)

    return wrapped


def moment(at: datetime | None) -> str:
    """A time of the database, which is UTC, as text; empty for None."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else ""


def duration(seconds: float) -> str:
    """Seconds in at most two units: `3.2 s`, `5 min 3 s`, `2 d 4 h`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, name, below, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {name} {whole % size // below} {small}"
    return f"{whole} s"


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds") + "Z"
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{value!r} cannot be written as JSON")
