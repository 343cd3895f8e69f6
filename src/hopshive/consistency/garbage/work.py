"""Garbage and the binary log as threads of the daemon, and what humans ask of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hopshive.consistency.garbage.binlog import Follower
from hopshive.consistency.garbage.collector import Collector
from hopshive.daemon.request import Doing, RequestFailed
from hopshive.daemon.worker import Work
from hopshive.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hopshive.config import Config
    from hopshive.daemon.metrics import Metrics
    from hopshive.daemon.request import Handler
    from hopshive.database import Database


class GarbageWork(Work):
    """Collects garbage."""

    def __init__(self, config: Config, database: Database, metrics: Metrics) -> None:
        self._config = config
        self._metrics = metrics
        self._namenode = config.namenode() if config.namenodes else None
        self._collector = Collector(config, database, self._namenode, metrics)

    def step(self) -> bool:
        """A little."""
        return self._collector.step()

    def close(self) -> None:
        """End the connection to the NameNode."""
        if self._namenode is not None:
            self._namenode.close()

    def handlers(self) -> Mapping[str, Handler]:
        """What humans ask."""
        return {"collect": self._collect}

    def _collect(self, _: Mapping[str, Any]) -> Doing:
        """Sweep once; steps in between do it."""
        if not self._config.garbage.rate:
            raise RequestFailed("The garbage collection is switched off: garbage.rate is 0.")
        before = self._collected()
        self._collector.begin_sweep()
        while self._collector.sweeping:
            yield round(self._collected() - before), 0
        return f"Collected {counted(self._collected() - before, 'row')}."

    def _collected(self) -> float:
        samples = (sample for family in self._metrics.garbage_collected.collect() for sample in family.samples)
        return sum(sample.value for sample in samples if sample.name.endswith("_total"))


class BinaryLogWork(Work):
    """Follows the binary log of an SQL node."""

    def __init__(self, database: Database, metrics: Metrics) -> None:
        self._follower = Follower(database, metrics)

    def step(self) -> bool:
        """A little."""
        return self._follower.step()

    def close(self) -> None:
        """End the connections to the SQL node."""
        self._follower.close()
