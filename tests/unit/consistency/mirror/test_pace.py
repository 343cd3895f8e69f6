"""Many at a time: nothing waits for a long removal or return, and what follows takes little."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.consistency.mirror import pace, removing, returns
from hopshive.consistency.mirror.turn import Turn
from hopshive.database import Transaction
from tests.support.mirror_world import TRASH, MirrorWorld

if TYPE_CHECKING:
    from hopshive.consistency.mirror.context import Context
    from hopshive.consistency.mirror.pending_check import PendingCheck

# Seconds that may be owed, as in production; the other tests of the mirror step without a pause.
OWED = 0.5


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def rhythm(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> pace.Pace:
    monkeypatch.setattr(pace, "OWED", OWED)
    return pace.Pace(clock)


def pause(rhythm: pace.Pace, clock: Clock) -> float:
    """Seconds until events are asked for."""
    began = clock.now
    while rhythm.pauses:
        clock.now += 0.001
    found, clock.now = clock.now - began, began
    return round(found, 2)


def answer(rhythm: pace.Pace, clock: Clock, seconds: float, *, more: bool = False) -> float:
    """The NameNode answers after some seconds; when the turn that follows begins."""
    began = clock.now
    clock.now += seconds
    rhythm.answered(began, more=more)
    return clock.now


def test_after_an_answer_the_pause_is_nineteen_times_what_it_took(rhythm: pace.Pace, clock: Clock) -> None:
    answer(rhythm, clock, 0.1)
    assert pause(rhythm, clock) == round(19 * 0.1 - OWED, 2)


def test_half_a_second_of_pause_may_be_owed(rhythm: pace.Pace, clock: Clock) -> None:
    for _ in range(3):
        answer(rhythm, clock, 0.01)
        assert pause(rhythm, clock) == pytest.approx(0, abs=0.1)
    answer(rhythm, clock, 0.01)
    assert pause(rhythm, clock) > 0.1


def test_no_pause_follows_an_answer_after_which_there_is_more(rhythm: pace.Pace, clock: Clock) -> None:
    answer(rhythm, clock, 10, more=True)
    assert not rhythm.pauses


def test_a_turn_counts_for_the_pause_up_to_a_limit(rhythm: pace.Pace, clock: Clock) -> None:
    began = answer(rhythm, clock, 0.1)
    clock.now += 60
    rhythm.ended(Turn(asked=True), began, worked=False)
    clock.now = began
    assert pause(rhythm, clock) == round(19 * (0.1 + pace.COUNTED_TURN) - OWED, 2)


@pytest.mark.parametrize("turn", [Turn(asked=True, removed=1), Turn(asked=True, restored=1)])
def test_no_pause_follows_a_removal_or_a_return(rhythm: pace.Pace, clock: Clock, turn: Turn) -> None:
    began = answer(rhythm, clock, 1)
    rhythm.ended(turn, began, worked=True)
    assert not rhythm.pauses


def test_what_was_decided_without_a_removal_adds_nothing_to_the_pause(rhythm: pace.Pace, clock: Clock) -> None:
    began = answer(rhythm, clock, 0.1)
    clock.now += 0.02
    rhythm.ended(Turn(asked=True, decided=1), began, worked=True)
    clock.now = began
    assert pause(rhythm, clock) == round(19 * 0.1 - OWED, 2)


def test_unread_events_are_asked_for_at_once_until_ten_questions_were_in_vain(rhythm: pace.Pace, clock: Clock) -> None:
    for number in range(1, 13):
        began = answer(rhythm, clock, 1)
        at_once = rhythm.ended(Turn(asked=True, unread=True), began, worked=False)
        assert at_once == (number < pace.UNREAD_QUESTIONS)
        assert rhythm.pauses != at_once
    began = answer(rhythm, clock, 1)
    assert rhythm.ended(Turn(asked=True, unread=True, advanced=True), began, worked=False)
    assert not rhythm.pauses


def test_a_turn_without_a_question_is_no_question_in_vain(rhythm: pace.Pace, clock: Clock) -> None:
    for _ in range(100):
        assert rhythm.ended(Turn(asked=False, unread=True), clock.now, worked=False)


def test_a_moment_comes_at_once_and_then_at_most_once_in_some_seconds(clock: Clock) -> None:
    every = pace.Every(5, clock)
    assert every.comes()
    assert not every.comes()
    clock.now += 5
    assert every.comes()
    every.wait(60)
    clock.now += 59
    assert not every.comes()
    every.hasten()
    assert every.comes()


def test_a_turn_says_what_it_did_and_nothing_if_it_did_nothing() -> None:
    assert str(Turn(asked=True, advanced=True, more=True, unread=True)) == ""
    assert str(Turn(events=3, bound=1, removed=2, held=1, compared=5000)) == (
        "3 events read, 1 descriptor bound, 2 objects removed, 1 check held, 5000 descriptors compared"
    )


def test_the_log_has_a_line_for_a_turn_that_did_something(
    world: MirrorWorld, db: int, caplog: pytest.LogCaptureFixture
) -> None:
    world.make_table(db, "t", f"{world.root}/t")
    caplog.set_level("DEBUG", "hopshive.consistency.mirror.loop")
    world.settle()
    world.files.delete(f"{world.root}/t")
    world.settle()
    said = [one.getMessage() for one in caplog.records if one.getMessage().startswith("One turn: ")]
    assert any(" bound" in line for line in said)
    assert any("1 check decided, 1 object removed" in line for line in said)
    said.clear()
    caplog.clear()
    world.settle()
    assert [one for one in caplog.records if one.getMessage().startswith("One turn: ")] == []


def test_others_do_not_wait_for_a_long_removal_or_return(
    world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removing, "LONGEST_REMOVAL", 0.0)
    monkeypatch.setattr(returns, "LONGEST_RETURN", 0.0)
    world.start(batch=2)
    for name, count in (("long", 20), ("short", 1)):
        table = world.make_table(db, name, f"{world.root}/{name}")
        world.make_partitions(table, [f"{world.root}/{name}/p={n}" for n in range(count)])
    world.settle()
    everything = world.objects()
    places = [world.files.trash(f"{world.root}/{name}") for name in ("long", "short")]
    world.until(lambda: "d.short" not in world.objects())
    assert len(world.objects()) > 10
    new = world.make_table(db, "new", f"{world.root}/new")
    world.until(lambda: world.bound(new))
    assert len(world.objects()) > 10
    world.settle()
    assert world.objects() == {"d", "d.new"}
    assert world.metastore.execute("SELECT objects, ended IS NULL FROM {state}.removal ORDER BY id") == [
        (21, 0),
        (2, 0),
    ]
    for place in places:
        world.files.move(place, place.removeprefix(TRASH))
    world.until(lambda: "d.short" in world.objects())
    assert len(world.objects()) < 20
    world.settle()
    assert world.objects() == everything | {"d.new"}


def test_others_do_not_wait_for_a_long_return_of_which_nothing_can_come_back(
    world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(returns, "LONGEST_RETURN", 0.0)
    world.start(batch=2)
    table = world.make_table(db, "long", f"{world.root}/long")
    world.make_partitions(table, [f"{world.root}/long/p={n}" for n in range(20)])
    world.settle()
    everything = world.objects()
    place = world.files.trash(f"{world.root}/long")
    world.settle()
    world.make_table(db, "long", f"{world.root}/another")
    world.settle()
    world.files.move(place, place.removeprefix(TRASH))
    turns = []
    process, restore = returns.process, returns.restore
    batches = list[object]()
    clock = SimpleNamespace(monotonic=lambda: len(batches))

    def noted(context: Context, one: PendingCheck) -> None:
        turns.append(one.id)
        process(context, one)

    def counted(*arguments: Any, **options: Any) -> tuple[int, list[str]]:
        batches.append(arguments)
        return restore(*arguments, **options)

    monkeypatch.setattr(returns, "process", noted)
    # Time passes with each batch alone, and so is none while the journal is read.
    monkeypatch.setattr(returns, "restore", counted)
    monkeypatch.setattr(returns, "time", clock)
    world.settle()
    # The table and its partitions, two at a time.
    assert len(turns) == 11
    assert world.objects() == {"d", "d.long"}
    assert world.metastore.execute("SELECT COUNT(*) FROM {state}.journal WHERE message = ''") == [(0,)]
    assert world.pending_checks() == [("restore", "waiting")]
    # What stood in its way goes, and all of it is looked at again.
    world.metastore.execute(f"UPDATE TBLS SET TBL_NAME = 'other' WHERE TBL_ID <> {table}")
    world.metastore.execute("UPDATE {state}.recheck SET due = UTC_TIMESTAMP(3)")
    world.settle()
    assert world.objects() == everything | {"d.other"}
    assert world.pending_checks() == []


def test_a_long_path_blows_the_fuse_as_a_short_one(world: MirrorWorld, db: int) -> None:
    world.start(max_removals=1)
    # As long as a location may be; what the fuse has to say of it is longer.
    path = (world.root + ("/" + "a" * 150) * 30)[:3950]
    for name in ("t", "u"):
        world.make_table(db, name, f"{path}/{name}")
    world.settle()
    world.files.delete(path)
    world.settle()
    assert world.pending_checks() == [("unlink", "held")]
    assert world.objects() == {"d", "d.t", "d.u"}


@pytest.mark.parametrize("moved", [True, False])
def test_directories_that_were_all_made_again_cost_few_statements(
    world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch, moved: bool
) -> None:
    # As INSERT OVERWRITE of many partitions; Spark moves them from where it wrote them.
    table = world.make_table(db, "t", f"{world.root}/t")
    paths = [f"{world.root}/t/p={n}" for n in range(30)]
    world.make_partitions(table, paths)
    world.settle()
    for path in paths:
        world.files.delete(path)
        if moved:
            world.files.mkdir(f"{world.root}/staging/{path[-3:]}")
            world.files.move(f"{world.root}/staging/{path[-3:]}", path)
        else:
            world.files.mkdir(path)
    count = 0
    execute = Transaction.execute

    def counted(tx: Transaction, sql: str, arguments: Any = ()) -> int:
        nonlocal count
        count += 1
        return execute(tx, sql, arguments)

    monkeypatch.setattr(Transaction, "execute", counted)
    world.settle()
    monkeypatch.undo()
    assert len(world.objects()) == 32
    assert world.differences() == []
    assert count < 200


def test_while_others_work_without_a_pause_the_mirror_takes_a_twentieth_of_the_time(
    world: MirrorWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.settle()
    monkeypatch.setattr(pace, "OWED", 0.0)
    answers: list[float] = []
    turns: list[float] = []
    ask = world.namenode.events

    def timed(txid: int) -> Any:
        began = time.monotonic()
        batch = ask(txid)
        answers.append(time.monotonic() - began)
        return batch

    monkeypatch.setattr(world.namenode, "events", timed)
    began, number = time.monotonic(), 0
    while len(answers) < 6:
        world.files.mkdir(f"{world.root}/x{number}")
        number += 1
        asked, turn = len(answers), time.monotonic()
        world.mirror.step()
        if len(answers) > asked:
            turns.append(min(pace.COUNTED_TURN, time.monotonic() - turn - answers[-1]))
    # After the last one there was no pause yet. A turn is a little longer than what counts of it.
    assert time.monotonic() - began > (1 + pace.REST) * sum(answers[:-1]) + pace.REST * sum(turns[:-1]) / 2
    assert number > len(answers)
