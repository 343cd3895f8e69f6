"""Places that are easily followed wrongly: with two names, too long, moved twice, on another file system."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.mirror_world import MirrorWorld

if TYPE_CHECKING:
    pass


def test_a_circle_of_directories_that_were_moved_into_each_other(world: MirrorWorld, db: int) -> None:
    world.start(rename_grace=3600)
    one = world.make_table(db, "one", f"{world.root}/a/one")
    two = world.make_table(db, "two", f"{world.root}/a/b/two")
    world.settle()
    world.files.move(f"{world.root}/a/b", f"{world.root}/b")
    world.relocate(two, f"{world.root}/b/two")
    world.settle()
    world.files.move(f"{world.root}/a", f"{world.root}/b/a")
    world.relocate(one, f"{world.root}/b/a/one")
    world.settle()
    world.wait_out()
    assert world.pending_checks() == []
    assert world.objects() == {"d", "d.one", "d.two"}
    world.files.delete(f"{world.root}/b/a/one")
    world.settle()
    assert world.objects() == {"d", "d.two"}
    world.files.delete(f"{world.root}/b")
    world.settle()
    assert world.objects() == {"d"}
    assert world.metastore.execute("SELECT name FROM {inodes} WHERE name IN ('a', 'b', 'one', 'two')") == []


def test_of_a_directory_that_was_moved_the_new_place_stays_known(world: MirrorWorld, db: int) -> None:
    world.start(rename_grace=3600)
    tables = {name: world.make_table(db, name, f"{world.root}/in/{name}") for name in ("x", "y", "z")}
    world.settle()
    world.files.move(f"{world.root}/in", f"{world.root}/out")
    for name, table in tables.items():
        world.relocate(table, f"{world.root}/out/{name}")
    world.settle()
    world.files.delete(f"{world.root}/out/x")
    world.settle()
    world.files.delete(f"{world.root}/out/y")
    world.settle()
    assert world.objects() == {"d", "d.z"}
    world.wait_out()
    world.files.delete(f"{world.root}/out/z")
    world.settle()
    assert world.objects() == {"d"}
    assert world.metastore.execute("SELECT name FROM {inodes} WHERE name IN ('in', 'out', 'x', 'y', 'z')") == []


def test_tables_in_snapshots_and_the_directories_that_they_are_of(world: MirrorWorld, db: int) -> None:
    for name in ("a", "b"):
        world.files.mkdir(f"{world.root}/{name}/t")
        world.files.ask("PUT", "ALLOWSNAPSHOT", f"{world.root}/{name}")
        world.files.ask("PUT", "CREATESNAPSHOT", f"{world.root}/{name}", snapshotname="s")
        world.make_table(db, name, f"{world.root}/{name}/t")
        world.make_table(db, f"{name}_then", f"{world.root}/{name}/.snapshot/s/t", directory=False)
        world.make_table(db, f"{name}_more", f"{world.root}/{name}/more")
    world.settle()
    assert world.differences() == []
    everything = world.objects()
    world.files.delete(f"{world.root}/a/more")
    world.settle()
    world.files.delete(f"{world.root}/a/t")
    world.settle()
    assert world.objects() == everything - {"d.a", "d.a_more"}
    world.files.move(f"{world.root}/b/more", f"{world.root}/b/moved")
    world.settle()
    assert world.objects() == everything - {"d.a", "d.a_more", "d.b_more"}
    world.mirror.compare()
    world.settle()
    assert world.pending_checks() == []
    assert world.differences() == []
    world.files.ask("DELETE", "DELETESNAPSHOT", f"{world.root}/b", snapshotname="s")
    world.mirror.compare()
    world.settle()
    assert world.objects() == {"d", "d.b", "d.a_then"}


def test_the_root_is_a_place_that_never_goes(world: MirrorWorld, db: int) -> None:
    world.make_table(db, "everything", "/", directory=False)
    world.settle()
    world.mirror.compare()
    world.settle()
    assert world.objects() == {"d", "d.everything"}
    assert world.differences() == []


def test_a_move_to_a_place_too_long_for_a_table(world: MirrorWorld, db: int) -> None:
    world.start(rename_policy="report")
    world.make_table(db, "t", f"{world.root}/t")
    world.make_table(db, "u", f"{world.root}/u")
    world.settle()
    world.files.move(f"{world.root}/t", world.root + ("/" + "ä" * 120) * 40)
    world.files.delete(f"{world.root}/u")
    world.settle()
    assert world.objects() == {"d", "d.t"}
    assert world.pending_checks() == [("rename", "reported")]


@pytest.mark.parametrize("twice", [True, False])
def test_what_was_moved_to_a_place_too_long_for_a_table_comes_back(
    world: MirrorWorld, db: int, twice: bool, caplog: pytest.LogCaptureFixture
) -> None:
    world.start(rename_grace=3600)
    world.make_table(db, "t", f"{world.root}/t")
    world.settle()
    place = world.root + ("/" + "ä" * 120) * 40
    if twice:
        world.files.move(f"{world.root}/t", f"{world.root}/away/t")
        world.settle()
        world.files.move(f"{world.root}/away", place)
        place += "/t"
    else:
        world.files.move(f"{world.root}/t", place)
    world.wait_out()
    world.wait_out()
    assert world.objects() == {"d"}
    # The directory that it lies in is another one.
    assert world.metastore.execute("SELECT replacement FROM {state}.journal") == [(None,)]
    assert "moved to a path of more than 8000 bytes, which is not noted" in caplog.text
    world.namenode.move(place, f"{world.root}/t")
    world.settle()
    assert world.objects() == {"d", "d.t"}


def test_a_location_that_there_is_no_room_for_is_said_and_does_not_keep_others(
    world: MirrorWorld, db: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = world.root + ("/" + "日" * 84) * 33
    table = world.make_table(db, "t", path)
    world.make_table(db, "u", f"{world.root}/u")
    world.settle()
    assert not world.bound(table)
    assert "is not followed: its path has more than 8000 bytes" in caplog.text
    world.namenode.move(path, f"{world.root}/x")
    world.files.delete(f"{world.root}/u")
    world.settle()
    world.mirror.compare()
    world.settle()
    assert world.objects() == {"d", "d.t"}
    assert world.pending_checks() == []


@pytest.mark.parametrize("policy", ["report", "follow"])
def test_what_was_moved_twice_is_where_it_is_now(world: MirrorWorld, db: int, policy: str) -> None:
    world.start(rename_policy=policy, rename_grace=3600)
    world.make_table(db, "t", f"{world.root}/t")
    world.settle()
    world.files.move(f"{world.root}/t", f"{world.root}/away/t")
    world.settle()
    world.files.move(f"{world.root}/away", f"{world.root}/further")
    world.settle()
    world.wait_out()
    assert world.objects() == {"d", "d.t"}
    if policy == "follow":
        assert world.differences() == []
    else:
        assert world.pending_checks() == [("rename", "reported")]
    world.files.trash(f"{world.root}/further/t")
    world.settle()
    world.wait_out()
    assert world.objects() == {"d"}


def test_each_way_to_write_a_place_is_followed(world: MirrorWorld, db: int) -> None:
    # Of neighbours, one goes first.
    names = ("t", "t ", "p=A", "p=a", "a b", "it's", "p=%3A", "p=%253A", "a_b%c", "a.b.c", "ü", "[x]")
    places = {f"{world.uri}{world.root}/{name}": f"{world.root}/{name}" for name in names}
    places |= {
        f"{world.uri}{world.root}/slash/": f"{world.root}/slash",
        f"{world.uri}/{world.root}//double//x": f"{world.root}/double/x",
        f"{world.uri}{world.root}/./dots/y/../z": f"{world.root}/dots/z",
        f"{world.root}/bare": f"{world.root}/bare",
    }
    tables = {}
    for number, (location, path) in enumerate(places.items()):
        world.files.mkdir(path)
        tables[path] = world.make_table(db, f"t{number}", world.root, directory=False)
        with world.metastore.cursor() as cursor:
            cursor.execute("UPDATE SDS SET LOCATION = %s WHERE SD_ID = %s", (location, tables[path]))
    world.settle()
    assert all(world.bound(table) for table in tables.values())
    first, second = list(tables)[::2], list(tables)[1::2]
    left = {"d"} | {f"d.t{number}" for number in range(1, len(tables), 2)}
    for path in first:
        world.files.delete(path)
    world.settle()
    assert world.objects() == left
    moved = {world.files.trash(path): path for path in second}
    world.settle()
    assert world.objects() == {"d"}
    for place, path in moved.items():
        world.files.move(place, path)
    world.settle()
    assert world.objects() == left
    assert world.differences() == []


def test_what_is_locked_keeps_nothing_else_from_being_bound(world: MirrorWorld, db: int) -> None:
    world.start(batch=2)
    locked = [world.make_table(db, name, f"{world.root}/{name}") for name in "abc"]
    free = world.make_table(db, "d", f"{world.root}/d")
    other = world.metastore.database()
    with other.transaction() as tx:
        tx.execute("SELECT * FROM SDS WHERE SD_ID <= %s FOR UPDATE", (max(locked),))
        world.settle()
        assert world.bound(free)
    other.close()
    # NDB, which cannot skip them, is asked for them a while later.
    world.until(lambda: all(world.bound(number) for number in locked))


@pytest.mark.parametrize("column", ["DB_LOCATION_URI", "DB_MANAGED_LOCATION_URI"])
def test_a_database_with_a_directory_on_another_file_system_stays(world: MirrorWorld, db: int, column: str) -> None:
    world.metastore.execute(f"UPDATE DBS SET {column} = 's3a://bucket/d.db' WHERE DB_ID = {db}")
    world.settle()
    world.files.delete(f"{world.root}/{'managed' if column == 'DB_LOCATION_URI' else 'external'}/d.db")
    world.settle()
    world.mirror.compare()
    world.settle()
    assert world.objects() == {"d"}
    assert world.differences() == []


def test_a_database_may_move_from_another_file_system_and_back(world: MirrorWorld) -> None:
    number = world.make_database("d")
    ((place,),) = world.metastore.execute("SELECT DB_LOCATION_URI FROM DBS WHERE NAME = 'd'")
    for location in ("s3a://bucket/d.db", "s3a://bucket/e.db", place, "", place):
        world.metastore.execute(f"UPDATE DBS SET DB_LOCATION_URI = '{location}' WHERE DB_ID = {number}")
        world.settle()
        assert world.bound(-number) == (location == place)
    assert world.differences() == []


def test_with_follow_spark_is_told_too(world: MirrorWorld, db: int) -> None:
    world.start(rename_policy="follow")
    tables = [world.make_table(db, name, f"{world.root}/in/{name}") for name in ("t", "u")]
    with world.metastore.cursor() as cursor:
        for table, path in zip(tables, ("/in/t", "/other"), strict=True):
            value = world.uri + world.root + path
            cursor.execute(
                "INSERT INTO SERDE_PARAMS VALUES (%s, 'path', %s), (%s, 'a', %s)", (table, value, table, value)
            )
    world.settle()
    world.files.move(f"{world.root}/in", f"{world.root}/out")
    world.settle()
    rows = world.metastore.execute("SELECT PARAM_KEY, PARAM_VALUE FROM SERDE_PARAMS ORDER BY SERDE_ID, PARAM_KEY")
    found = [(key, value.removeprefix(world.uri + world.root)) for key, value in rows]
    assert found == [("a", "/in/t"), ("path", "/out/t"), ("a", "/other"), ("path", "/other")]
    assert world.differences() == []
