"""How HDFS itself is, as a thread of the daemon: what follows directories is the first to notice."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from hopshive.daemon.worker import Work
from hopshive.hdfs.namenode import report

if TYPE_CHECKING:
    from hopshive.config import Config
    from hopshive.daemon.metrics import Metrics

log = logging.getLogger(__name__)


class ReportWork(Work):
    """Tells how HDFS itself is: space, NameNodes, DataNodes. No other work waits for it."""

    def __init__(self, config: Config, metrics: Metrics) -> None:
        self._config = config
        self._metrics = metrics
        self._said: list[str] = []

    def step(self) -> bool:
        """One look. A NameNode that does not answer is a part of what it tells: for the mirror to do something about."""
        timeout = min(report.TIMEOUT, self._config.hdfs.timeout)
        found = report.ask(self._config.namenodes, self._config.hdfs.user, timeout)
        self._metrics.show_hdfs(found)
        problems = found.problems
        for sentence in problems:
            if sentence not in self._said:
                log.warning("%s", sentence)
        if self._said and not problems:
            log.info("HDFS is well again.")
        self._said = problems
        return False
