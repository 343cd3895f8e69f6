"""Waits until a HiveServer2 runs no statement, so that a restart cuts none off.

Sessions are not waited for: clients keep idle ones for days, and open another after a restart. The web UI lists the statements.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hopshive.health import NoAnswer, fetch_json

if TYPE_CHECKING:
    from collections.abc import Callable

# Between two looks, in seconds.
PAUSE = 2.0
# A statement that has finished counts as long as a client fetched rows of its session within that many seconds.
FETCHING = 30
# For one answer of the web UI, in seconds.
ANSWER_TIMEOUT = 10.0
SHOWN = 80
# Looks in a row without an answer after which the wait ends: a pause for garbage is no hang.
MISSES = 3
# The web UI lists a statement in these states as running until its client closes it.
ENDED = frozenset({"ERROR", "CANCELED", "TIMEDOUT"})


@dataclass(frozen=True)
class Statement:
    """A statement that runs: the query's id, its user, and the head of its text."""

    query: str
    user: str
    text: str

    def __str__(self) -> str:
        """One line of the run's output."""
        return f"{self.query} of {self.user}: {self.text}"


def running(base: str) -> list[Statement]:
    """The statements that a HiveServer2 runs, or whose rows are fetched; `base` is its web UI. Raises NoAnswer."""
    active = fetch_json(f"{base}/api/v1/queries/active", ANSWER_TIMEOUT)
    sessions = fetch_json(f"{base}/api/v1/sessions", ANSWER_TIMEOUT)
    return statements(active, sessions)


def statements(active: list[dict[str, Any]], sessions: list[dict[str, Any]]) -> list[Statement]:
    """Those of both answers of the web UI that a restart would cut off."""
    fetched = {session["sessionId"] for session in sessions if int(session["idleTime"]) < FETCHING}
    found = []
    for item in active:
        fetching = item["state"] != "FINISHED" or item["sessionId"] in fetched
        if not item["running"] or item["state"] in ENDED or not fetching:
            continue
        display = item.get("queryDisplay") or {}
        text = " ".join(str(display.get("queryString") or "").split())
        found.append(Statement(str(display.get("queryId") or item["operationId"]), str(item["userName"]), text[:SHOWN]))
    return found


def drain(
    look: Callable[[], list[Statement]],
    limit: float,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[Statement]:
    """Wait up to `limit` seconds until `look` finds no statement; what it found last.

    Raises NoAnswer after MISSES looks in a row that got none, and what else `look` raises.
    """
    end = now() + limit
    left: list[Statement] = []
    misses = 0
    while True:
        try:
            left, misses = look(), 0
            if not left:
                return left
        except NoAnswer:
            misses += 1
            if misses == MISSES:
                raise
        if now() >= end:
            return left
        sleep(PAUSE)
