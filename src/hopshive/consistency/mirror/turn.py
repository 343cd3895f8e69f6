"""What one turn of the mirror did, for its log and for the pace of the next turn."""

from __future__ import annotations

from dataclasses import dataclass

from hopshive.wording import counted


@dataclass(slots=True)
class Turn:
    """Counts of one turn. `asked`: events were asked for; `more`: the NameNode has more of them; `advanced`: some were new.

    `unread`: a removal waits for events that the NameNode has not shown yet.
    """

    asked: bool = False
    advanced: bool = False
    more: bool = False
    unread: bool = False
    events: int = 0
    bound: int = 0
    decided: int = 0
    removed: int = 0
    restored: int = 0
    held: int = 0
    compared: int = 0

    def __str__(self) -> str:
        """What the turn did; empty if it did nothing."""
        done = [
            (self.events, "event", "read"),
            (self.bound, "descriptor", "bound"),
            (self.decided, "check", "decided"),
            (self.removed, "object", "removed"),
            (self.restored, "object", "restored"),
            (self.held, "check", "held"),
            (self.compared, "descriptor", "compared"),
        ]
        return ", ".join(f"{counted(count, what)} {verb}" for count, what, verb in done if count)
