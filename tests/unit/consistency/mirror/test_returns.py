"""What a removal took comes back with its directory, whatever the mirror had seen of it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.consistency import journal
from hopshive.consistency.mirror import follow, pace, removing, returns
from hopshive.hdfs.namenode import MissingEdits
from tests.support.mirror_world import TRASH

if TYPE_CHECKING:
    from collections.abc import Callable

    from hopshive.hdfs.namenode import EventBatches
    from tests.support.mirror_world import MirrorWorld

ALL = {"d", "d.t", "d.t/p=0", "d.t/p=1", "d.t/p=2"}


def path_of(world: MirrorWorld, *parts: str) -> str:
    """Of the table, or of what lies below it."""
    return "/".join([world.root, "managed/d.db/t", *parts])


def make(world: MirrorWorld, db: int, *, late: bool = False) -> int:
    """The table `d.t` with three partitions; with `late`, the mirror has seen the table before they come."""
    table = world.make_table(db, "t", path_of(world))
    if late:
        world.settle()
    world.make_partitions(table, [path_of(world, f"p={n}") for n in range(3)])
    return table


def gap(world: MirrorWorld) -> None:
    """The NameNode no longer has the edits up to now; another daemon leads."""
    with world.database.transaction() as tx:
        follow.start_at(tx, world.namenode.current_txid())
    world.start()


def miss(world: MirrorWorld, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object] = lambda: None) -> None:
    """What happens now stands in edits that the NameNode has no longer when it is asked for them."""

    def ask(_: int) -> Any:
        patched.undo()
        happens()
        raise MissingEdits("They are gone.")

    with monkeypatch.context() as patched:
        patched.setattr(world.namenode, "events", ask)
        world.until(lambda: world.namenode.events is not ask)
    world.settle()


def is_well(world: MirrorWorld, objects: set[str]) -> None:
    """All is there, bound, and nothing waits."""
    assert world.objects() == objects
    assert world.differences() == []
    assert world.pending_checks() == []


# --- what was not bound -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seen", ["nothing", "the database", "the table", "all"])
@pytest.mark.parametrize("gone", ["managed/d.db/t", "managed/d.db"])
def test_what_was_seen_in_part_comes_back_whole(world: MirrorWorld, db: int, seen: str, gone: str) -> None:
    if seen != "nothing":
        world.settle()
    make(world, db, late=seen == "the table")
    if seen == "all":
        world.settle()
    place = world.files.trash(f"{world.root}/{gone}")
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(place, f"{world.root}/{gone}")
    world.settle()
    is_well(world, ALL)


def test_a_partition_that_was_not_bound_comes_back_alone(world: MirrorWorld, db: int) -> None:
    make(world, db, late=True)
    place = world.files.trash(path_of(world, "p=1"))
    world.settle()
    assert world.objects() == ALL - {"d.t/p=1"}
    world.files.move(place, path_of(world, "p=1"))
    world.settle()
    is_well(world, ALL)


def test_a_database_that_was_not_bound_comes_back_with_both_directories(world: MirrorWorld, db: int) -> None:
    make(world, db)
    places = [world.files.trash(f"{world.root}/{kind}/d.db") for kind in ("external", "managed")]
    world.settle()
    assert world.objects() == set()
    for place in places:
        world.files.move(place, place.removeprefix(TRASH))
    world.settle()
    is_well(world, ALL)


def test_two_tables_on_one_directory_come_back_both_although_one_was_not_bound(world: MirrorWorld, db: int) -> None:
    make(world, db)
    world.settle()
    world.make_table(db, "u", path_of(world))
    place = world.files.trash(path_of(world))
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(place, path_of(world))
    world.settle()
    is_well(world, ALL | {"d.u"})


def test_a_partition_elsewhere_that_was_not_bound_comes_back_with_its_table(
    world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(world, db)
    world.settle()
    # More is new than the mirror binds in time.
    monkeypatch.setattr(world.mirror, "_bind", lambda: False)
    world.make_partitions(table, [f"{world.root}/far/p=9"])
    place = world.files.trash(path_of(world))
    world.settle()
    assert world.objects() == {"d"}
    monkeypatch.undo()
    world.files.move(place, path_of(world))
    world.settle()
    is_well(world, ALL | {"d.t/p=9"})


@pytest.mark.parametrize("late", [True, False])
def test_what_was_moved_elsewhere_comes_back_whole(world: MirrorWorld, db: int, late: bool) -> None:
    make(world, db, late=late)
    world.files.move(path_of(world), f"{world.root}/away/t")
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(f"{world.root}/away/t", path_of(world))
    world.settle()
    is_well(world, ALL)


@pytest.mark.parametrize("late", [True, False])
def test_what_comes_back_by_way_of_another_place_comes_back_whole(world: MirrorWorld, db: int, late: bool) -> None:
    make(world, db, late=late)
    place = world.files.trash(path_of(world))
    world.settle()
    world.files.move(place, f"{world.root}/saved/t")
    world.settle()
    world.files.move(f"{world.root}/saved/t", path_of(world))
    world.settle()
    is_well(world, ALL)


@pytest.mark.parametrize("late", [True, False])
def test_what_the_trash_moved_on_before_the_removal_comes_back_whole(world: MirrorWorld, db: int, late: bool) -> None:
    world.start(grace=3600, unbound_grace=3600)
    make(world, db, late=late)
    place = world.files.trash(path_of(world))
    world.settle()
    assert world.objects() == ALL
    # As the trash does every hour.
    checkpoint = f"/{2411242100 + late}"
    world.files.move(TRASH, TRASH.replace("/Current", checkpoint))
    kept = place.replace("/Current", checkpoint)
    world.settle()
    world.look_again()
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(kept, path_of(world))
    world.settle()
    world.look_again()
    world.settle()
    is_well(world, ALL)


def test_what_goes_and_comes_stands_in_the_log(world: MirrorWorld, db: int, caplog: pytest.LogCaptureFixture) -> None:
    make(world, db)
    world.settle()
    with caplog.at_level("INFO", logger="hopshive.consistency.mirror"):
        place = world.files.trash(path_of(world))
        world.settle()
        world.files.move(place, path_of(world))
        world.settle()
    ((number,),) = world.metastore.execute("SELECT MAX(id) FROM {state}.removal")
    said = [line for line in caplog.messages if line.startswith("Removal ")]
    assert said == [
        f"Removal {number}: 4 objects went with the directory, the last was table hive.d.t.",
        f"Removal {number}: 4 objects came back, the last was partition hive.d.t/p=0.",
    ]


# --- whose name something else has -------------------------------------------------------------------------------------


def trashed_and_named_again(world: MirrorWorld, db: int) -> tuple[str, str]:
    """Where the directory of a table lies in the trash, and that of another table, which has its name now."""
    make(world, db)
    world.settle()
    place = world.files.trash(path_of(world))
    world.settle()
    other = f"{world.root}/external/d.db/t"
    world.make_table(db, "t", other)
    return place, other


@pytest.mark.parametrize("leader", ["the same", "another"])
def test_what_waits_for_its_name_comes_back_when_that_is_free(world: MirrorWorld, db: int, leader: str) -> None:
    """Which needs nothing but that the directory of the other table goes."""
    place, other = trashed_and_named_again(world, db)
    world.files.move(place, path_of(world))
    world.settle()
    assert world.objects() == {"d", "d.t"}
    assert [kind for kind, _ in world.pending_checks()] == ["restore"]
    if leader == "another":
        world.start()
    world.files.trash(other)
    world.settle()
    is_well(world, ALL)


def test_what_waits_for_its_name_waits_once(world: MirrorWorld, db: int) -> None:
    """Its directory may come back several times before."""
    place, other = trashed_and_named_again(world, db)
    for _ in range(3):
        world.files.move(place, path_of(world))
        world.settle()
        assert world.pending_checks() == [("restore", "waiting")]
        world.files.move(path_of(world), place)
        world.settle()
    world.files.move(place, path_of(world))
    world.files.trash(other)
    world.settle()
    is_well(world, ALL)


def test_a_partition_that_waits_for_its_name_comes_back_when_that_is_free(world: MirrorWorld, db: int) -> None:
    table = make(world, db)
    world.settle()
    place = world.files.trash(path_of(world, "p=1"))
    world.settle()
    other = f"{world.root}/elsewhere/p=1"
    (sd_id,) = world.make_partitions(table, [other])
    world.files.move(place, path_of(world, "p=1"))
    world.settle()
    assert world.bound(sd_id)
    world.files.delete(other)
    world.settle()
    is_well(world, ALL)
    assert world.metastore.execute(f"SELECT COUNT(*) FROM SDS WHERE SD_ID = {sd_id}") == [(0,)]


# --- several times in a row -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", range(4))
def test_what_goes_again_before_it_is_bound_comes_back_again(world: MirrorWorld, db: int, steps: int) -> None:
    make(world, db)
    world.settle()
    for _ in range(3):
        place = world.files.trash(path_of(world))
        world.settle()
        assert world.objects() == {"d"}
        world.files.move(place, path_of(world))
        for _ in range(steps):
            world.mirror.step()
    world.settle()
    is_well(world, ALL)


@pytest.mark.parametrize("late", [True, False])
def test_what_goes_and_comes_without_a_leader_is_there_and_comes_back(world: MirrorWorld, db: int, late: bool) -> None:
    make(world, db, late=late)
    for _ in range(2):
        world.files.move(world.files.trash(path_of(world)), path_of(world))
    world.start()
    world.settle()
    is_well(world, ALL)
    for _ in range(2):
        world.files.move(world.files.trash(path_of(world)), path_of(world))
    place = world.files.trash(path_of(world))
    world.start()
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(place, path_of(world))
    world.start()
    world.settle()
    is_well(world, ALL)


def test_one_that_is_made_again_and_deleted_without_a_leader_comes_back_as_the_one_that_is_brought(
    world: MirrorWorld, db: int
) -> None:
    make(world, db)
    world.settle()
    first = world.files.trash(path_of(world))
    # A DROP TABLE, and another table of the name that the mirror has not seen.
    world.metastore.execute("DELETE FROM SDS WHERE LOCATION LIKE '%/d.db/t%'")
    table = world.make_table(db, "t", path_of(world))
    second = f"{TRASH}{path_of(world)}1764000000000"
    world.files.move(path_of(world), second)
    world.start()
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(first, path_of(world))
    world.settle()
    assert world.objects() == {"d"}
    world.files.delete(path_of(world))
    world.files.move(second, path_of(world))
    world.settle()
    is_well(world, {"d", "d.t"})
    assert world.bound(table)


# --- who leads --------------------------------------------------------------------------------------------------------


def comes_back_under_many_leaders(world: MirrorWorld) -> None:
    """The table's directory goes to the trash and returns, with another leader between each two steps."""
    place = world.files.trash(path_of(world))
    for _ in range(4):
        world.start()
        world.mirror.step()
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(place, path_of(world))
    for _ in range(4):
        world.start()
        world.mirror.step()
    world.settle()
    is_well(world, ALL)


def comes_back_in_a_gap(world: MirrorWorld) -> None:
    """The table's directory goes to the trash, and returns where events are missing."""
    place = world.files.trash(path_of(world))
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(place, path_of(world))
    gap(world)
    world.settle()
    is_well(world, ALL)


@pytest.mark.parametrize("late", [True, False])
def test_another_leader_between_each_two_steps_restores_all(world: MirrorWorld, db: int, late: bool) -> None:
    make(world, db, late=late)
    world.start()
    comes_back_under_many_leaders(world)


def test_what_came_back_in_a_gap_of_the_events_is_found_by_the_comparison(world: MirrorWorld, db: int) -> None:
    make(world, db, late=True)
    comes_back_in_a_gap(world)


def test_partitions_that_came_back_in_a_gap_of_the_events_are_found_by_the_comparison(
    world: MirrorWorld, db: int
) -> None:
    make(world, db)
    world.settle()
    places = [world.files.trash(path_of(world, f"p={n}")) for n in (0, 2)]
    world.settle()
    assert world.objects() == ALL - {"d.t/p=0", "d.t/p=2"}
    for place in places:
        world.files.move(place, place.removeprefix(TRASH))
    gap(world)
    world.settle()
    is_well(world, ALL)


@pytest.mark.parametrize("late", [True, False])
def test_what_went_in_a_gap_of_the_events_comes_back_from_the_trash(world: MirrorWorld, db: int, late: bool) -> None:
    make(world, db, late=late)
    place = world.files.trash(path_of(world))
    gap(world)
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(place, path_of(world))
    world.settle()
    is_well(world, ALL)


def test_what_a_second_deletion_gave_another_name_in_the_trash_comes_back(world: MirrorWorld, db: int) -> None:
    make(world, db)
    place = f"{TRASH}{path_of(world)}1764000000000"
    world.files.move(path_of(world), place)
    gap(world)
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(place, path_of(world))
    world.settle()
    is_well(world, ALL)


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("trash", [True, False])
def test_what_was_made_in_a_gap_where_the_old_directory_had_been_moved_to_is_another_one(
    world: MirrorWorld, db: int, trash: bool, seen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.start(grace=3600, rename_grace=3600, unbound_grace=3600)
    world.make_table(db, "t", path_of(world))
    if seen:
        world.settle()
    place = f"{TRASH if trash else world.root}/gap{seen}/old"
    world.files.move(path_of(world), place)
    world.settle()

    def replace() -> None:
        world.files.delete(place)
        world.files.mkdir(place)

    miss(world, monkeypatch, replace)
    world.look_again()
    world.settle()
    assert world.objects() == {"d"}
    (row,) = world.metastore.execute("SELECT inode, replacement FROM {state}.journal")
    another = world.namenode.entry(place)
    assert another
    assert another.file_id not in row
    world.files.move(place, path_of(world))
    world.settle()
    assert world.objects() == {"d"}


def test_a_directory_that_a_gap_left_where_it_had_been_moved_to_comes_back_whole(
    world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.start(rename_grace=3600, unbound_grace=3600)
    make(world, db, late=True)
    world.files.move(path_of(world), f"{world.root}/away/t")
    world.settle()
    miss(world, monkeypatch)
    world.look_again()
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(f"{world.root}/away/t", path_of(world))
    world.settle()
    is_well(world, ALL)


def test_a_location_does_not_follow_to_a_directory_that_was_made_in_a_gap(
    world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.start(rename_policy="follow", rename_grace=3600)
    make(world, db)
    world.settle()
    world.files.move(path_of(world), f"{world.root}/away/t")
    world.settle()

    def replace() -> None:
        world.files.delete(f"{world.root}/away/t")
        world.files.mkdir(f"{world.root}/away/t")

    miss(world, monkeypatch, replace)
    world.look_again()
    world.settle()
    assert world.metastore.execute("SELECT LOCATION FROM SDS WHERE LOCATION LIKE '%/away/%'") == []


# --- one that was replaced --------------------------------------------------------------------------------------------


def old(world: MirrorWorld) -> str:
    """Where the old directory is kept."""
    return f"{TRASH}{world.root}/old"


def replace_it(world: MirrorWorld, *parts: str, keep: bool = False) -> None:
    """The directory is deleted, or moved to the trash, and made again, with the partitions if it is the table's."""
    if keep:
        world.files.move(path_of(world, *parts), old(world))
    else:
        world.files.delete(path_of(world, *parts))
    for part in () if parts else ("p=0", "p=1", "p=2"):
        world.files.mkdir(path_of(world, part))
    world.files.mkdir(path_of(world, *parts))


def send_away(world: MirrorWorld, trash: bool) -> str:
    """To the trash or elsewhere; where it lies then."""
    place = f"{TRASH}{path_of(world)}1764000000000" if trash else f"{world.root}/away/t"
    world.files.move(path_of(world), place)
    return place


@pytest.mark.parametrize("trash", [True, False])
@pytest.mark.parametrize("keep", [True, False])
def test_a_replacement_that_went_before_it_was_seen_brings_all_back(
    world: MirrorWorld, db: int, keep: bool, trash: bool
) -> None:
    make(world, db)
    world.settle()
    replace_it(world, keep=keep)
    place = send_away(world, trash)
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(place, path_of(world))
    world.settle()
    is_well(world, ALL)


@pytest.mark.parametrize("trash", [True, False])
def test_of_the_old_directory_and_its_replacement_the_first_that_returns_has_it(
    world: MirrorWorld, db: int, trash: bool
) -> None:
    make(world, db)
    world.settle()
    replace_it(world, keep=True)
    place = send_away(world, trash)
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(old(world), path_of(world))
    world.settle()
    is_well(world, ALL)
    world.files.move(path_of(world), old(world))
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(place, path_of(world))
    world.settle()
    assert world.objects() == {"d"}
    assert world.pending_checks() == []


def test_after_its_replacement_the_old_directory_brings_nothing_back(world: MirrorWorld, db: int) -> None:
    make(world, db)
    world.settle()
    replace_it(world, keep=True)
    place = send_away(world, trash=True)
    world.settle()
    world.files.move(place, path_of(world))
    world.settle()
    is_well(world, ALL)
    world.files.move(path_of(world), place)
    world.settle()
    world.files.move(old(world), path_of(world))
    world.settle()
    assert world.objects() == {"d"}
    assert world.pending_checks() == []


@pytest.mark.parametrize("gone", ["managed/d.db/t/p=1", "managed/d.db/t", "managed/d.db"])
def test_a_replaced_partition_comes_back_alone_and_with_what_it_lies_in(world: MirrorWorld, db: int, gone: str) -> None:
    make(world, db)
    world.settle()
    replace_it(world, "p=1")
    place = world.files.trash(f"{world.root}/{gone}")
    world.settle()
    assert world.objects() == (ALL - {"d.t/p=1"} if gone.endswith("p=1") else {"d"})
    world.files.move(place, f"{world.root}/{gone}")
    world.settle()
    is_well(world, ALL)


@pytest.mark.parametrize("first", ["table", "partition"])
def test_a_replaced_partition_that_went_before_its_table_comes_back_with_it(
    world: MirrorWorld, db: int, first: str
) -> None:
    """The mirror sees both at once. The move of the table took nothing from the partition's place."""
    make(world, db)
    world.settle()
    replace_it(world, "p=1")
    partition, table = world.files.trash(path_of(world, "p=1")), send_away(world, trash=True)
    world.settle()
    assert world.objects() == {"d"}
    if first == "table":
        world.files.move(table, path_of(world))
        world.settle()
        assert world.objects() == ALL - {"d.t/p=1"}
        world.files.move(partition, path_of(world, "p=1"))
    else:
        world.files.move(partition, f"{table}/p=1")
        world.files.move(table, path_of(world))
    world.settle()
    is_well(world, ALL)


def test_a_directory_that_another_one_overwrote_comes_back_as_that(world: MirrorWorld, db: int) -> None:
    make(world, db)
    world.settle()
    world.files.delete(path_of(world))
    world.files.mkdir(f"{world.root}/new/t/p=0")
    world.files.move(f"{world.root}/new/t", path_of(world))
    place = world.files.trash(path_of(world))
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(place, path_of(world))
    world.settle()
    assert world.objects() == {"d", "d.t", "d.t/p=0"}
    assert world.differences() == []


@pytest.mark.parametrize("steps", range(1, 4))
def test_a_replacement_that_goes_again_before_it_is_bound_comes_back_again(
    world: MirrorWorld, db: int, steps: int
) -> None:
    make(world, db)
    world.settle()
    for _ in range(3):
        replace_it(world)
        replace_it(world)
        place = world.files.trash(path_of(world))
        world.settle()
        assert world.objects() == {"d"}
        world.files.move(place, path_of(world))
        for _ in range(steps):
            world.mirror.step()
    world.settle()
    is_well(world, ALL)


def test_a_replacement_comes_back_with_another_leader_between_each_two_steps(world: MirrorWorld, db: int) -> None:
    make(world, db)
    world.settle()
    replace_it(world)
    comes_back_under_many_leaders(world)


def test_a_replacement_that_the_trash_moved_on_before_the_removal_comes_back(world: MirrorWorld, db: int) -> None:
    world.start(grace=3600)
    make(world, db)
    world.settle()
    replace_it(world)
    world.settle()
    place = world.files.trash(path_of(world))
    world.settle()
    checkpoint = "/2411242200"
    world.files.move(TRASH, TRASH.replace("/Current", checkpoint))
    kept = place.replace("/Current", checkpoint)
    world.settle()
    world.look_again()
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(kept, path_of(world))
    world.settle()
    world.look_again()
    world.settle()
    is_well(world, ALL)


def test_a_replacement_that_goes_after_events_were_read_comes_back(
    world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(world, db)
    world.settle()
    replace_it(world)
    bind, places = world.mirror._bind, list[str]()

    def go() -> int:
        if not places:
            places.append(world.files.trash(path_of(world)))
        return bind()

    monkeypatch.setattr(world.mirror, "_bind", go)
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(places[0], path_of(world))
    world.settle()
    is_well(world, ALL)


def test_a_replacement_that_came_back_in_a_gap_of_the_events_is_found_by_the_comparison(
    world: MirrorWorld, db: int
) -> None:
    make(world, db)
    world.settle()
    replace_it(world)
    comes_back_in_a_gap(world)


def test_one_that_returns_and_is_replaced_before_it_was_seen_comes_back_by_hand(world: MirrorWorld, db: int) -> None:
    make(world, db)
    world.settle()
    place = world.files.trash(path_of(world))
    world.settle()
    world.files.move(place, path_of(world))
    replace_it(world)
    world.settle()
    assert world.objects() == {"d"}
    with world.database.reading() as tx:
        entries = journal.restorable(tx, path=path_of(world))
    assert returns.restore(world.mirror.context, entries) == (4, [])
    world.settle()
    is_well(world, ALL)


def test_a_directory_that_is_made_after_the_removal_is_no_replacement(world: MirrorWorld, db: int) -> None:
    make(world, db)
    world.settle()
    world.files.delete(path_of(world))
    world.settle()
    world.files.mkdir(path_of(world, "p=0"))
    place = world.files.trash(path_of(world))
    world.settle()
    world.files.move(place, path_of(world))
    world.settle()
    assert world.objects() == {"d"}
    assert world.pending_checks() == []


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("trash", [True, False])
@pytest.mark.parametrize("how", ["deleted", "deleted with what it lay in", "overwritten"])
def test_what_is_made_where_the_old_directory_was_deleted_is_no_replacement(
    world: MirrorWorld, db: int, how: str, trash: bool, seen: bool
) -> None:
    world.start(grace=3600, rename_grace=3600, unbound_grace=3600)
    world.make_table(db, "t", path_of(world))
    if seen:
        world.settle()
    above = f"{TRASH if trash else world.root}/data{how[-1]}{seen}"
    place = f"{above}/old"
    world.files.move(path_of(world), place)
    world.settle()
    if how == "overwritten":
        world.files.mkdir(f"{world.root}/another")
        world.files.ask("PUT", "RENAME", f"{world.root}/another", destination=place, renameoptions="OVERWRITE")
    else:
        world.files.delete(place if how == "deleted" else above)
        world.files.mkdir(place)
    world.settle()
    world.look_again()
    world.settle()
    assert world.objects() == {"d"}
    (row,) = world.metastore.execute("SELECT inode, replacement FROM {state}.journal")
    another = world.namenode.entry(place)
    assert another
    assert another.file_id not in row
    world.files.move(place, path_of(world))
    world.settle()
    assert world.objects() == {"d"}


def test_what_is_deleted_after_its_move_was_reported_is_gone(world: MirrorWorld, db: int) -> None:
    world.start(rename_policy="report")
    make(world, db)
    world.settle()
    world.files.move(path_of(world), f"{world.root}/away/t")
    world.settle()
    assert world.pending_checks() == [("rename", "reported")]
    world.files.delete(f"{world.root}/away/t")
    world.settle()
    world.files.mkdir(f"{world.root}/away/t")
    world.start()
    world.settle()
    world.look_again()
    world.settle()
    assert world.objects() == {"d"}
    assert world.pending_checks() == []


@pytest.mark.parametrize("late", [True, False])
def test_what_is_made_below_a_directory_that_is_being_removed_is_no_replacement(
    world: MirrorWorld, db: int, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.start(unbound_grace=3600)
    make(world, db, late=late)
    if not late:
        world.settle()
    remove = removing.remove

    def go(*arguments: Any) -> None:
        world.files.mkdir(path_of(world, "p=1"))
        remove(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(removing, "remove", go)
        world.files.move(path_of(world), f"{world.root}/away/t")
        world.settle()
    assert world.objects() == {"d"}
    assert world.metastore.execute("SELECT path FROM {state}.journal WHERE replacement IS NOT NULL") == []
    world.files.delete(path_of(world))
    world.files.move(f"{world.root}/away/t", path_of(world))
    world.settle()
    is_well(world, ALL)


# --- what happened must be known first ----------------------------------------------------------------------------------


def several_namenodes(world: MirrorWorld) -> None:
    """A NameNode that reports an absence has to write, as one of several has: each question makes an edit."""
    world.namenode._addresses *= 2


def test_what_was_reported_is_removed_although_each_question_makes_an_edit(world: MirrorWorld, db: int) -> None:
    world.start(rename_policy="report")
    make(world, db)
    world.settle()
    several_namenodes(world)
    world.files.move(path_of(world), f"{world.root}/away/t")
    world.settle()
    assert world.pending_checks() == [("rename", "reported")]
    world.files.trash(f"{world.root}/away/t")
    world.settle()
    world.look_again()
    world.until(lambda: world.objects() == {"d"})
    world.settle()
    assert world.mirror.context.absences == {}


def test_one_that_has_just_gone_does_not_keep_its_siblings(world: MirrorWorld, db: int) -> None:
    table = make(world, db)
    world.make_partitions(table, [path_of(world, f"p={n}") for n in range(3, 10)])
    world.settle()
    several_namenodes(world)
    for n in range(10):
        world.files.delete(path_of(world, f"p={n}"))
        world.mirror.step()
        assert n < 2 or f"d.t/p={n - 2}" not in world.objects()
    world.settle()
    is_well(world, {"d", "d.t"})


@pytest.mark.parametrize("gone", ["a table", "a partition", "what was never there"])
def test_what_waits_for_events_is_not_looked_at_again(
    world: MirrorWorld, db: int, gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(world, db)
    world.settle()
    several_namenodes(world)
    if gone == "what was never there":
        world.make_table(db, "u", f"{world.root}/u", directory=False)
    else:
        world.files.delete(path_of(world) if gone == "a table" else path_of(world, "p=1"))
    world.mirror.step()
    before = dict(world.mirror.context.absences)
    assert before
    with monkeypatch.context() as patched:
        patched.setattr(world.mirror, "_events", lambda: None)
        for question in ("entries", "sure_entries", "current_txid"):
            patched.setattr(world.namenode, question, lambda *_: pytest.fail("The NameNode is asked."))
        for _ in range(3):
            assert world.mirror.step()
    assert world.mirror.context.absences == before
    world.settle()
    assert (
        world.objects()
        == {
            "a table": {"d"},
            "a partition": ALL - {"d.t/p=1"},
            "what was never there": ALL,
        }[gone]
    )


def test_events_that_a_removal_waits_for_are_asked_for_ten_times_without_a_rest(
    world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(world, db)
    world.settle()
    events = world.namenode.events
    asked = list[int]()

    def ask(txid: int) -> EventBatches:
        """As of a NameNode that cannot read its newest edits yet."""
        asked.append(txid)
        answer = events(txid)
        known = [one for one in answer.events if one.txid <= last]
        return replace(answer, events=known, last_txid=min(answer.last_txid, max(txid, last)))

    world.files.delete(path_of(world))
    last = world.namenode.current_txid()
    world.files.mkdir(f"{world.root}/something else")
    monkeypatch.setattr(world.namenode, "events", ask)
    world.until(lambda: world.mirror.context.absences)
    asked.clear()
    while world.mirror.step():
        assert len(asked) < 100
    assert 0 < len(asked) <= pace.UNREAD_QUESTIONS
    assert world.objects() == ALL
    # From now on they have the usual rest, which is none where so much may be owed.
    monkeypatch.setattr(pace, "OWED", 0.0)
    world.mirror.pace._next = time.monotonic() + 3600
    asked.clear()
    for _ in range(20):
        assert not world.mirror.step()
        assert not world.mirror.stirred()
    assert asked == []
    assert world.objects() == ALL
    world.mirror.pace._next = 0.0
    last += 1000
    world.settle()
    assert world.objects() == {"d"}


def test_of_many_that_are_missing_few_wait_at_a_time(world: MirrorWorld, db: int) -> None:
    world.start(batch=2)
    several_namenodes(world)
    for n in range(9):
        world.make_table(db, f"t{n}", path_of(world, f"{n}"), directory=False)
    most = 0
    for _ in range(40):
        world.mirror.step()
        most = max(most, len(world.mirror.context.absences))
    assert world.objects() == {"d"}
    assert 0 < most <= 2


def test_a_removal_that_another_leader_continues_waits_for_all_events(
    world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.start(batch=2)
    make(world, db)
    world.settle()
    replace_it(world)
    place = world.files.trash(path_of(world))

    def die(*_: object) -> None:
        raise ConnectionAbortedError

    with monkeypatch.context() as patched, pytest.raises(ConnectionAbortedError):
        patched.setattr(removing, "_still_absent", die)
        world.until(lambda: world.objects() == {"d"})
    assert {"d.t"} < world.objects() < ALL
    # No process leads. More happens than one answer of the NameNode tells, and then the trash is renamed.
    for n in range(1100):
        world.namenode.make_directory(f"{world.root}/{n}")
    checkpoint = "/2411242300"
    world.files.move(TRASH, TRASH.replace("/Current", checkpoint))
    world.start()
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(place.replace("/Current", checkpoint), path_of(world))
    world.settle()
    is_well(world, ALL)


# --- another directory ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("trash", [True, False])
def test_a_directory_that_is_made_again_brings_nothing_back(
    world: MirrorWorld, db: int, seen: bool, trash: bool
) -> None:
    make(world, db)
    if seen:
        world.settle()
    if trash:
        world.files.trash(path_of(world))
    else:
        world.files.delete(path_of(world))
    world.settle()
    world.files.mkdir(path_of(world, "p=0"))
    world.settle()
    assert world.objects() == {"d"}
    # Through the trash, and from elsewhere, it is another one still.
    place = f"{TRASH}{path_of(world)}1764000000000"
    world.files.move(path_of(world), place)
    world.settle()
    world.files.move(place, path_of(world))
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(path_of(world), f"{world.root}/x")
    world.files.move(f"{world.root}/x", path_of(world))
    world.settle()
    assert world.objects() == {"d"}
    assert world.pending_checks() == []


def test_what_went_in_a_gap_does_not_come_back_with_a_directory_that_was_made_later(
    world: MirrorWorld, db: int
) -> None:
    make(world, db)
    world.files.delete(path_of(world))
    gap(world)
    world.settle()
    assert world.objects() == {"d"}
    # It was made later by the clock of a NameNode, and the clocks of two hosts may differ.
    world.metastore.execute("UPDATE {state}.journal SET removed = removed - INTERVAL 1 MINUTE")
    world.files.mkdir(path_of(world, "p=0"))
    world.files.move(world.files.trash(path_of(world)), path_of(world))
    world.settle()
    assert world.objects() == {"d"}
    assert world.pending_checks() == []


def test_what_was_deleted_for_good_does_not_come_back_with_an_older_directory(world: MirrorWorld, db: int) -> None:
    world.files.mkdir(path_of(world))
    place = world.files.trash(path_of(world))
    make(world, db)
    world.files.delete(path_of(world))
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(place, path_of(world))
    world.settle()
    assert world.objects() == {"d"}
    assert world.pending_checks() == []


def test_another_directory_from_elsewhere_brings_nothing_back(world: MirrorWorld, db: int) -> None:
    world.files.mkdir(f"{world.root}/old/p=0")
    make(world, db)
    world.files.delete(path_of(world))
    gap(world)
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(f"{world.root}/old", path_of(world))
    world.settle()
    assert world.objects() == {"d"}
    assert world.pending_checks() == []


def test_an_older_journal_entry_without_an_inode_comes_back_from_the_trash(world: MirrorWorld, db: int) -> None:
    make(world, db)
    place = world.files.trash(path_of(world))
    world.settle()
    # As an earlier version wrote it.
    world.metastore.execute("UPDATE {state}.journal SET inode = NULL")
    world.start()
    world.files.move(place, path_of(world))
    world.settle()
    is_well(world, ALL)
