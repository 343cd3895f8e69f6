"""What clients did: calls with their times, how they ended, and what a look at all of them says."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Call:
    """One call of a client; times are of the monotonic clock, in seconds. `error` is empty if it succeeded."""

    client: str
    begin: float
    end: float
    error: str = ""


@dataclass(frozen=True)
class Summary:
    """Of some calls: how many, how many failed, and in seconds the longest time in which no call of a client succeeded."""

    made: int
    failed: int
    gap: float
    errors: tuple[str, ...] = ()


@dataclass
class Record:
    """All calls of all clients. For any number of threads."""

    calls: list[Call] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def call(self, client: str, *expected: type[Exception]) -> Iterator[None]:
        """Note a call; exceptions of `expected` are noted too; others are raised."""
        begin = time.monotonic()
        error = ""
        try:
            yield
        except expected as raised:
            error = str(raised) or type(raised).__name__
            raise
        finally:
            with self._lock:
                self.calls.append(Call(client, begin, time.monotonic(), error))

    def between(self, begin: float, end: float) -> list[Call]:
        """Calls that ended in a time, in the order of their ends."""
        with self._lock:
            return sorted((call for call in self.calls if begin <= call.end <= end), key=lambda call: call.end)

    def clients(self) -> list[str]:
        """The client that called."""
        with self._lock:
            return sorted({call.client for call in self.calls})


def summary(calls: list[Call], begin: float, end: float) -> Summary:
    """Of one client's calls that ended between two times.

    The gap is how long a user would have waited at worst: from the end of one success to the end of the next one, where the
    first counts from `begin`, and a client without a success after that counts to `end`, or to the end of its last call.
    """
    last, gap = begin, 0.0
    for call in calls:
        if not call.error:
            gap = max(gap, call.end - last)
            last = call.end
    gap = max(gap, end - last, calls[-1].end - last if calls else 0.0)
    failed = [call for call in calls if call.error]
    return Summary(len(calls), len(failed), round(gap, 1), tuple(dict.fromkeys(one.error[:300] for one in failed)))
