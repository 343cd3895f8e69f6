"""What a table of faults says of calls."""

from __future__ import annotations

import pytest

from tests.faults.calls import Call, Record, summary


def test_the_gap_is_between_two_successes() -> None:
    calls = [Call("a", 0, 1), Call("a", 1, 4, "no"), Call("a", 4, 9), Call("a", 9, 10)]
    assert summary(calls, 0, 11).gap == 8
    assert (summary(calls, 0, 11).made, summary(calls, 0, 11).failed, summary(calls, 0, 11).errors) == (4, 1, ("no",))


def test_a_client_that_never_comes_back_has_the_longest_gap() -> None:
    assert summary([Call("a", 0, 2), Call("a", 2, 60, "no")], 0, 90).gap == 88
    assert summary([], 10, 90).gap == 80
    assert summary([Call("a", 0, 600, "timed out")], 0, 20).gap == 600


def test_a_call_that_ends_after_the_end_counts_to_its_own() -> None:
    assert summary([Call("a", 0, 95)], 0, 90).gap == 95


def test_a_record_notes_what_fails_and_lets_it_continue() -> None:
    record = Record()
    with record.call("a"):
        pass
    with pytest.raises(ValueError, match="x"), record.call("b", ValueError):
        raise ValueError("x")
    calls = record.between(0, float("inf"))
    assert [(call.client, call.error) for call in calls] == [("a", ""), ("b", "x")]
    assert record.clients() == ["a", "b"]
