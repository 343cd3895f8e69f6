"""Rows that somebody else has locked, where the database cannot skip them: on NDB, which waits for each and then rolls back.

A transaction that met such a row is done again for each half of its rows, and so on until the row stands alone. That row is left
alone for a while, longer each time: a try costs the time that NDB waits for a lock (TransactionDeadlockDetectionTimeout, 1.2 s),
but what a data node's end interrupted looks the same, and goes at the next try.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from hopshive.database.connection import Contention

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hopshive.database.connection import Database, Transaction

Key = TypeVar("Key")
Result = TypeVar("Result")

# Seconds until what somebody had locked is tried again: the first time, and at most, as it is twice as long each time.
FIRST = 1.0
AGAIN = 10.0
# Tries that may fail in one go: as many as one row among a thousand takes.
MOST_FAILED = 11


class Locked(Generic[Key]):
    """What is left alone now. For one thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # Until when, and for how long that was. Kept for a while afterwards, for the next time.
        self._left: dict[Key, tuple[float, float]] = {}

    def __len__(self) -> int:
        """How many are left alone, so that a query can ask for as many more."""
        now = self._remembered()
        return sum(until > now for until, _ in self._left.values())

    def free(self, keys: Iterable[Key]) -> list[Key]:
        """Those that are not left alone."""
        now = self._remembered()
        return [key for key in keys if key not in self._left or self._left[key][0] <= now]

    def spare(
        self, database: Database, keys: Iterable[Key], work: Callable[[Transaction, Sequence[Key]], Result]
    ) -> list[Result]:
        """Do something with rows, in one transaction if nobody has locked one of them; what each transaction returned.

        Where the server skips what is locked, that is up to `work`. Raises what a transaction does; Contention only there.
        """
        wanted = list(keys)
        left = deque([wanted] if wanted else [])
        results: list[Result] = []
        failed = 0
        while left and failed < MOST_FAILED:
            some = left.popleft()
            try:
                with database.transaction() as tx:
                    result = work(tx, some)
            except Contention:
                if database.skips_locked:
                    raise
                failed += 1
                middle = len(some) // 2
                # The large parts first: what nobody has locked is done before a locked row is found.
                if middle:
                    left += [some[:middle], some[middle:]]
                else:
                    self._leave(some)
            else:
                results.append(result)
                for key in some:
                    self._left.pop(key, None)
        for some in left:
            self._leave(some)
        return results

    def _remembered(self) -> float:
        """The time, with what was due long before it forgotten."""
        now = self._clock()
        self._left = {key: (until, pause) for key, (until, pause) in self._left.items() if until + AGAIN > now}
        return now

    def _leave(self, keys: Iterable[Key]) -> None:
        now = self._clock()
        for key in keys:
            pause = min(2 * self._left[key][1], AGAIN) if key in self._left else FIRST
            self._left[key] = (now + pause, pause)
