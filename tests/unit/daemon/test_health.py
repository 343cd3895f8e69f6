"""What the daemon says about itself, by a clock of the tests' own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest

from hopshive.daemon import health as health_module
from hopshive.daemon.health import LATELY, SILENT, UNLED, Contact, Health
from hopshive.daemon.lease import Standing

if TYPE_CHECKING:
    from hopshive.daemon.lease import Term

UNKNOWN = "This daemon does not lead, and does not know which daemon leads."


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Held:
    epoch: int = 7
    held: bool = True


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(health_module, "monotonic", clock)
    return clock


@pytest.fixture
def health() -> Health:
    """Of a daemon that reached all just now."""
    health = Health("one", Contact("the database"), ["nn:8020"])
    for contact in health.contacts:
        contact.reached()
    return health


# --- contacts ---------------------------------------------------------------------------------------------------------


def test_what_was_never_reached_is_a_problem_from_the_start(clock: Clock) -> None:
    contact = Contact("the database")
    clock.now += 3
    assert re.fullmatch(
        r"The daemon has not reached the database since its start at [-\d]{10} [:\d]{8} UTC, 3 s ago\.", contact.problem
    )


def test_a_failure_right_after_a_success_is_no_problem(clock: Clock) -> None:
    contact = Contact("the database")
    contact.reached()
    clock.now += LATELY
    contact.failed("It does not answer.")
    assert contact.problem == ""


def test_a_problem_tells_the_last_success_and_the_last_reason(clock: Clock) -> None:
    contact = Contact("the database")
    contact.reached()
    contact.failed("It does not answer.")
    clock.now += LATELY + 12
    contact.failed("It refuses connections.")
    assert re.fullmatch(
        r"The daemon has not reached the database since [-\d]{10} [:\d]{8} UTC, 42 s ago\. It refuses connections\.",
        contact.problem,
    )


def test_a_success_ends_a_problem(clock: Clock) -> None:
    contact = Contact("the database")
    contact.failed("It does not answer.")
    contact.reached()
    assert contact.problem == ""
    clock.now += LATELY + 1
    assert contact.problem.endswith(" s ago.")


def test_silence_without_a_failure_is_a_problem(clock: Clock) -> None:
    """A client that asks may hang itself."""
    contact = Contact("the database", lately=100)
    contact.reached()
    clock.now += 100
    assert contact.problem == ""
    clock.now += 1
    assert contact.problem


# --- the daemon -------------------------------------------------------------------------------------------------------


def test_a_daemon_without_a_sign_of_life_has_a_problem(health: Health, clock: Clock) -> None:
    clock.now += SILENT + 1
    for contact in health.contacts:
        contact.reached()
    (problem,) = health.problems
    assert re.fullmatch(r"The daemon has shown no sign of life since .* UTC, 61 s ago\.", problem)
    health.alive()
    assert health.problems == []


def test_each_contact_out_of_reach_is_a_problem_of_its_own(health: Health, clock: Clock) -> None:
    clock.now += LATELY + 1
    first, second = health.problems
    assert "has not reached the database since" in first
    assert "has not reached the NameNode nn:8020 since" in second


def test_a_daemon_without_namenodes_needs_none() -> None:
    health = Health("one", Contact("the database"), [])
    health.database.reached()
    assert (health.namenode, health.problems) == (None, [])


# --- who leads --------------------------------------------------------------------------------------------------------


def test_a_daemon_that_has_not_asked_yet_does_not_know_who_leads(health: Health) -> None:
    assert (health.leader.here, health.leader.sentence) == (False, UNKNOWN)


def test_a_daemon_leads_exactly_as_long_as_its_term(health: Health) -> None:
    term = Held()
    health.waits(Standing("two", 6, 9.0))
    health.leads(cast("Term", term))
    assert (health.leader.here, health.leader.sentence) == (True, "one leads, epoch 7.")
    term.held = False
    assert (health.leader.here, health.leader.sentence) == (False, UNKNOWN)


def test_another_leads_until_its_lease_expires_unless_it_is_seen_again(health: Health, clock: Clock) -> None:
    health.waits(Standing("two", 8, 9.0))
    clock.now += 8.9
    assert (health.leader.here, health.leader.sentence) == (False, "two leads, epoch 8.")
    clock.now += 0.2
    assert health.leader.sentence == UNKNOWN


@pytest.mark.parametrize("standing", [None, Standing("two", 8, -1.0)], ids=["never", "expired"])
def test_that_no_daemon_leads_is_known_for_a_moment(health: Health, clock: Clock, standing: Standing | None) -> None:
    health.waits(standing)
    assert (health.leader.here, health.leader.sentence) == (False, "No daemon leads.")
    clock.now += UNLED
    assert health.leader.sentence == UNKNOWN
