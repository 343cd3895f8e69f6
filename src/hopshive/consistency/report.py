"""The duty `report`: the state of HDFS itself, in the daemon's metrics and log."""

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
    """Reports the state of HDFS: space, NameNodes, DataNodes. No other work waits for it."""

    def __init__(self, config: Config, metrics: Metrics) -> None:
        self._config = config
        self._metrics = metrics
        self._said: list[str] = []

    def step(self) -> bool:
        """Read the state once, and log new problems. A NameNode without an answer is such a problem, not an error."""
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
