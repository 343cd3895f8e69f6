"""How often the mirror asks: enough to follow at once, little enough to leave the machine to others.

For each answer the NameNode reads its open segment of edits from the beginning, so an answer costs more as the segment grows. The
pause after an answer that left nothing unread is `REST` times as long as the answer took. Under a constant stream of unrelated
events this caps mirror, NameNode and database together at about 5 % of one processor. Deletions come in bursts, so no pause
follows a removal.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from hopshive.consistency.mirror.turn import Turn

# The pause after an answer that left nothing unread, and after the turn that followed, in times of what they took.
REST = 19.0
# Seconds of pause that may be owed, so that the first events after a quiet time are read without a pause.
OWED = 0.5
# Seconds of a turn that count for the pause: what follows a long turn must not wait for twenty times that.
COUNTED_TURN = 0.02
# Questions in a row without a pause that brought none of the events that a removal waits for. The NameNode shows its newest edits
# within milliseconds; where it does not, the usual pause follows.
UNREAD_QUESTIONS = 10


class Pace:
    """When events are asked for again. `clock`: seconds, monotonic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0
        self._vain = 0

    @property
    def pauses(self) -> bool:
        """Whether it is too early to ask for events."""
        return self._clock() < self._next - OWED

    def answered(self, began: float, *, more: bool) -> None:
        """The NameNode has answered a question of the time `began`; `more`: it has more events to show at once."""
        if not more:
            self._next = max(self._next, began) + (1 + REST) * (self._clock() - began)

    def ended(self, turn: Turn, began: float, *, worked: bool) -> bool:
        """A turn is over that `began` after its events were read; whether events are asked for again without a pause.

        `worked`: pending checks were decided, or wait for nothing but their next turn.
        """
        self._vain = self._vain + turn.asked if turn.unread and not turn.advanced else 0
        unread = turn.unread and self._vain < UNREAD_QUESTIONS
        if turn.removed or turn.restored or unread:
            self._next = min(self._next, self._clock())
        elif turn.asked and not turn.more and not worked:
            self._next += REST * min(COUNTED_TURN, self._clock() - began)
        return unread


class Every:
    """A moment that comes at most once in some seconds; the first one comes at once."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._next = 0.0

    def comes(self) -> bool:
        """Whether the moment has come. If it has, the next one comes after `seconds`."""
        now = self._clock()
        if now < self._next:
            return False
        self._next = now + self.seconds
        return True

    def hasten(self) -> None:
        """Let the moment come at once."""
        self._next = 0.0

    def wait(self, seconds: float) -> None:
        """Let the next moment come after some seconds from now."""
        self._next = self._clock() + seconds
