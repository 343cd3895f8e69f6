"""The mirror as a thread of the daemon, and what humans ask of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hopshive.consistency import journal
from hopshive.consistency.mirror import queue_reports
from hopshive.consistency.mirror.loop import Mirror
from hopshive.consistency.mirror.returns import restore
from hopshive.daemon.lease import monotonic
from hopshive.daemon.request import Doing, RequestFailed
from hopshive.daemon.worker import Work
from hopshive.wording import counted, nothing_to_restore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hopshive.config import Config
    from hopshive.daemon.metrics import Metrics
    from hopshive.daemon.request import Handler
    from hopshive.database import Database

# Seconds beside the grace that a comparison waits for what it found to be decided.
DECIDING_SECONDS = 30.0
# Sentences on what could not be restored that a result has room for.
PROBLEMS = 10


class MirrorWork(Work):
    """Follows HDFS."""

    def __init__(self, config: Config, database: Database, metrics: Metrics) -> None:
        self._config = config
        self._database = database
        self._namenode = config.namenode()
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
        end = monotonic() + 2 * grace + DECIDING_SECONDS
        while monotonic() < end and self._undecided(grace + 1):
            yield seen, seen
        return f"Compared {counted(seen, 'storage descriptor')}: {comparison.differences} differed."

    def _undecided(self, seconds: float) -> bool:
        with self._database.reading() as tx:
            return queue_reports.is_undecided(tx, seconds)

    def _approve(self, argument: Mapping[str, Any]) -> Doing:
        """Only what the asker was shown: the paths, and nothing that is held since later."""
        if "until" not in argument:
            raise RequestFailed("An older hopshive asked, which does not say what it was shown. Ask with this version.")
        count = self._mirror.approve(argument["paths"], argument["until"])
        yield count, count
        if not count:
            return "Nothing waits for an approval."
        going = counted(count, "directory", "directories")
        return f"Approved: the metadata of {going} goes. The metadata of a directory that is back stays."

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
