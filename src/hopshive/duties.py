"""The duties of a leader, each in a thread with connections of its own. Only this module knows all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.consistency import schema
from hopshive.consistency.drops.work import DropsWork
from hopshive.consistency.garbage.work import BinaryLogWork, GarbageWork
from hopshive.consistency.mirror.work import MirrorWork
from hopshive.consistency.report import ReportWork
from hopshive.daemon.worker import Duty
from hopshive.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable

    from hopshive.config import Config
    from hopshive.daemon.metrics import Metrics
    from hopshive.database import Server

# Seconds between two requests for events while none happen. A request costs next to nothing.
EVENTS_POLL = 0.02
# Seconds from a step of the garbage collector that had nothing to do to the next step.
GARBAGE_POLL = 0.2
# The same for the reader of the binary log, which itself waits for events.
BINARY_LOG_POLL = 0.0
# Seconds between two reports on HDFS itself.
REPORT_POLL = 15.0
# Seconds between two searches for directories of dropped tables.
DROPS_POLL = 1.0


def duties(config: Config, metrics: Metrics) -> list[Duty]:
    """The duties for a configuration. The source `hopsfs` has no NameNode's events to follow."""
    found = [Duty("garbage", GARBAGE_POLL, lambda database: GarbageWork(config, database, metrics))]
    if config.garbage.binary_log:
        found.append(Duty("binary-log", BINARY_LOG_POLL, lambda database: BinaryLogWork(database, metrics)))
    if config.source == "hdfs":
        poll = min(EVENTS_POLL, config.mirror.poll)
        found.insert(0, Duty("mirror", poll, lambda database: MirrorWork(config, database, metrics)))
        if config.metastores:
            found.append(Duty("drops", DROPS_POLL, lambda database: DropsWork(config, database, metrics)))
        found.append(Duty("report", REPORT_POLL, lambda _: ReportWork(config, metrics)))
    return found


def check(config: Config, server: Server) -> Callable[[], None]:
    """A function that checks whether the schema fits this version and source: raises Refused and DatabaseUnavailable."""

    def ask() -> None:
        database = Database(server, config.names)
        try:
            schema.check(database, config.source, config.hdfs.uris)
        finally:
            database.close()

    return ask
