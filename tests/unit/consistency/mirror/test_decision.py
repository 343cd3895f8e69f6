"""The decision on pending checks, as a table: what a survey found, and what follows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import pytest

from hopshive.consistency.mirror.decision import (
    MANY_HELD_AGAIN,
    Decision,
    Follow,
    Hold,
    Nothing,
    Postpone,
    Rebind,
    Remove,
    Report,
    decide,
    rebind,
)
from hopshive.consistency.mirror.pending_check import HELD_AGAIN, PendingCheck
from hopshive.consistency.mirror.survey import Anywhere, Leaves, Page, Spared, Subtree, Survey
from hopshive.consistency.mirror.tree import Bound, Found, Key

if TYPE_CHECKING:
    from hopshive.consistency.mirror.pending_check import CheckKind, CheckState
    from hopshive.consistency.mirror.survey import Target

POLICIES = ("delete", "follow", "report")
TARGETS: tuple[Target, ...] = ("exists", "gone", "unknown")
WENT: tuple[CheckKind, ...] = ("unlink", "trash", "replace")
ASKED: tuple[CheckState, ...] = ("waiting", "held", "reported")
STATES: tuple[CheckState, ...] = (*ASKED, "approved")
MOVED = PendingCheck("rename", "/w/t", "/elsewhere/t", inode=7, id=1)
REPORT = "/w/t was moved to /elsewhere/t; 3 objects still refer to the old place."


def directory(kind: CheckKind = "unlink", objects: int = 3) -> Survey:
    return Survey([PendingCheck(kind, "/w/t", inode=7, id=1)], Subtree(Key(5, b"t")), objects)


def leaves(objects: int = 3) -> Survey:
    checks = [PendingCheck("unlink", f"/w/t/p={n}", inode=n, id=n) for n in (1, 2)]
    return Survey(checks, Leaves("/w/t", 7), objects)


def missing(objects: int = 3) -> Survey:
    check = PendingCheck("missing", "/w/t", sd_id=9, id=1)
    return Survey([check], Anywhere({9: "/w/t"}), objects, absent={1: [Bound(9, "hdfs://n/w/t", Key(0, b""))]})


def moved(target: Target = "exists", check: PendingCheck = MOVED) -> Survey:
    return Survey([check], Subtree(None), 3, target=target)


def in_state(survey: Survey, state: CheckState = "waiting", removal: int | None = None) -> Survey:
    return replace(survey, checks=[replace(one, state=state, removal=removal) for one in survey.checks])


@pytest.mark.parametrize("kind", WENT)
def test_a_directory_that_is_gone_is_removed_as_far_as_the_fuse_lets_it_go(kind: CheckKind) -> None:
    sentence = "/w/t is gone: 3 objects or more would be removed, 2 are allowed now."
    assert decide(directory(kind), "report", 3) == Remove()
    assert decide(directory(kind), "report", 2) == Hold(sentence, blows=True, wait=HELD_AGAIN)


def test_leaves_are_removed_or_held_together() -> None:
    sentence = "/w/t/p=1 is gone: 3 objects or more would be removed, 0 are allowed now."
    assert decide(leaves(), "delete", 3) == Remove()
    assert decide(leaves(), "delete", 0) == Hold(sentence, blows=True, wait=HELD_AGAIN)


def test_missing_descriptors_are_removed_or_held_for_longer() -> None:
    sentence = "3 objects without a directory would be removed, 2 are allowed now."
    assert decide(missing(), "report", 3) == Remove()
    assert decide(missing(), "report", 2) == Hold(sentence, blows=True, wait=MANY_HELD_AGAIN)


@pytest.mark.parametrize("survey", [directory(), directory("trash"), moved(), leaves(), missing()])
@pytest.mark.parametrize("policy", POLICIES)
def test_where_nothing_is_absent_the_checks_are_over(survey: Survey, policy: str) -> None:
    assert decide(replace(survey, objects=0), policy, 0) == Nothing()
    for state in STATES:
        assert decide(in_state(replace(survey, objects=0), state), policy, 0) == Nothing()


@pytest.mark.parametrize("survey", [directory(), moved(), leaves(), missing()])
@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_locked_is_looked_at_again_whatever_else_is_so(survey: Survey, policy: str) -> None:
    for objects, state in product((0, 3), STATES):
        assert decide(in_state(replace(survey, busy=True, objects=objects), state), policy, 0) == Postpone()


@pytest.mark.parametrize("survey", [directory(), moved("unknown"), missing()])
@pytest.mark.parametrize("policy", POLICIES)
def test_neither_policy_nor_fuse_stops_what_is_approved_or_has_begun(survey: Survey, policy: str) -> None:
    for torn in ("", "/w/t"):
        assert decide(in_state(replace(survey, torn=torn), "approved"), policy, 0) == Remove()
        for objects, busy in product((0, 3), (False, True)):
            begun = in_state(replace(survey, torn=torn, objects=objects, busy=busy), "waiting", removal=4)
            assert decide(begun, policy, 0) == Remove()


def test_a_directory_above_whole_databases_is_held_alone() -> None:
    sentence = "/w/t, which holds whole databases, is gone with 3 objects or more."
    assert decide(replace(directory(), torn="/w/t"), "delete", 100) == Hold(sentence, blows=False, wait=HELD_AGAIN)
    sentence = "/w, which holds whole databases, is gone."
    assert decide(replace(missing(), torn="/w"), "delete", 100) == Hold(sentence, blows=False, wait=MANY_HELD_AGAIN)


@pytest.mark.parametrize(
    ("policy", "target", "expected"),
    [
        ("delete", "exists", Remove()),
        ("delete", "gone", Remove()),
        ("delete", "unknown", Remove()),
        ("follow", "exists", Follow(Report(REPORT, "follow"))),
        ("follow", "gone", Remove()),
        ("follow", "unknown", Report(REPORT, "follow")),
        ("report", "exists", Report(REPORT, "report")),
        ("report", "gone", Remove()),
        ("report", "unknown", Report(REPORT, "report")),
    ],
)
def test_of_a_directory_that_was_moved_the_policy_decides(policy: str, target: Target, expected: Decision) -> None:
    for state in ASKED:
        assert decide(in_state(moved(target), state), policy, 3) == expected


@pytest.mark.parametrize(("policy", "target"), list(product(POLICIES, TARGETS)))
def test_the_fuse_has_the_last_word_on_a_directory_that_was_moved(policy: str, target: Target) -> None:
    found = decide(moved(target), policy, 2)
    allowed = decide(moved(target), policy, 3)
    sentence = "/w/t is gone: 3 objects or more would be removed, 2 are allowed now."
    assert found == (Hold(sentence, blows=True, wait=HELD_AGAIN) if allowed == Remove() else allowed)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_move_of_a_directory_above_whole_databases_is_reported_whatever_the_policy_is(policy: str) -> None:
    for target in ("exists", "unknown"):
        torn = replace(moved(target), torn="/w/t")
        assert decide(torn, policy, 100) == Report(REPORT, "report")
    gone = "/w/t, which holds whole databases, is gone with 3 objects or more."
    assert decide(replace(moved("gone"), torn="/w/t"), policy, 100) == Hold(gone, blows=False, wait=HELD_AGAIN)


def test_a_move_to_an_unknown_place_is_reported_as_such() -> None:
    sentence = "/w/t was moved elsewhere, and where it lies is unknown; 3 objects still refer to the old place."
    assert decide(moved("unknown", replace(MOVED, target="")), "report", 3) == Report(sentence, "report")


def test_of_a_page_what_exists_is_bound_again_and_only_what_changed_is_locked() -> None:
    found = Found({"/": 1, "/w": 5, "/w/same": 6, "/w/new": 8})
    same, new = Bound(1, "hdfs://n/w/same", Key(5, b"same")), Bound(2, "hdfs://n/w/new", Key(4, b"new"))
    gone, elsewhere = Bound(3, "hdfs://n/w/gone", Key(5, b"gone")), Bound(4, "s3a://b/x", Key(5, b"x"))
    paths = {1: "/w/same", 2: "/w/new", 3: "/w/gone"}
    page = Page([same, new, gone, elsewhere], paths, found, [gone], Spared([], Found()))
    assert rebind(page) == Rebind(
        {1: Key(5, b"same"), 2: Key(5, b"new")}, {1: "/w/same", 2: "/w/new"}, {2: "hdfs://n/w/new"}, found
    )
