"""Many at a time: nobody waits for a long removal or return, and what follows takes little."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.consistency.mirror import loop, recheck, restoring
from hopshive.database import Transaction
from tests.support.mirror_world import TRASH, MirrorWorld

if TYPE_CHECKING:
    from hopshive.consistency.mirror.context import Context
    from hopshive.consistency.mirror.queue import Recheck


def test_others_do_not_wait_for_a_long_removal_or_return(
    world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recheck, "TURN", 0.0)
    monkeypatch.setattr(restoring, "TURN", 0.0)
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
    monkeypatch.setattr(restoring, "TURN", 0.0)
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
    process, restore = restoring.process, restoring.restore
    batches = list[object]()
    clock = SimpleNamespace(monotonic=lambda: len(batches))

    def noted(context: Context, one: Recheck) -> None:
        turns.append(one.id)
        process(context, one)

    def counted(*arguments: Any, **options: Any) -> tuple[int, list[str]]:
        batches.append(arguments)
        return restore(*arguments, **options)

    monkeypatch.setattr(restoring, "process", noted)
    # Time passes with each batch alone, and so is none while the journal is read.
    monkeypatch.setattr(restoring, "restore", counted)
    monkeypatch.setattr(restoring, "time", clock)
    world.settle()
    # The table and its partitions, two at a time.
    assert len(turns) == 11
    assert world.objects() == {"d", "d.long"}
    assert world.metastore.execute("SELECT COUNT(*) FROM {state}.journal WHERE message = ''") == [(0,)]
    assert world.rechecks() == [("restore", "waiting")]
    # What stood in its way goes, and all of it is looked at again.
    world.metastore.execute(f"UPDATE TBLS SET TBL_NAME = 'other' WHERE TBL_ID <> {table}")
    world.metastore.execute("UPDATE {state}.recheck SET due = UTC_TIMESTAMP(3)")
    world.settle()
    assert world.objects() == everything | {"d.other"}
    assert world.rechecks() == []


def test_a_long_path_blows_the_fuse_as_a_short_one(world: MirrorWorld, db: int) -> None:
    world.start(max_removals=1)
    # As long as a location may be; what the fuse has to say of it is longer.
    path = (world.root + ("/" + "a" * 150) * 30)[:3950]
    for name in ("t", "u"):
        world.make_table(db, name, f"{path}/{name}")
    world.settle()
    world.files.delete(path)
    world.settle()
    assert world.rechecks() == [("unlink", "held")]
    assert world.objects() == {"d", "d.t", "d.u"}


@pytest.mark.parametrize("moved", [True, False])
def test_directories_that_were_all_made_anew_cost_few_statements(
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
    monkeypatch.setattr(loop, "OWED", 0.0)
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
            turns.append(min(loop.TURN, time.monotonic() - turn - answers[-1]))
    # After the last one nobody has rested yet. A turn is a little longer than what counts of it.
    assert time.monotonic() - began > (1 + loop.REST) * sum(answers[:-1]) + loop.REST * sum(turns[:-1]) / 2
    assert number > len(answers)
