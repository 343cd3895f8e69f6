"""Which statements a restart of a HiveServer2 waits for, and how long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hopshive.draining import PAUSE, Statement, drain, statements
from hopshive.health import NoAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

ONE = Statement("q1", "spark", "SELECT 1")


def active(state: str, session: str = "s1") -> dict[str, Any]:
    display = {"queryId": "q1", "queryString": "SELECT\n 1"}
    return {
        "userName": "spark",
        "running": True,
        "state": state,
        "sessionId": session,
        "operationId": "o",
        "queryDisplay": display,
    }


def session(idle: int) -> dict[str, Any]:
    return {"sessionId": "s1", "idleTime": idle}


def test_a_statement_that_runs_counts_however_idle_its_session_is() -> None:
    assert statements([active("RUNNING")], [session(500)]) == [ONE]


def test_a_finished_statement_counts_while_its_rows_are_fetched() -> None:
    assert statements([active("FINISHED")], [session(1)]) == [ONE]
    assert statements([active("FINISHED")], [session(500)]) == []


@pytest.mark.parametrize("state", ["ERROR", "CANCELED", "TIMEDOUT"])
def test_a_statement_that_ended_without_a_result_is_not_waited_for(state: str) -> None:
    assert statements([active(state)], [session(1)]) == []


def test_an_idle_session_is_not_waited_for() -> None:
    assert statements([], [session(0)]) == []


class Clock:
    time = 0.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


def test_it_waits_until_no_statement_runs() -> None:
    clock = Clock()
    assert drain(lambda: [ONE] if clock.time < 60 else [], 3600, clock.now, clock.sleep) == []
    assert 60 <= clock.time <= 60 + PAUSE


def test_what_still_runs_at_the_limit_is_named() -> None:
    clock = Clock()
    assert drain(lambda: [ONE], 10, clock.now, clock.sleep) == [ONE]
    assert 10 <= clock.time <= 10 + PAUSE


def looks(*answers: list[Statement] | None) -> Callable[[], list[Statement]]:
    """Answers of the web UI, in turn; None is a silence."""
    left = iter(answers)

    def look() -> list[Statement]:
        answer = next(left)
        if answer is None:
            raise NoAnswer("silence")
        return answer

    return look


def test_a_web_ui_that_pauses_does_not_end_the_wait() -> None:
    clock = Clock()
    assert drain(looks([ONE], None, None, [ONE], None, []), 3600, clock.now, clock.sleep) == []
    assert clock.time == 5 * PAUSE


def test_a_web_ui_that_hangs_ends_it() -> None:
    clock = Clock()
    with pytest.raises(NoAnswer):
        drain(looks([ONE], None, None, None, [ONE]), 3600, clock.now, clock.sleep)
