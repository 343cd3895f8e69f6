"""The table of pending checks as people see it: statements that only read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.consistency.mirror.pending_check import MovedDirectory
from hopshive.consistency.mirror.queue import waiting_for_humans
from hopshive.database import marks, state
from hopshive.hdfs.paths import decoded, encoded, prefixes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.database import Row, Transaction

# The directory above a path.
_PARENT = "LEFT(path, GREATEST(1, LENGTH(path) - LOCATE('/', REVERSE(path))))"


def counts(tx: Transaction) -> dict[str, int]:
    """How many checks there are, by state."""
    return {str(state): int(n) for state, n in tx.rows("SELECT state, COUNT(*) FROM {state}.recheck GROUP BY state")}


def moved(tx: Transaction, limit: int = 1000) -> list[MovedDirectory]:
    """What was moved and is waited for, the first that goes first."""
    rows = tx.rows(
        "SELECT path, target, GREATEST(0, TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), due)) FROM {state}.recheck"
        " WHERE kind = 'rename' AND state IN ('waiting', 'approved') ORDER BY due, id LIMIT %s",
        (limit,),
    )
    return [MovedDirectory(decoded(path), decoded(target), int(left)) for path, target, left in rows]


def is_undecided(tx: Transaction, seconds: float) -> bool:
    """Whether a check is due within some seconds that waits for no human."""
    return bool(
        tx.value(
            "SELECT EXISTS (SELECT 1 FROM {state}.recheck WHERE state IN ('waiting', 'approved')"
            " AND due < UTC_TIMESTAMP(3) + INTERVAL %s SECOND)",
            (seconds,),
        )
    )


# --- what waits for a human -------------------------------------------------------------------------------------------


def held_directories(tx: Transaction, paths: Sequence[str]) -> list[Row]:
    """Path, kind, state, target, inode, time and sentence of directories that wait for a human, at or below some paths."""
    where, arguments = waiting_for_humans(paths)
    return tx.rows(
        "SELECT path, kind, state, target, inode, held_at, message FROM {state}.recheck"
        f" WHERE kind <> 'missing' AND {where} ORDER BY held_at, id",
        arguments,
    )


def held_missing(tx: Transaction, paths: Sequence[str]) -> list[Row]:
    """The same of the kind `missing`, by the directory that several lay in: its path, state, number, time and sentence."""
    where, arguments = waiting_for_humans(paths)
    return tx.rows(
        f"SELECT {_PARENT}, state, COUNT(*), MAX(held_at), MIN(message) FROM {{state}}.recheck"
        f" WHERE kind = 'missing' AND {where} AND EXISTS (SELECT 1 FROM SDS s WHERE s.SD_ID = recheck.sd_id)"
        " GROUP BY 1, state ORDER BY 4, 1",
        arguments,
    )


def first_held(tx: Transaction) -> str | None:
    """Why the check is held that is held longest."""
    why = tx.value("SELECT message FROM {state}.recheck WHERE state = 'held' ORDER BY held_at, id LIMIT 1")
    return None if why is None else str(why)


def is_held_because(tx: Transaction, sentence: str) -> bool:
    """Whether a check is held for this reason."""
    return bool(tx.value("SELECT COUNT(*) FROM {state}.recheck WHERE state = 'held' AND message = %s", (sentence,)))


# --- when it is decided -----------------------------------------------------------------------------------------------


def departed(tx: Transaction, limit: int) -> list[Row]:
    """Path, kind, target, state and time of the newest checks of directories that went."""
    return tx.rows(
        "SELECT path, kind, target, state, due FROM {state}.recheck WHERE kind IN ('unlink', 'trash', 'rename')"
        " AND state IN ('waiting', 'approved', 'held', 'reported') ORDER BY id DESC LIMIT %s",
        (limit,),
    )


def pending_of(tx: Transaction, sd_ids: Sequence[int]) -> list[Row]:
    """sd_id, state and time of the checks of some descriptors whose directory was never seen."""
    if not sd_ids:
        return []
    return tx.rows(f"SELECT sd_id, state, due FROM {{state}}.recheck WHERE sd_id IN ({marks(sd_ids)})", sd_ids)


@dataclass(frozen=True, slots=True)
class WaitedFor:
    """The checks that `hopshive wait` waits for: those up to a number that need no human, about some paths or about all.

    A return that was tried and waits for something else has a message; it is no effect that comes by itself.
    """

    last: int
    paths: Sequence[str]

    def _where(self) -> tuple[str, list[object]]:
        where = (
            "FROM {state}.recheck WHERE state IN ('waiting', 'approved') AND NOT (kind = 'restore' AND message <> '')"
            " AND id <= %s"
        )
        if not self.paths:
            return where, [self.last]
        # A directory that goes takes with it what lies in it.
        above = [encoded(one) for path in self.paths for one in prefixes(path)]
        about, arguments = state.at_or_below([encoded(path) for path in self.paths], above)
        return f"{where} AND {about}", [self.last, *arguments]

    def count(self, tx: Transaction) -> int:
        where, arguments = self._where()
        return int(tx.value(f"SELECT COUNT(*) {where}", arguments))

    def first(self, tx: Transaction) -> Row | None:
        """Path, kind and seconds of the check that is due first."""
        where, arguments = self._where()
        seconds = "GREATEST(0, TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), due))"
        return tx.row(f"SELECT path, kind, {seconds} {where} ORDER BY due LIMIT 1", arguments)


def newest(tx: Transaction) -> int:
    """The number of the newest check, 0 without any."""
    return int(tx.value("SELECT COALESCE(MAX(id), 0) FROM {state}.recheck"))
