"""Which directories an undo moves, against a real NameNode and a journal that the mirror wrote."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hopshive.config import JournalConfig
from hopshive.consistency import journal
from hopshive.consistency.journal.record import summary
from hopshive.consistency.undo import CannotUndo, Move, carry_out, plan
from tests.support.mirror_world import TRASH, MirrorWorld


def planned(world: MirrorWorld, beneath: str | None = None) -> list[Move]:
    """What an undo of the newest removal would move."""
    with world.database.reading() as tx:
        removal = journal.history(tx, limit=1)[0]
        entries = journal.restorable(tx, removal=removal.id, path=beneath)
    return plan(world.namenode, removal, entries, beneath).moves


def moved(world: MirrorWorld, beneath: str | None = None) -> list[tuple[str, str]]:
    return [(one.source, one.target) for one in planned(world, beneath)]


@pytest.fixture
def above(world: MirrorWorld, db: int) -> str:
    """A directory that is no object's own, with the table `d.u`, which has two partitions."""
    table = world.make_table(db, "u", f"{world.root}/elsewhere/u")
    world.make_partitions(table, [f"{world.root}/elsewhere/u/p={number}" for number in (1, 2)])
    world.settle()
    return f"{world.root}/elsewhere"


def test_a_directory_that_was_moved_comes_back_whole(world: MirrorWorld, above: str) -> None:
    before = world.objects()
    world.files.trash(above)
    world.settle()
    moves = planned(world)
    assert [(one.source, one.target) for one in moves] == [(TRASH + above, above)]
    carry_out(world.namenode, moves[0])
    world.settle()
    assert world.objects() == before


def test_of_it_a_part_alone_wants_the_directory_above(world: MirrorWorld, above: str) -> None:
    world.files.trash(above)
    world.settle()
    with pytest.raises(CannotUndo, match=f"{above}, the parent of {above}/u, does not exist"):
        planned(world, f"{above}/u")


def test_of_a_table_one_partition_is_undone_alone(world: MirrorWorld, above: str) -> None:
    for number in (1, 2):
        world.files.trash(f"{above}/u/p={number}")
    world.settle()
    assert moved(world, f"{above}/u/p=1") == [(f"{TRASH}{above}/u/p=1", f"{above}/u/p=1")]
    assert len(moved(world)) == 2


def test_what_was_deleted_past_the_trash_is_refused(world: MirrorWorld, above: str) -> None:
    world.files.delete(f"{above}/u")
    world.settle()
    with pytest.raises(CannotUndo, match="is no longer on HDFS"):
        planned(world)


def test_what_went_with_the_directory_above_it_is_not_mixed_with_what_the_trash_made(
    world: MirrorWorld, above: str
) -> None:
    world.files.trash(f"{above}/u")
    world.settle()
    world.files.delete(above)
    # The trash has a directory of that name, which was never the one above.
    with pytest.raises(CannotUndo, match=f"{above}, the parent of"):
        planned(world)


def test_of_a_directory_and_its_replacement_the_last_one_that_is_there_is_moved(world: MirrorWorld, above: str) -> None:
    place = f"{TRASH}{above}/u"
    world.files.trash(f"{above}/u")
    world.files.mkdir(f"{above}/u")
    world.files.move(f"{above}/u", f"{place}1764000000000")
    world.settle()
    assert moved(world) == [(f"{place}1764000000000", f"{above}/u")]
    world.files.delete(f"{place}1764000000000")
    assert moved(world) == [(place, f"{above}/u")]


def test_of_a_directory_and_its_replacement_the_one_that_is_back_is_not_moved(world: MirrorWorld, above: str) -> None:
    world.config = replace(world.config, journal=JournalConfig(automatic=False))
    world.start()
    place = f"{TRASH}{above}/u"
    world.files.trash(f"{above}/u")
    world.files.mkdir(f"{above}/u")
    world.files.move(f"{above}/u", f"{place}1764000000000")
    world.settle()
    world.files.move(place, f"{above}/u")
    world.settle()
    assert moved(world) == [(f"{above}/u", f"{above}/u")]
    world.files.move(f"{above}/u", place)
    world.files.move(f"{place}1764000000000", f"{above}/u")
    world.settle()
    assert moved(world) == [(f"{above}/u", f"{above}/u")]


def test_where_its_place_exists_again_all_that_lay_in_a_directory_is_moved(
    world: MirrorWorld, db: int, above: str
) -> None:
    world.files.mkdir(f"{above}/empty")
    world.files.mkdir(f"{above}/both/inner")
    world.files.mkdir(f"{above}/deep/empty")
    world.make_table(db, "v", f"{above}/deep/v")
    world.settle()
    before = world.objects()
    world.files.trash(above)
    world.settle()
    world.files.mkdir(f"{above}/both")
    world.files.mkdir(f"{above}/deep")
    # One that goes later lies in the same directory of the trash.
    world.make_table(db, "w", f"{above}/w")
    world.settle()
    world.files.move(f"{above}/w", f"{TRASH}{above}/w")
    world.settle()
    with world.database.reading() as tx:
        later, first = journal.history(tx)
        entries = journal.restorable(tx, removal=first.id)
        (other,) = journal.restorable(tx, removal=later.id)
    assert other.inode
    for path in (above, world.root, None):
        done = plan(world.namenode, first, entries, path, {other.inode})
        assert {(one.source, one.target) for one in done.moves} == {
            (f"{TRASH}{above}/{name}", f"{above}/{name}") for name in ("u", "empty", "deep/v", "deep/empty")
        }
        assert {(one.source, one.why) for one in done.stays} == {
            (f"{TRASH}{above}/both", f"another file or directory has taken its place {above}/both"),
            (f"{TRASH}{above}/w", "it went in another removal"),
        }
    for move in done.moves:
        carry_out(world.namenode, move)
    world.settle()
    assert world.objects() == before


def test_of_a_directory_that_went_with_another_all_comes_back_although_its_place_exists(
    world: MirrorWorld, above: str
) -> None:
    world.files.mkdir(f"{above}/empty")
    world.files.trash(world.root)
    world.settle()
    assert world.mirror.approve() == 1
    world.settle()
    assert world.objects() == set()
    world.files.mkdir(above)
    place = f"{TRASH}{above}"
    assert set(moved(world, above)) == {(f"{place}/{name}", f"{above}/{name}") for name in ("u", "empty")}


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ({"partition": (111, "hive.sales.trips/a", "hive.sales.trips/z")}, "111 partitions of sales.trips"),
        ({"partition": (1, "hive.s.t/p=1", "hive.s.t/p=1")}, "partition s.t/p=1"),
        ({"partition": (2, "hive.s.a/p=1", "hive.s.b/p=1")}, "2 partitions"),
        (
            {"table": (1, "hive.s.t", "hive.s.t"), "partition": (2, "hive.s.t/a", "hive.s.t/b")},
            "table s.t with 2 partitions",
        ),
        ({"table": (3, "hive.s.a", "hive.s.c"), "database": (1, "hive.s", "hive.s")}, "database s with 3 tables"),
    ],
)
def test_what_went_is_said_in_words(kinds: dict[str, tuple[int, str, str]], said: str) -> None:
    assert summary(kinds) == said
