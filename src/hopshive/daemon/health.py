"""The state of this process in memory: whether it is alive, what it reached lately, and which daemon leads.

The threads of the daemon write here. The threads of the HTTP port read, so that no request waits for a database or a
NameNode. As in Patroni, the lease says which daemon leads, and an expired lease counts for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hopshive.daemon.lease import monotonic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.daemon.lease import Standing, Term

# Seconds without a sign of life after which systemd restarts the daemon: WatchdogSec of the unit.
SILENT = 60.0
# Seconds for which a contact counts. A NameNode fails over in less, and a database restarts in less.
LATELY = 30.0
# Seconds for which "No daemon leads" counts: a standby reads the lease every second.
UNLED = 2.0


@dataclass(frozen=True)
class _Last:
    """`at`: the last success by `monotonic`, or the start of the daemon. `why`: the error since then."""

    at: float
    ever: bool = False
    why: str = ""


class Contact:
    """Something that the daemon needs, and when it was reached last. One thread writes, any thread reads.

    `name`: as in a sentence. `lately`: seconds for which a success counts. `who`: the subject of the sentence.
    """

    def __init__(self, name: str, lately: float = LATELY, who: str = "The daemon") -> None:
        self.name = name
        self._who = who
        self._lately = lately
        # One value, so that no reader sees half of a change.
        self._last = _Last(monotonic())

    def reached(self, at: float | None = None) -> None:
        """It answered, at a time by `monotonic` or now."""
        self._last = _Last(monotonic() if at is None else at, ever=True)

    def failed(self, why: str) -> None:
        """It did not answer; `why` is a sentence."""
        self._last = replace(self._last, why=why)

    @property
    def problem(self) -> str:
        """A sentence with the time since which it is out of reach, and why; empty if it was reached lately."""
        last = self._last
        age = monotonic() - last.at
        if last.ever and age <= self._lately:
            return ""
        since = _moment(age) if last.ever else f"its start at {_moment(age)}"
        return f"{self._who} has not reached {self.name} since {since}. {last.why}".rstrip()


@dataclass(frozen=True)
class _Sight:
    """A standby's last read of the lease: `holder` leads, no daemon if empty. It counts until `until`, by `monotonic`."""

    holder: str
    epoch: int
    until: float


@dataclass(frozen=True)
class Leader:
    """`here`: this daemon leads. `sentence`: which daemon leads."""

    here: bool
    sentence: str


class Health:
    """The state of one process. The main thread of the daemon writes, any thread reads.

    `name`: of this daemon. `namenodes`: host:port of each; without any, the daemon needs no NameNode.
    """

    def __init__(self, name: str, database: Contact, namenodes: Sequence[str]) -> None:
        self._name = name
        self.database = database
        self.namenode = Contact(_namenode(namenodes)) if namenodes else None
        self._alive = monotonic()
        self._term: Term | None = None
        self._sight: _Sight | None = None

    def alive(self) -> None:
        """Note a sign of life of the daemon."""
        self._alive = monotonic()

    def leads(self, term: Term) -> None:
        """Note that this daemon leads for a term, until the term ends."""
        self._sight = None
        self._term = term

    def waits(self, standing: Standing | None) -> None:
        """Note that this daemon is a standby, with what it read of the lease."""
        now = monotonic()
        if standing is not None and standing.led:
            self._sight = _Sight(standing.holder, standing.epoch, now + standing.left)
        else:
            self._sight = _Sight("", 0, now + UNLED)

    @property
    def contacts(self) -> list[Contact]:
        """What the daemon needs, whether it leads or not."""
        return [self.database, *([self.namenode] if self.namenode else [])]

    @property
    def problems(self) -> list[str]:
        """Why the daemon is not well, in sentences; empty if it is well."""
        silent = monotonic() - self._alive
        dead = [f"The daemon has shown no sign of life since {_moment(silent)}."] if silent > SILENT else []
        return dead + [problem for contact in self.contacts if (problem := contact.problem)]

    @property
    def leader(self) -> Leader:
        """Which daemon leads, as far as this one knows."""
        term, sight = self._term, self._sight
        if term is not None and term.held:
            return Leader(True, f"{self._name} leads, epoch {term.epoch}.")
        if sight is None or monotonic() >= sight.until:
            return Leader(False, "This daemon does not lead, and does not know which daemon leads.")
        return Leader(False, f"{sight.holder} leads, epoch {sight.epoch}." if sight.holder else "No daemon leads.")


def _namenode(addresses: Sequence[str]) -> str:
    if len(addresses) == 1:
        return f"the NameNode {addresses[0]}"
    return f"an active NameNode ({', '.join(addresses)})"


def _moment(age: float) -> str:
    """`2026-11-25 10:03:11 UTC, 42 s ago`. The age stays right when the clock is set."""
    moment = datetime.now(UTC) - timedelta(seconds=age)
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC, {age:.0f} s ago"
