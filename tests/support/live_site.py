"""A warehouse with daemons as processes, and the commands as their users run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml
from click.testing import CliRunner

from hopshive.cli import main
from tests.support.mirror_world import MirrorWorld
from tests.support.patience import until
from tests.support.servers import ROOT, free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.support.metastore_db import Metastore
    from tests.support.servers import Hdfs

LEASE = 2.0


@dataclass
class Site:
    """A warehouse with its configuration, and daemons."""

    world: MirrorWorld
    directory: Path
    daemons: list[subprocess.Popen[str]] = field(default_factory=list)

    def write(self, name: str, **change: Any) -> Path:
        """The configuration of one daemon."""
        path = self.directory / f"{name}.yml"
        metastore = self.world.metastore
        path.write_text(
            yaml.safe_dump(
                {
                    "name": name,
                    "lease": LEASE,
                    "database": {
                        "unix_socket": metastore.mariadb.socket,
                        "user": "root",
                        "metastore": metastore.server.database,
                        "state": metastore.names.state,
                        "inodes": metastore.names.inodes,
                    },
                    "hdfs": {"uris": self.world.config.hdfs.uris, "namenodes": self.world.config.hdfs.namenodes},
                    "mirror": {"grace": 0.1, "unbound_grace": 0.5, "max_removals": 3},
                    "metrics": {"host": "127.0.0.1", "port": free_port()},
                    **change,
                }
            )
        )
        return path

    def start(self, name: str, program: Sequence[str] = ("hopshive.cli",), **change: Any) -> subprocess.Popen[str]:
        """A daemon; what it says is in a file of its name. `program`: a module with arguments that come before its own."""
        log = (self.directory / f"{name}.log").open("w")
        config = str(self.write(name, **change))
        argv = [sys.executable, "-m", *program, "cleaner", "run", "--config", config]
        self.daemons.append(subprocess.Popen(argv, stderr=log, text=True, env=environment()))
        return self.daemons[-1]

    def run(self, *arguments: str, code: int = 0) -> str:
        """A command; what it prints, which is for a failure what it says."""
        done = CliRunner().invoke(main, [*arguments, "--config", str(self.directory / "one.yml")])
        unforeseen = done.exception and not isinstance(done.exception, SystemExit)
        assert done.exit_code == code and not unforeseen, (
            f"{arguments}: exit {done.exit_code}, {done.exception!r}\n{done.output}{self.logs()}"
        )
        return done.stdout or done.stderr

    def json(self, *arguments: str, code: int = 0) -> Any:
        """A command with --json."""
        return json.loads(self.run(*arguments, "--json", code=code))

    def bound(self) -> int:
        return int(self.world.metastore.execute("SELECT COUNT(PARTITION_ID) FROM SDS")[0][0])

    def fuse_blown(self) -> bool:
        return bool(self.world.metastore.execute("SELECT 1 FROM {state}.setting WHERE name = 'fuse'"))

    def logs(self) -> str:
        return "".join(path.read_text()[-3000:] for path in self.directory.glob("*.log"))

    def leads(self, name: str) -> bool:
        standing = self.world.metastore.execute("SELECT holder, expires > UTC_TIMESTAMP(6) FROM {state}.lease")
        return standing == [(name, 1)]

    def until(self, what: Callable[[], object], seconds: float = 15) -> None:
        until(what, seconds, self.logs, look=0.05)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}


@contextmanager
def run_site(metastore: Metastore, hdfs: Hdfs, directory: Path, root: str) -> Iterator[Site]:
    """An empty warehouse; its daemons end with the block."""
    world = MirrorWorld(metastore, hdfs, root)
    site = Site(world, directory)
    try:
        yield site
    finally:
        for daemon in site.daemons:
            daemon.kill()
            daemon.wait()
        world.close()
