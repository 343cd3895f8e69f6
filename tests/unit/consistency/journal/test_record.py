"""The journal tells what happened and what can come back, and forgets what is too old."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from hopshive.consistency import journal
from hopshive.consistency.journal import Cause
from hopshive.consistency.journal.record import owners_of
from tests.support.journal_world import FS, JournalWorld, open_world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.servers import MariaDB


@pytest.fixture
def world(mariadb: MariaDB, hive_home: Path) -> Iterator[JournalWorld]:
    with open_world(mariadb, hive_home) as opened:
        yield opened


def removed(world: JournalWorld) -> dict[str, int]:
    """A table, then the rest of its database; the removals of both."""
    with world.write() as write:
        sales = write.database("sales")
        table = write.table(sales, "t")
        write.partitions(table, ["p=1", "p=2"])
        write.table(sales, "v", kind="VIRTUAL_VIEW")
        write.table(sales, "e", kind="EXTERNAL_TABLE", path="/external/e")
        other = write.database("sales2")
        write.table(other, "t")
    numbers = {"t": world.begin("/warehouse/sales.db/t"), "sales": world.begin("/warehouse/sales.db")}
    world.remove(table, removal=numbers["t"])
    world.remove(sales, removal=numbers["sales"])
    numbers["sales2"] = world.begin("/warehouse/sales2.db")
    world.remove(other, removal=numbers["sales2"])
    return numbers


SALES = ["hive.sales", "hive.sales.e", "hive.sales.v", "hive.sales.t", "hive.sales.t/p=2", "hive.sales.t/p=1"]


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/warehouse/sales.db", SALES),
        ("/warehouse/sales.db/", SALES),
        ("/warehouse/sales.db/t", SALES[3:]),
        ("/warehouse/sales.db/t/p=1", SALES[5:]),
        ("/external", SALES[1:2]),
        ("/warehouse/sales.db/t/p=1/x", []),
        ("/warehouse/sales", []),
        ("/", ["hive.sales2", "hive.sales2.t", *SALES]),
    ],
)
def test_a_path_brings_what_lay_there_and_what_went_with_it(world: JournalWorld, path: str, wanted: list[str]) -> None:
    removed(world)
    assert [one.name for one in world.entries(path=path)] == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("hive.sales", SALES),
        ("hive.sales.t", SALES[3:]),
        ("hive.sales.t/p=1", SALES[5:]),
        ("hive.sales.", []),
        ("hive.sale", []),
    ],
)
def test_a_name_brings_the_object_and_what_belongs_to_it(world: JournalWorld, name: str, wanted: list[str]) -> None:
    removed(world)
    assert [one.name for one in world.entries(name=name)] == wanted


def test_conditions_add_up(world: JournalWorld) -> None:
    numbers = removed(world)
    assert [one.name for one in world.entries(removal=numbers["t"])] == SALES[3:]
    assert [one.name for one in world.entries(removal=numbers["sales"], name="hive.sales.e")] == SALES[1:2]


def test_history_lists_removals_and_objects_of_each(world: JournalWorld) -> None:
    numbers = removed(world)
    with world.database.transaction() as tx:
        at = datetime(2024, 1, 2, 3, 4, 5, 678000)
        number = journal.begin_removal(tx, Cause("rename", "/a", "/b", 12, at))
        journal.end_removal(tx, number)
        journal.end_removal(tx, numbers["t"])
    world.restore(world.entries(path="/warehouse/sales.db/t/p=1")[:0])
    with world.database.reading() as tx:
        records = journal.history(tx)
        assert [one.id for one in journal.history(tx, limit=1)] == [number]
        names = [one.name for one in journal.objects(tx, numbers["t"], limit=2)]
    assert [one.id for one in records] == [number, *sorted(numbers.values(), reverse=True)]
    first = records[0]
    assert (first.kind, first.path, first.target, first.txid, first.event_at) == ("rename", "/a", "/b", 12, at)
    assert first.ended is not None
    assert [(one.objects, one.left, one.ended is None) for one in records[1:]] == [
        (2, 2, True),
        (3, 3, True),
        (3, 3, False),
    ]
    assert names == ["hive.sales.t/p=1", "hive.sales.t/p=2"]
    world.restore()
    with world.database.reading() as tx:
        assert [(one.objects, one.left) for one in journal.history(tx)[1:]] == [(2, 0), (3, 0), (3, 0)]
        assert {one.state for one in journal.objects(tx, numbers["sales"])} == {"restored"}


def test_what_is_too_old_is_forgotten_in_steps(world: JournalWorld) -> None:
    numbers = removed(world)
    world.metastore.execute(
        f"UPDATE {{state}}.journal SET removed = '2024-01-01' WHERE removal <> {numbers['sales2']}",
        "UPDATE {state}.removal SET begun = '2024-01-01', ended = '2024-01-02'",
        f"UPDATE {{state}}.removal SET ended = NULL WHERE id = {numbers['t']}",
    )
    before = datetime(2024, 2, 1)
    steps = []
    for _ in range(4):
        with world.database.transaction() as tx:
            steps.append(journal.expire(tx, before, 4))
    assert steps == [4, 2, 0, 0]
    assert [one.name for one in world.entries()] == ["hive.sales2", "hive.sales2.t"]
    # One that is not at its end, and one of which something is left.
    with world.database.reading() as tx:
        assert {one.id for one in journal.history(tx)} == {numbers["t"], numbers["sales2"]}


def test_a_removal_without_a_descriptor_is_done_at_once(world: JournalWorld) -> None:
    with world.database.transaction() as tx:
        assert journal.remove_next(tx, world.begin(), [], FS, 5) == journal.Progress([], True)
        assert journal.remove_next(tx, world.begin(), [123456], FS, 5) == journal.Progress([], True)
        assert journal.restore_next(tx, [], 5) == journal.RestoreProgress([], [], [], True)


@pytest.mark.parametrize(
    ("name", "owners"),
    [
        ("hive.d", []),
        ("hive.d.t", ["hive.d"]),
        ("hive.d.t/p=1.5/q=a/b", ["hive.d", "hive.d.t"]),
    ],
)
def test_a_name_tells_what_it_belongs_to(name: str, owners: list[str]) -> None:
    assert owners_of(name) == owners
