"""What a leader does: mirror, cleaner, a look at HDFS, each in a thread with connections of its own; what humans may ask."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from hopshive.consistency import journal, origin, schema
from hopshive.consistency.drops.finish import Drops
from hopshive.consistency.garbage import Cleaner
from hopshive.consistency.garbage.binlog import Follower
from hopshive.consistency.mirror import Mirror
from hopshive.consistency.mirror.restoring import restore
from hopshive.daemon.lease import monotonic
from hopshive.daemon.request import Doing, RequestFailed
from hopshive.daemon.worker import Duty
from hopshive.database import Database
from hopshive.hdfs.namenode import NameNode, report
from hopshive.wording import counted, nothing_to_restore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hopshive.config import Config
    from hopshive.daemon.metrics import Metrics
    from hopshive.daemon.request import Handler
    from hopshive.database import Server

log = logging.getLogger(__name__)

# Seconds between two questions for events while nothing happens: they cost next to nothing.
EVENTS_POLL = 0.02
# Seconds from a step of the cleaner that had nothing to do to the next; it knows itself what it has to look at when.
CLEANER_POLL = 0.2
# The same of the follower of the binary log, which waits itself for something to come.
BINARY_LOG_POLL = 0.0
# Seconds between two looks at HDFS itself.
REPORT_POLL = 15.0
# Seconds between two looks for directories of dropped tables.
DROPS_POLL = 1.0
# Seconds beside the grace that a comparison waits for what it found to be decided.
SETTLE = 30.0
# Sentences on what could not be restored that a result has room for.
PROBLEMS = 10


def duties(config: Config, metrics: Metrics) -> list[Duty]:
    """With the source `hopsfs` there are no NameNode's events to follow."""
    found = [Duty("cleaner", CLEANER_POLL, lambda database: CleanerWork(config, database, metrics))]
    if config.cleaner.binary_log:
        found.append(Duty("binary-log", BINARY_LOG_POLL, lambda database: BinaryLogWork(database, metrics)))
    if config.source == "hdfs":
        poll = min(EVENTS_POLL, config.mirror.poll)
        found.insert(0, Duty("mirror", poll, lambda database: MirrorWork(config, database, metrics)))
        if config.metastores:
            found.append(Duty("drops", DROPS_POLL, lambda database: DropsWork(config, database, metrics)))
        found.append(Duty("report", REPORT_POLL, lambda _: ReportWork(config, metrics)))
    return found


def check(config: Config, server: Server) -> Callable[[], None]:
    """Whether the schema fits this version and this source: raises Refused; DatabaseUnavailable if nobody answers."""

    def ask() -> None:
        database = Database(server, config.names)
        try:
            schema.check(database, config.source, config.hdfs.uris)
        finally:
            database.close()

    return ask


def connect(config: Config) -> NameNode:
    """A client of the NameNodes, for one thread."""
    return NameNode(config.namenodes, config.hdfs.user, config.hdfs.timeout)


class MirrorWork:
    """Follows HDFS. As `hopshive.daemon.worker.Work`."""

    def __init__(self, config: Config, database: Database, metrics: Metrics) -> None:
        self._config = config
        self._database = database
        self._namenode = connect(config)
        self._metrics = metrics
        self._mirror = Mirror(config, database, self._namenode, metrics)
        self._whole_at = 0.0

    def start(self) -> None:
        """Load what is in memory."""
        self._mirror = Mirror(self._config, self._database, self._namenode, self._metrics)
        self._mirror.start()

    def step(self) -> bool:
        """One turn: only a question for events, if there are none and the database was just looked at."""
        if monotonic() < self._whole_at and not self._mirror.stirred():
            return False
        worked = self._mirror.step()
        self._whole_at = 0.0 if worked else monotonic() + self._config.mirror.poll
        return worked

    def close(self) -> None:
        """End the connection to the NameNode."""
        self._namenode.close()

    def handlers(self) -> Mapping[str, Handler]:
        """What humans ask."""
        return {"sync": self._sync, "approve": self._approve, "restore": self._restore}

    def _sync(self, _: Mapping[str, Any]) -> Doing:
        """Compare everything, and wait until what was found is decided; steps in between do both."""
        comparison = self._mirror.compare()
        while not comparison.over:
            yield comparison.seen, comparison.total
        seen = comparison.seen
        grace = self._config.mirror.grace
        end = monotonic() + 2 * grace + SETTLE
        while monotonic() < end and self._undecided(grace + 1):
            yield seen, seen
        return f"Compared {counted(seen, 'storage descriptor')}: {comparison.differences} differed."

    def _undecided(self, seconds: float) -> bool:
        with self._database.reading() as tx:
            return bool(
                tx.value(
                    "SELECT EXISTS (SELECT 1 FROM {state}.recheck WHERE state IN ('waiting', 'approved')"
                    " AND due < UTC_TIMESTAMP(3) + INTERVAL %s SECOND)",
                    (seconds,),
                )
            )

    def _approve(self, argument: Mapping[str, Any]) -> Doing:
        """Only what the asker was shown: the paths, and nothing that is held since later."""
        if "until" not in argument:
            raise RequestFailed("An older hopshive asked, which does not say what it was shown. Ask with this version.")
        count = self._mirror.approve(argument["paths"], argument["until"])
        yield count, count
        if not count:
            return "Nothing waits for an approval."
        return (
            f"Approved: the metadata of {counted(count, 'directory', 'directories')} goes. What is back by now stays."
        )

    def _restore(self, argument: Mapping[str, Any]) -> Doing:
        with self._database.reading() as tx:
            entries = journal.restorable(tx, **argument)
        if not entries:
            raise RequestFailed(nothing_to_restore(**argument))
        done, problems = 0, list[str]()
        batch = self._config.mirror.batch
        for start in range(0, len(entries), batch):
            yield start, len(entries)
            restored, more = restore(self._mirror.context, entries[start : start + batch])
            done += restored
            problems += more
        if problems:
            shown = " ".join(problems[:PROBLEMS])
            rest = f" And {len(problems) - PROBLEMS} more." if len(problems) > PROBLEMS else ""
            raise RequestFailed(f"Restored {done} of {counted(len(entries), 'object')}. {shown}{rest}")
        yield done, len(entries)
        return f"Restored {counted(done, 'object')}."


class CleanerWork:
    """Collects garbage. As `hopshive.daemon.worker.Work`."""

    def __init__(self, config: Config, database: Database, metrics: Metrics) -> None:
        self._config = config
        self._metrics = metrics
        self._namenode = connect(config) if config.namenodes else None
        self._cleaner = Cleaner(config, database, self._namenode, metrics)

    def start(self) -> None:
        """Nothing is to be prepared."""

    def step(self) -> bool:
        """A little."""
        return self._cleaner.step()

    def close(self) -> None:
        """End the connection to the NameNode."""
        if self._namenode is not None:
            self._namenode.close()

    def handlers(self) -> Mapping[str, Handler]:
        """What humans ask."""
        return {"collect": self._collect}

    def _collect(self, _: Mapping[str, Any]) -> Doing:
        """Sweep once; steps in between do it."""
        if not self._config.cleaner.rate:
            raise RequestFailed("The cleaner is switched off: cleaner.rate is 0.")
        before = self._collected()
        self._cleaner.begin_sweep()
        while self._cleaner.sweeping:
            yield round(self._collected() - before), 0
        return f"Collected {counted(self._collected() - before, 'row')}."

    def _collected(self) -> float:
        samples = (sample for family in self._metrics.garbage_collected.collect() for sample in family.samples)
        return sum(sample.value for sample in samples if sample.name.endswith("_total"))


class BinaryLogWork:
    """Follows the binary log of an SQL node. As `hopshive.daemon.worker.Work`."""

    def __init__(self, database: Database, metrics: Metrics) -> None:
        self._follower = Follower(database, metrics)

    def start(self) -> None:
        """Nothing is to be prepared."""

    def step(self) -> bool:
        """A little."""
        return self._follower.step()

    def close(self) -> None:
        """End the connections to the SQL node."""
        self._follower.close()

    def handlers(self) -> Mapping[str, Handler]:
        """Nobody asks it for anything."""
        return {}


class DropsWork:
    """Finishes DROP TABLE where a metastore did not. As `hopshive.daemon.worker.Work`."""

    def __init__(self, config: Config, database: Database, metrics: Metrics) -> None:
        self._config = config
        self._database = database
        self._namenode = connect(config)
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

    def handlers(self) -> Mapping[str, Handler]:
        """Nobody asks it for anything."""
        return {}


class ReportWork:
    """Tells how HDFS itself is: space, NameNodes, DataNodes. As `hopshive.daemon.worker.Work`; no other work waits for it."""

    def __init__(self, config: Config, metrics: Metrics) -> None:
        self._config = config
        self._metrics = metrics
        self._said: list[str] = []

    def start(self) -> None:
        """Nothing is to be prepared."""

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

    def close(self) -> None:
        """Nothing is kept."""

    def handlers(self) -> Mapping[str, Handler]:
        """Nobody asks it for anything."""
        return {}
