"""Rows that another session has locked, on a database that cannot skip them: NDB waits for each and then rolls back.

A transaction that met such a row is repeated for each half of its rows, and so on until the locked row stands alone. That
row is then skipped for a while, longer each time. A try costs the time that NDB waits for a lock
(TransactionDeadlockDetectionTimeout, 1.2 s). A transaction that a data node's end interrupted looks the same, and succeeds
at the next try.
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

# Seconds for which a locked row is skipped: first, and at most, twice as long each time.
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 10.0
# Failed tries of one call: as many as one locked row among a thousand takes.
MOST_FAILED = 11


class Locked(Generic[Key]):
    """The rows that are skipped now. For one thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # For each row the end of its pause and the pause's length, kept for a while afterwards for the next pause.
        self._left: dict[Key, tuple[float, float]] = {}

    def __len__(self) -> int:
        """The number of skipped rows, so that a query can ask for as many more."""
        now = self._remembered()
        return sum(until > now for until, _ in self._left.values())

    def free(self, keys: Iterable[Key]) -> list[Key]:
        """Those rows that are not skipped."""
        now = self._remembered()
        return [key for key in keys if key not in self._left or self._left[key][0] <= now]

    def spare(
        self, database: Database, keys: Iterable[Key], work: Callable[[Transaction, Sequence[Key]], Result]
    ) -> list[Result]:
        """Do `work` with rows, in one transaction unless a row is locked; returns the result of each transaction.

        On a server that skips locked rows, `work` skips them itself. Raises a transaction's errors, Contention only there.
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
                # Large parts first: unlocked rows are done before the locked row is found.
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
        """The time now; forgets rows whose pause ended long ago."""
        now = self._clock()
        self._left = {key: (until, pause) for key, (until, pause) in self._left.items() if until + LONGEST_PAUSE > now}
        return now

    def _leave(self, keys: Iterable[Key]) -> None:
        now = self._clock()
        for key in keys:
            pause = min(2 * self._left[key][1], LONGEST_PAUSE) if key in self._left else FIRST_PAUSE
            self._left[key] = (now + pause, pause)
