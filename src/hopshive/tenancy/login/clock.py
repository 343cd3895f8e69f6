"""The time of the database, without asking for it each time: all replicas have one clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hopshive.database import Transaction

NOW = "SELECT UTC_TIMESTAMP(6)"


class Clock:
    """Seconds since 1970. Until it was set for the first time, those of this host."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()

    def now(self) -> float:
        """By the database, as far as it was last asked."""
        return time.monotonic() + self._ahead

    def set(self, now: float) -> None:
        """The database says so."""
        self._ahead = now - time.monotonic()


def read_now(tx: Transaction) -> float:
    """The time of the database, in seconds since 1970 with microseconds."""
    return seconds(tx.value(NOW))


def seconds(moment: datetime) -> float:
    """Of a DATETIME, which is UTC."""
    return moment.replace(tzinfo=UTC).timestamp()


def moment(at: float) -> datetime:
    """A DATETIME of seconds since 1970."""
    return datetime.fromtimestamp(at, UTC).replace(tzinfo=None)
