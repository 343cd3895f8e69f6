"""The mirror where it is easily wrong: directories with two names, what comes back in pieces, what breaks off in the middle."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.consistency.mirror import binding, compare, follow, loop, recheck, restoring
from hopshive.consistency.mirror.context import look
from hopshive.consistency.mirror.work import MirrorWork
from hopshive.database import DatabaseError, DatabaseUnavailable, Transaction
from hopshive.database.state import write_setting
from hopshive.errors import Refused
from hopshive.hdfs.namenode import MissingEdits
from tests.support.mirror_world import TRASH, MirrorWorld

if TYPE_CHECKING:
    from hopshive.consistency.mirror.context import Context
    from hopshive.consistency.mirror.queue import Recheck


def relocate(world: MirrorWorld, table: int, path: str) -> None:
    """As ALTER TABLE SET LOCATION."""
    world.metastore.execute(f"UPDATE SDS SET LOCATION = '{world.uri}{path}' WHERE SD_ID = {table}")


def wait_out(world: MirrorWorld) -> None:
    """All that waits is due now."""
    world.look_again()
    world.settle()


# --- directories with two names -------------------------------------------------------------------------------------


def test_a_circle_of_directories_that_were_moved_into_each_other(world: MirrorWorld, db: int) -> None:
    world.start(rename_grace=3600)
    one = world.make_table(db, "one", f"{world.root}/a/one")
    two = world.make_table(db, "two", f"{world.root}/a/b/two")
    world.settle()
    world.files.move(f"{world.root}/a/b", f"{world.root}/b")
    relocate(world, two, f"{world.root}/b/two")
    world.settle()
    world.files.move(f"{world.root}/a", f"{world.root}/b/a")
    relocate(world, one, f"{world.root}/b/a/one")
    world.settle()
    wait_out(world)
    assert world.rechecks() == []
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
        relocate(world, table, f"{world.root}/out/{name}")
    world.settle()
    world.files.delete(f"{world.root}/out/x")
    world.settle()
    world.files.delete(f"{world.root}/out/y")
    world.settle()
    assert world.objects() == {"d", "d.z"}
    wait_out(world)
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
    assert world.rechecks() == []
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
    assert world.rechecks() == [("rename", "reported")]


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
    wait_out(world)
    wait_out(world)
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
    assert world.rechecks() == []


@pytest.mark.parametrize("policy", ["report", "follow"])
def test_what_was_moved_twice_is_where_it_is_now(world: MirrorWorld, db: int, policy: str) -> None:
    world.start(rename_policy=policy, rename_grace=3600)
    world.make_table(db, "t", f"{world.root}/t")
    world.settle()
    world.files.move(f"{world.root}/t", f"{world.root}/away/t")
    world.settle()
    world.files.move(f"{world.root}/away", f"{world.root}/further")
    world.settle()
    wait_out(world)
    assert world.objects() == {"d", "d.t"}
    if policy == "follow":
        assert world.differences() == []
    else:
        assert world.rechecks() == [("rename", "reported")]
    world.files.trash(f"{world.root}/further/t")
    world.settle()
    wait_out(world)
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


# --- what nobody removes -------------------------------------------------------------------------------------------


def test_a_table_that_only_spark_can_read_stays_without_the_directory_that_hive_was_told(
    world: MirrorWorld, db: int
) -> None:
    # USING csv LOCATION '/data': Spark has Hive make a directory, and deletes it.
    hive, data = f"{world.root}/external/d.db/t-__PLACEHOLDER__", f"{world.root}/external/d.db/data"
    table = world.make_table(db, "t", hive)
    world.metastore.execute(
        f"INSERT INTO SERDE_PARAMS (SERDE_ID, PARAM_KEY, PARAM_VALUE) VALUES ({table}, 'path', '{world.uri}{data}')"
    )
    world.make_partitions(table, [f"{data}/p=1", f"{data}/p=2"])
    world.files.delete(hive)
    world.settle()
    world.mirror.compare()
    world.settle()
    assert world.objects() == {"d", "d.t", "d.t/p=1", "d.t/p=2"}
    assert world.differences() == []
    world.files.delete(f"{data}/p=1")
    world.settle()
    assert world.objects() == {"d", "d.t", "d.t/p=2"}


def test_the_second_directory_of_a_database_is_known_after_a_restart(world: MirrorWorld, db: int) -> None:
    world.settle()
    world.start()
    for kind in ("external", "managed"):
        assert world.objects() == {"d"}
        world.files.delete(f"{world.root}/{kind}/d.db")
        world.settle()
    assert db
    assert world.objects() == set()


def test_a_database_that_moves_while_it_is_bound_is_bound_to_the_new_place(
    world: MirrorWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_database("d")
    world.files.mkdir(f"{world.root}/new")

    def slow(*arguments: Any) -> Any:
        monkeypatch.undo()
        world.metastore.execute(f"UPDATE DBS SET DB_LOCATION_URI = '{world.uri}{world.root}/new' WHERE NAME = 'd'")
        return look(*arguments)

    monkeypatch.setattr(binding, "look", slow)
    world.settle()
    world.files.delete(f"{world.root}/new")
    world.settle()
    assert world.objects() == set()


@pytest.mark.parametrize("whole", [False, True])
def test_what_a_job_overwrites_keeps_its_metadata_while_it_runs(world: MirrorWorld, db: int, whole: bool) -> None:
    # As Spark does it: INSERT OVERWRITE t PARTITION (p=0), or of the whole table, and a query that takes its time.
    table = world.make_table(db, "t", f"{world.root}/t")
    world.make_partitions(table, [f"{world.root}/t/p={n}" for n in range(3)])
    world.settle()
    everything = world.objects()
    world.files.delete(f"{world.root}/t" if whole else f"{world.root}/t/p=0")
    world.files.mkdir(f"{world.root}/t/_temporary/0")
    world.settle()
    wait_out(world)
    world.mirror.compare()
    world.settle()
    wait_out(world)
    assert world.objects() == everything
    world.files.mkdir(f"{world.root}/t/p=0")
    world.files.delete(f"{world.root}/t/_temporary")
    wait_out(world)
    assert world.objects() == (everything - {"d.t/p=1", "d.t/p=2"} if whole else everything)
    assert world.rechecks() == []
    assert world.differences() == []


def test_a_job_that_was_killed_keeps_nothing_for_ever(world: MirrorWorld, db: int) -> None:
    table = world.make_table(db, "t", f"{world.root}/t")
    world.make_partitions(table, [f"{world.root}/t/p={n}" for n in range(3)])
    world.settle()
    world.files.mkdir(f"{world.root}/t/_temporary/0")
    world.files.delete(f"{world.root}/t/p=0")
    world.settle()
    assert world.objects() == {"d", "d.t", "d.t/p=1", "d.t/p=2"}
    world.files.delete(f"{world.root}/t/p=1")
    world.files.mkdir(f"{world.root}/t/_temporary/1")
    world.settle()
    assert world.objects() == {"d", "d.t", "d.t/p=1", "d.t/p=2"}
    world.start(writer_grace=0)
    wait_out(world)
    assert world.objects() == {"d", "d.t", "d.t/p=2"}


# --- what breaks off -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["position", "comparison"])
def test_a_gap_is_compared_although_the_database_was_away(
    world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    world.make_table(db, "t", f"{world.root}/t")
    world.settle()
    events = world.namenode.events

    def gap(_: int) -> Any:
        monkeypatch.setattr(world.namenode, "events", events)
        world.files.delete(f"{world.root}/t")
        raise MissingEdits("They are gone.")

    def away(*_: Any) -> None:
        monkeypatch.undo()
        raise DatabaseUnavailable("Nobody answers.")

    monkeypatch.setattr(world.namenode, "events", gap)
    if broken == "position":
        monkeypatch.setattr(follow, "start_at", away)
    else:
        monkeypatch.setattr(compare.Comparison, "_begin", away)
    with pytest.raises(DatabaseUnavailable):
        world.until(lambda: False)
    world.settle()
    assert world.objects() == {"d"}


def test_a_comparison_that_a_leader_did_not_finish_is_begun_again_by_the_next(
    world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "PAGE", 1)
    for name in ("t", "u"):
        world.make_table(db, name, f"{world.root}/{name}")
    world.settle()
    # Its event is lost, however.
    world.files.delete(f"{world.root}/t")
    with world.database.transaction() as tx:
        tx.execute("UPDATE {state}.position SET txid = %s", (world.namenode.current_txid(),))
    world.start()
    comparison = world.mirror.compare()
    for _ in range(3):
        world.mirror.step()
    assert ("missing", "comparing") in world.rechecks()
    assert not comparison.over
    world.start()
    world.settle()
    assert world.objects() == {"d", "d.u"}


def test_the_next_comparison_is_due_by_the_last_one_whoever_led_then(world: MirrorWorld, db: int) -> None:
    world.make_table(db, "t", f"{world.root}/t")
    world.settle()
    # Its event is lost, however.
    world.files.delete(f"{world.root}/t")
    with world.database.transaction() as tx:
        tx.execute("UPDATE {state}.position SET txid = %s", (world.namenode.current_txid(),))
    world.start(compare_interval=3600)
    world.settle()
    assert world.objects() == {"d", "d.t"}
    world.metastore.execute("UPDATE {state}.position SET compared_at = compared_at - INTERVAL 2 HOUR")
    world.start()
    world.settle()
    assert world.objects() == {"d"}


@pytest.mark.parametrize("seen", [True, False])
def test_one_that_cannot_be_removed_does_not_hold_up_the_others(world: MirrorWorld, db: int, seen: bool) -> None:
    paths = [f"{world.root}/{name}" for name in ("a", "b", "c")]
    ids = [world.make_table(db, path[-1], path, directory=seen) for path in paths]
    world.metastore.execute(
        "CREATE TABLE SITE (T BIGINT PRIMARY KEY, CONSTRAINT SITE_FK FOREIGN KEY (T) REFERENCES TBLS (TBL_ID))",
        f"INSERT INTO SITE VALUES ({ids[1]})",
    )
    try:
        world.settle()
        for path in paths if seen else ():
            world.files.delete(path)
        world.settle()
        assert world.objects() == {"d", "d.b"}
    finally:
        world.metastore.execute("DROP TABLE SITE")
    wait_out(world)
    assert world.objects() == {"d"}


def test_what_cannot_be_bound_holds_up_no_removal(world: MirrorWorld, db: int) -> None:
    world.make_table(db, "t", f"{world.root}/t")
    world.settle()
    number = world.make_table(db, "u", f"{world.root}/u")
    world.metastore.execute(
        f"CREATE TRIGGER site BEFORE UPDATE ON SDS FOR EACH ROW IF NEW.SD_ID = {number} THEN SIGNAL SQLSTATE '45000'; END IF"
    )
    try:
        world.files.delete(f"{world.root}/t")
        deadline = time.monotonic() + 20
        while world.objects() != {"d", "d.u"}:
            assert time.monotonic() < deadline
            with pytest.raises(DatabaseError):
                world.mirror.step()
    finally:
        world.metastore.execute("DROP TRIGGER site")
    world.settle()
    assert world.bound(number)


def test_after_a_restart_what_comes_later_is_still_noticed(world: MirrorWorld, db: int) -> None:
    world.start(unbound_grace=3600)
    number = world.make_table(db, "t", f"{world.root}/elsewhere/t", directory=False)
    world.settle()
    world.start()
    world.files.mkdir(f"{world.root}/elsewhere/t")
    world.settle()
    assert world.bound(number)


def test_what_comes_while_its_metadata_is_locked_holds_up_nothing(world: MirrorWorld, db: int) -> None:
    world.start(unbound_grace=3600)
    number = world.make_table(db, "t", f"{world.root}/elsewhere/t", directory=False)
    world.make_table(db, "u", f"{world.root}/u")
    world.settle()
    other = world.metastore.database()
    with other.transaction() as tx:
        tx.execute("SELECT * FROM SDS WHERE SD_ID = %s FOR UPDATE", (number,))
        world.files.mkdir(f"{world.root}/elsewhere/t")
        world.files.delete(f"{world.root}/u")
        world.settle()
        assert world.objects() == {"d", "d.t"}
    other.close()
    wait_out(world)
    assert world.bound(number)


def test_a_comparison_that_was_asked_for_ends_although_the_events_have_a_gap(
    world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "PAGE", 1)
    for name in ("t", "u", "v"):
        world.make_table(db, name, f"{world.root}/{name}")
    world.settle()
    work = MirrorWork(world.config, world.database, world.mirror.context.metrics)
    work._mirror = world.mirror
    doing = work.handlers()["sync"]({})
    next(doing)
    world.mirror.step()
    world.mirror._restart()
    for _ in range(40):
        world.mirror.step()
        try:
            next(doing)
        except StopIteration as stop:
            assert str(stop.value).startswith("Compared 4 storage descriptors")
            break
    else:
        pytest.fail("it does not end")
    work.close()


def test_what_is_missing_and_lies_elsewhere_by_now_does_not_hold_up_others(world: MirrorWorld, db: int) -> None:
    world.start(unbound_grace=3600, batch=1)
    world.make_table(db, "s", f"{world.root}/s", directory=False)
    world.settle()
    # As if the name of this file system was another one then.
    world.metastore.execute(
        "UPDATE SDS SET LOCATION = 's3a://b/s' WHERE NAME = '/'",
        "UPDATE SDS SET NAME = '/' WHERE LOCATION = 's3a://b/s'",
    )
    world.make_table(db, "t", f"{world.root}/t", directory=False)
    world.settle()
    wait_out(world)
    assert world.objects() == {"d", "d.s"}
    assert world.rechecks() == []
    assert world.differences() == []


def test_another_namespace_of_the_same_cluster_is_refused(world: MirrorWorld) -> None:
    world.settle()
    with world.database.transaction() as tx:
        write_setting(tx, "block_pool", "BP-1-192.0.2.1-1")
    sentence = r"follows BP-1-192\.0\.2\.1-1\. Nothing was changed"
    with pytest.raises(Refused, match=sentence):
        world.start()
    with pytest.raises(Refused, match=sentence):
        world.differences()


def test_what_was_approved_does_not_count_for_the_next_removals(world: MirrorWorld, db: int) -> None:
    world.start(max_removals=2)
    paths = [f"{world.root}/all/{name}" for name in "abcd"]
    for path in paths:
        world.make_table(db, path[-1], path)
    world.make_table(db, "e", f"{world.root}/e")
    world.settle()
    world.files.delete(f"{world.root}/all")
    world.settle()
    assert world.rechecks() == [("unlink", "held")]
    world.mirror.approve()
    world.settle()
    assert world.objects() == {"d", "d.e"}
    world.files.delete(f"{world.root}/e")
    world.settle()
    assert world.objects() == {"d"}


@pytest.mark.parametrize("gone", ["table", "database", "never seen"])
def test_the_fuse_counts_what_goes_along_from_elsewhere(world: MirrorWorld, gone: str) -> None:
    world.start(max_removals=3)
    home = f"{world.root}/external/d.db"
    table = world.make_table(world.make_database("d"), "t", f"{world.root}/t", directory=gone != "never seen")
    numbers = world.make_partitions(table, [f"{world.root}/p={n}" for n in range(4)], directories=False)
    with world.metastore.cursor() as cursor:
        cursor.executemany(
            "UPDATE SDS SET LOCATION = CONCAT('s3a://b/', %s) WHERE SD_ID = %s", [(n, n) for n in numbers]
        )
    world.settle()
    before = world.objects()
    if gone != "never seen":
        world.files.delete(home if gone == "database" else f"{world.root}/t")
        world.settle()
    assert {state for _, state in world.rechecks()} == {"held"}
    assert world.objects() == before
    world.mirror.approve()
    world.settle()
    assert world.objects() == (set() if gone == "database" else {"d"})


# --- what comes back -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["external", "managed"])
def test_a_database_comes_back_with_both_of_its_directories_in_any_order(
    world: MirrorWorld, db: int, first: str
) -> None:
    for kind in ("external", "managed"):
        table = world.make_table(db, kind, f"{world.root}/{kind}/d.db/t")
        world.make_partitions(table, [f"{world.root}/{kind}/d.db/t/p=1"])
    world.settle()
    everything = world.objects()
    for kind in ("managed", "external"):
        world.files.trash(f"{world.root}/{kind}/d.db")
        world.settle()
    assert world.objects() == set()
    for kind in (first, "managed" if first == "external" else "external"):
        world.files.move(f"{TRASH}{world.root}/{kind}/d.db", f"{world.root}/{kind}/d.db")
        world.settle()
    assert world.objects() == everything
    assert world.differences() == []


def test_a_partition_elsewhere_that_comes_back_before_its_table(world: MirrorWorld, db: int) -> None:
    table = world.make_table(db, "t", f"{world.root}/t")
    world.make_partitions(table, [f"{world.root}/far/p=1"])
    world.settle()
    for path in ("far", "t"):
        world.files.trash(f"{world.root}/{path}")
        world.settle()
    for path in ("far", "t"):
        world.files.move(f"{TRASH}{world.root}/{path}", f"{world.root}/{path}")
        world.settle()
    assert world.objects() == {"d", "d.t", "d.t/p=1"}


# --- many ----------------------------------------------------------------------------------------------------------


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
