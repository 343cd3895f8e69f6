"""What finishes a DROP TABLE, as a thread of the daemon."""

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
    """Finishes DROP TABLE where a metastore did not."""

    def __init__(self, config: Config, database: Database, metrics: Metrics) -> None:
        self._config = config
        self._database = database
        self._namenode = config.namenode()
        self._drops = Drops(config, database, self._namenode, metrics)

    def start(self) -> None:
        """Nothing is moved on another file system than the metastore's. Raises Refused."""
        identity = self._namenode.identity()
        with self._database.reading() as tx:
            origin.check(tx, self._config, self._database.server.place, identity)

    def step(self) -> bool:
        """One look."""
        self._drops.step()
        return False

    def close(self) -> None:
        """End the connection to the NameNode."""
        self._namenode.close()
