"""The duty `drops`: it finishes DROP TABLE for a metastore that ended too early."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.consistency import origin
from hopshive.consistency.drops.finish import Drops
from hopshive.daemon.worker import Work

if TYPE_CHECKING:
    from hopshive.config import Config
    from hopshive.daemon.metrics import Metrics
    from hopshive.database import Database


class DropsWork(Work):
    """Runs `Drops` as a duty."""

    def __init__(self, config: Config, database: Database, metrics: Metrics) -> None:
        self._config = config
        self._database = database
        self._namenode = config.namenode()
        self._drops = Drops(config, database, self._namenode, metrics)

    def start(self) -> None:
        """Raises Refused if the NameNode serves another file system than the one that is followed."""
        identity = self._namenode.identity()
        with self._database.reading() as tx:
            origin.check(tx, self._config, self._database.server.place, identity)

    def step(self) -> bool:
        """Do one step of `Drops`."""
        self._drops.step()
        return False

    def close(self) -> None:
        """End the connection to the NameNode."""
        self._namenode.close()
