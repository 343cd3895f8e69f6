"""What is interrupted, fails or is locked is done later, and holds up nothing else."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.consistency.mirror import comparison as comparing
from hopshive.consistency.mirror import follow
from hopshive.consistency.mirror.work import MirrorWork
from hopshive.database import DatabaseError, DatabaseUnavailable
from hopshive.database.state import write_setting
from hopshive.errors import Refused
from hopshive.hdfs.namenode import MissingEdits
from tests.support.mirror_world import MirrorWorld

if TYPE_CHECKING:
    pass


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
        monkeypatch.setattr(comparing.Comparison, "_begin", away)
    with pytest.raises(DatabaseUnavailable):
        world.until(lambda: False)
    world.settle()
    assert world.objects() == {"d"}


def test_a_comparison_that_a_leader_did_not_finish_is_begun_again_by_the_next(
    world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "PAGE_ROWS", 1)
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
    assert ("missing", "comparing") in world.pending_checks()
    assert not comparison.over
    world.start()
    world.settle()
    assert world.objects() == {"d", "d.u"}


def test_the_next_comparison_is_due_by_the_last_one_of_any_leader(world: MirrorWorld, db: int) -> None:
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
    world.wait_out()
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
    world.wait_out()
    assert world.bound(number)


def test_a_comparison_that_was_asked_for_ends_although_the_events_have_a_gap(
    world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "PAGE_ROWS", 1)
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


def test_what_is_missing_and_lies_elsewhere_now_does_not_hold_up_others(world: MirrorWorld, db: int) -> None:
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
    world.wait_out()
    assert world.objects() == {"d", "d.s"}
    assert world.pending_checks() == []
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
    assert world.pending_checks() == [("unlink", "held")]
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
    assert {state for _, state in world.pending_checks()} == {"held"}
    assert world.objects() == before
    world.mirror.approve()
    world.settle()
    assert world.objects() == (set() if gone == "database" else {"d"})
