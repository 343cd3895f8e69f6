"""The mirror against a real NameNode and a real database: what each action on a directory leads to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hopshive.consistency import check
from hopshive.consistency.mirror import follow, held
from hopshive.database.state import write_setting
from hopshive.errors import Refused
from tests.support.mirror_world import TRASH, MirrorWorld


@pytest.fixture
def table(world: MirrorWorld, db: int) -> int:
    """A table `d.t` with three partitions, in the database's managed directory."""
    number = world.make_table(db, "t", f"{world.root}/managed/d.db/t")
    world.make_partitions(number, [f"{world.root}/managed/d.db/t/p={n}" for n in range(3)])
    world.settle()
    return number


ALL = {"d", "d.t", "d.t/p=0", "d.t/p=1", "d.t/p=2"}


# --- binding --------------------------------------------------------------------------------------------------------


def test_new_metadata_is_bound_to_the_inodes_of_its_directories(world: MirrorWorld, table: int) -> None:
    chain = world.namenode.chain(f"{world.root}/managed/d.db/t")
    assert chain is not None
    row = world.metastore.execute(f"SELECT PARENT_ID, NAME FROM SDS WHERE SD_ID = {table}")[0]
    assert row == (chain[-2].file_id, b"t")
    assert world.differences() == []


def test_a_view_and_other_file_systems_are_never_bound_and_never_removed(world: MirrorWorld, db: int) -> None:
    world.make_table(db, "v", "", view=True)
    number = world.make_table(db, "s", "/nowhere", directory=False)
    world.metastore.execute(f"UPDATE SDS SET LOCATION = 's3a://bucket/x' WHERE SD_ID = {number}")
    world.settle()
    world.mirror.compare()
    world.settle()
    assert world.objects() == {"d", "d.v", "d.s"}
    assert not world.bound(number)
    assert world.differences() == []


def test_metadata_whose_directory_was_never_there_goes_when_its_grace_has_passed(world: MirrorWorld, db: int) -> None:
    world.start(unbound_grace=3600)
    world.make_table(db, "t", f"{world.root}/elsewhere/t", directory=False)
    world.settle()
    assert world.objects() == {"d", "d.t"}
    assert world.pending_checks() == [("missing", "waiting")]
    world.look_again()
    world.settle()
    assert world.objects() == {"d"}
    assert world.pending_checks() == []


def test_metadata_whose_directory_comes_later_is_bound(world: MirrorWorld, db: int) -> None:
    world.start(unbound_grace=3600)
    number = world.make_table(db, "t", f"{world.root}/elsewhere/t", directory=False)
    world.settle()
    world.files.mkdir(f"{world.root}/elsewhere/t")
    world.settle()
    world.look_again()
    world.settle()
    assert world.bound(number)
    assert world.pending_checks() == []


def test_a_deletion_right_after_the_creation_does_not_wait_the_longer_time(world: MirrorWorld, db: int) -> None:
    world.start(unbound_grace=3600)
    path = f"{world.root}/managed/d.db/t"
    world.make_table(db, "t", path)
    world.files.delete(path)
    world.settle()
    assert world.objects() == {"d"}


def test_a_row_that_another_session_has_locked_is_left_without_a_wait(world: MirrorWorld, table: int) -> None:
    other = world.metastore.database()
    with other.transaction() as tx:
        tx.execute("UPDATE SDS SET LOCATION = %s WHERE SD_ID = %s", (f"{world.uri}{world.root}/new", table))
        world.files.mkdir(f"{world.root}/new")
        world.settle()
    other.close()
    world.settle()
    assert world.bound(table)
    assert world.differences() == [d for d in world.differences() if d.kind == "no metadata"]


def test_a_directory_of_managed_tables_without_a_database_is_told(world: MirrorWorld) -> None:
    """No database lies above it, but others lie beside it."""
    world.make_database("beside", managed=True)
    left = f"{world.root}/managed/left.db"
    for path in (left, f"{world.root}/managed/notes", f"{world.root}/external/notes"):
        world.files.mkdir(path)
    world.settle()
    (found,) = world.differences()
    assert (found.kind, found.path) == ("no metadata", left)


# --- deletions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ("managed/d.db/t/p=1", ALL - {"d.t/p=1"}),
        ("managed/d.db/t", {"d"}),
        ("managed/d.db", {"d"}),
        ("external/d.db", ALL),
    ],
)
@pytest.mark.parametrize("trash", [False, True])
def test_a_deleted_directory_takes_its_object_along(
    world: MirrorWorld, table: int, gone: str, left: set[str], trash: bool
) -> None:
    path = f"{world.root}/{gone}"
    place = world.files.trash(path) if trash else ""
    if not trash:
        world.files.delete(path)
    world.settle()
    assert world.objects() == left
    assert world.pending_checks() == []
    assert world.differences() == []
    if place:
        world.files.move(place, path)
        world.settle()
        assert world.objects() == ALL
        assert world.bound(table)
        assert world.differences() == []


@pytest.mark.usefixtures("table")
def test_a_database_goes_with_both_of_its_directories_and_comes_back_with_them(world: MirrorWorld) -> None:
    places = [world.files.trash(f"{world.root}/{kind}/d.db") for kind in ("external", "managed")]
    world.settle()
    assert world.objects() == set()
    for place in places:
        world.files.move(place, place.removeprefix(TRASH))
    world.settle()
    assert world.objects() == ALL
    assert world.differences() == []


def test_a_directory_that_is_made_again_within_the_grace_keeps_its_metadata(world: MirrorWorld, table: int) -> None:
    path = f"{world.root}/managed/d.db/t"
    world.files.delete(path)
    for n in range(2):
        world.files.mkdir(f"{path}/p={n}")
    world.settle()
    assert world.objects() == ALL - {"d.t/p=2"}
    assert world.differences() == []
    assert world.bound(table)


def test_a_removal_of_many_goes_in_bounded_transactions(world: MirrorWorld, db: int) -> None:
    world.start(batch=7)
    number = world.make_table(db, "t", f"{world.root}/managed/d.db/t")
    world.make_partitions(number, [f"{world.root}/managed/d.db/t/p={n}" for n in range(30)])
    world.settle()
    place = world.files.trash(f"{world.root}/managed/d.db/t")
    world.settle()
    assert world.objects() == {"d"}
    assert world.metastore.execute("SELECT COUNT(*) FROM {state}.journal") == [(31,)]
    assert world.metastore.execute("SELECT COUNT(*) FROM {inodes} WHERE name LIKE 'p=%'") == [(0,)]
    world.files.move(place, f"{world.root}/managed/d.db/t")
    world.settle()
    assert len(world.objects()) == 32


def test_two_tables_on_one_directory_follow_it_both(world: MirrorWorld, db: int) -> None:
    path = f"{world.root}/shared"
    world.make_table(db, "a", path)
    world.make_table(db, "b", path)
    world.settle()
    world.files.delete(path)
    world.settle()
    assert world.objects() == {"d"}


def test_a_partition_outside_of_its_table_follows_its_own_directory(world: MirrorWorld, table: int) -> None:
    world.make_partitions(table, [f"{world.root}/far/p=9"])
    world.settle()
    world.files.delete(f"{world.root}/far")
    world.settle()
    assert world.objects() == ALL


@pytest.mark.usefixtures("table")
def test_a_deletion_without_a_leader_is_found_by_its_event(world: MirrorWorld) -> None:
    world.files.delete(f"{world.root}/managed/d.db/t/p=0")
    world.start()
    world.settle()
    assert world.objects() == ALL - {"d.t/p=0"}


@pytest.mark.usefixtures("table")
def test_after_a_gap_in_the_events_a_comparison_finds_what_they_would_have_told(world: MirrorWorld) -> None:
    world.files.delete(f"{world.root}/managed/d.db/t/p=0")
    with world.database.transaction() as tx:
        follow.start_at(tx, world.namenode.current_txid())
    world.start()
    world.settle()
    assert world.objects() == ALL - {"d.t/p=0"}
    assert world.differences() == []


# --- moves ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("table")
def test_what_is_moved_elsewhere_is_deleted_after_its_grace(world: MirrorWorld) -> None:
    world.start(rename_grace=3600)
    path = f"{world.root}/managed/d.db/t"
    world.files.move(path, f"{world.root}/away/t")
    world.settle()
    assert world.objects() == ALL
    world.look_again()
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(f"{world.root}/away/t", path)
    world.settle()
    assert world.objects() == ALL


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("moved", ["t", "t/p=0"])
def test_what_is_back_does_not_wait_for_the_end_of_its_grace(world: MirrorWorld, moved: str) -> None:
    world.start(rename_grace=3600)
    path = f"{world.root}/managed/d.db/{moved}"
    for _ in range(2):
        world.files.move(path, f"{world.root}/away/{moved}")
        world.settle()
        assert world.pending_checks() == [("rename", "waiting")]
        world.files.move(f"{world.root}/away/{moved}", path)
        world.settle()
        assert world.pending_checks() == []
    assert world.objects() == ALL
    world.files.move(path, f"{world.root}/away/{moved}")
    world.settle()
    assert world.pending_checks() == [("rename", "waiting")]


@pytest.mark.usefixtures("table")
def test_another_directory_in_its_place_ends_no_grace(world: MirrorWorld) -> None:
    world.start(rename_grace=3600)
    path = f"{world.root}/managed/d.db/t"
    world.files.move(path, f"{world.root}/away/t")
    world.settle()
    world.files.mkdir(f"{world.root}/other")
    world.files.move(f"{world.root}/other", path)
    world.settle()
    assert world.pending_checks() == [("rename", "waiting")]


def test_with_follow_the_locations_move_along(world: MirrorWorld, table: int) -> None:
    world.start(rename_policy="follow")
    world.files.move(f"{world.root}/managed/d.db/t", f"{world.root}/away/t")
    world.settle()
    assert world.objects() == ALL
    assert world.bound(table)
    assert world.metastore.execute(f"SELECT LOCATION FROM SDS WHERE SD_ID = {table}") == [
        (f"{world.uri}{world.root}/away/t",)
    ]
    assert world.differences() == []
    assert world.pending_checks() == []


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("kinds", [["managed"], ["external", "managed"]], ids=" and ".join)
def test_with_follow_a_databases_locations_move_along_that_it_is_not_bound_to(
    world: MirrorWorld, db: int, kinds: list[str]
) -> None:
    world.make_table(db, "e", f"{world.root}/external/d.db/e")
    world.start(rename_policy="follow")
    world.settle()
    for kind in kinds:
        world.files.move(f"{world.root}/{kind}/d.db", f"{world.root}/away/{kind}")
    world.settle()
    wanted = [
        f"{world.uri}{world.root}/{f'away/{kind}' if kind in kinds else f'{kind}/d.db'}"
        for kind in ("external", "managed")
    ]
    assert world.metastore.execute("SELECT DB_LOCATION_URI, DB_MANAGED_LOCATION_URI FROM DBS WHERE NAME = 'd'") == [
        tuple(wanted)
    ]
    assert world.objects() == ALL | {"d.e"}
    assert world.differences() == []


@pytest.mark.usefixtures("table")
def test_with_report_nothing_is_removed_until_a_human_approves(world: MirrorWorld) -> None:
    world.start(rename_policy="report")
    world.files.move(f"{world.root}/managed/d.db/t", f"{world.root}/away/t")
    world.settle()
    assert world.objects() == ALL
    assert world.pending_checks() == [("rename", "reported")]
    assert world.mirror.approve() == 1
    world.settle()
    assert world.objects() == {"d"}


@pytest.mark.parametrize("heard", ["before", "after"])
def test_a_rename_by_the_metastore_binds_to_the_new_place_and_waits_for_nothing(
    world: MirrorWorld, table: int, heard: str
) -> None:
    world.start(rename_grace=3600)
    old, new = (f"{world.root}/managed/d.db/{name}" for name in ("t", "u"))
    world.files.move(old, new)
    if heard == "before":
        world.settle()
        assert world.pending_checks() == [("rename", "waiting")]
    world.metastore.execute(f"UPDATE SDS SET LOCATION = REPLACE(LOCATION, '{old}', '{new}')")
    world.metastore.execute(f"UPDATE TBLS SET TBL_NAME = 'u' WHERE TBL_ID = {table}")
    world.settle()
    assert world.pending_checks() == []
    assert world.objects() == {name.replace("d.t", "d.u") for name in ALL}
    assert world.differences() == []
    world.files.delete(new)
    world.settle()
    assert world.objects() == {"d"}


@pytest.mark.usefixtures("table")
def test_what_still_refers_to_the_old_place_keeps_its_grace(world: MirrorWorld) -> None:
    world.start(rename_grace=3600)
    old, new = (f"{world.root}/managed/d.db/{name}" for name in ("t", "u"))
    world.files.move(old, new)
    world.settle()
    # As a site's own statement for the table, which forgets the partitions.
    world.metastore.execute(f"UPDATE SDS SET LOCATION = '{world.uri}{new}' WHERE LOCATION = '{world.uri}{old}'")
    world.settle()
    assert world.pending_checks() == [("rename", "waiting")]
    assert world.objects() == ALL
    world.wait_out()
    assert world.objects() == {name for name in ALL if "p=" not in name}


@pytest.mark.usefixtures("table")
def test_another_table_at_the_place_of_what_was_moved_ends_no_grace(world: MirrorWorld, db: int) -> None:
    world.start(rename_grace=3600)
    world.files.move(f"{world.root}/managed/d.db/t", f"{world.root}/away")
    world.settle()
    world.make_table(db, "other", f"{world.root}/away", directory=False)
    world.settle()
    assert world.pending_checks() == [("rename", "waiting")]
    assert world.objects() == {*ALL, "d.other"}


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("settings", "state"), [({"rename_policy": "report"}, "reported"), ({"rename_grace": 3600}, "waiting")]
)
def test_a_comparison_does_not_decide_on_what_was_moved(
    world: MirrorWorld, settings: dict[str, Any], state: str
) -> None:
    world.start(**settings)
    world.files.move(f"{world.root}/managed/d.db/t", f"{world.root}/away/t")
    world.settle()
    world.mirror.compare()
    world.settle()
    assert world.pending_checks() == [("rename", state)]
    assert world.objects() == ALL


def test_a_comparison_finds_what_went_below_another_directory_at_the_place_of_one_that_was_moved(
    world: MirrorWorld, table: int
) -> None:
    world.start(rename_grace=3600)
    world.files.move(f"{world.root}/managed/d.db/t", f"{world.root}/away/t")
    world.settle()
    world.make_partitions(table, [f"{world.root}/managed/d.db/t/p=9"])
    world.settle()
    assert "d.t/p=9" in world.objects()
    # Its event is lost, however.
    world.files.delete(f"{world.root}/managed/d.db/t/p=9")
    world.metastore.execute(f"UPDATE {{state}}.position SET txid = {world.namenode.current_txid()}")
    world.start()
    world.mirror.compare()
    world.settle()
    assert "d.t/p=9" not in world.objects()


@pytest.mark.parametrize("directory", [True, False])
def test_what_was_dropped_while_it_was_held_does_not_wait_any_more(
    world: MirrorWorld, db: int, directory: bool
) -> None:
    world.start(max_removals=0)
    table = world.make_table(db, "t", f"{world.root}/elsewhere/t", directory=directory)
    world.settle()
    if directory:
        world.files.delete(f"{world.root}/elsewhere/t")
        world.settle()
    (one,) = held.read(world.database)
    assert one.objects == 1
    # As DROP TABLE; the leader has not looked again.
    world.metastore.execute(f"DELETE FROM SDS WHERE SD_ID = {table}")
    assert world.pending_checks() == [(one.kind, "held")]
    assert held.read(world.database) == []


@pytest.mark.usefixtures("table")
def test_the_move_of_a_directory_above_databases_removes_nothing(world: MirrorWorld) -> None:
    world.files.move(f"{world.root}/managed", f"{world.root}/moved")
    world.settle()
    world.mirror.compare()
    world.settle()
    assert world.objects() == ALL
    assert ("rename", "reported") in world.pending_checks()
    world.files.move(f"{world.root}/moved", f"{world.root}/managed")
    world.look_again()
    world.settle()
    assert world.objects() == ALL
    assert world.pending_checks() == []
    assert world.differences() == []


# --- the fuse -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("table")
def test_the_fuse_holds_what_is_too_much_until_a_human_approves(world: MirrorWorld) -> None:
    world.start(max_removals=3)
    world.files.delete(f"{world.root}/managed/d.db/t")
    world.settle()
    assert world.objects() == ALL
    assert world.pending_checks() == [("unlink", "held")]
    world.mirror.approve()
    world.settle()
    assert world.objects() == {"d"}
    assert world.metastore.execute("SELECT COUNT(*) FROM {state}.setting WHERE name = 'fuse'") == [(0,)]


@pytest.mark.usefixtures("table")
def test_the_end_of_the_whole_warehouse_waits_for_a_human(world: MirrorWorld) -> None:
    world.files.delete(f"{world.root}")
    world.settle()
    assert world.objects() == ALL
    world.mirror.approve()
    world.settle()
    assert world.objects() == set()
    assert world.pending_checks() == []


@pytest.mark.usefixtures("table")
def test_a_directory_above_databases_holds_itself_alone(world: MirrorWorld) -> None:
    other = world.make_table(world.make_database("e"), "u", f"{world.root}/elsewhere/u")
    world.make_partitions(other, [f"{world.root}/elsewhere/u/p=1"])
    world.settle()
    world.files.delete(f"{world.root}/external")
    world.settle()
    assert ("unlink", "held") in world.pending_checks()
    world.files.delete(f"{world.root}/elsewhere/u/p=1")
    world.settle()
    assert "e.u/p=1" not in world.objects()
    assert {"d", "e", "e.u"} <= world.objects()


@pytest.mark.usefixtures("table")
def test_an_approval_takes_only_what_its_asker_was_shown(world: MirrorWorld) -> None:
    world.start(max_removals=0)
    one, two = (f"{world.root}/managed/d.db/t/p={number}" for number in (1, 2))
    world.files.delete(one)
    world.settle()
    until = held.shown_until(held.read(world.database))
    world.files.delete(two)
    world.settle()
    assert [one.path for one in held.read(world.database)] == [one, two]
    assert world.mirror.approve([two], until) == 0
    assert world.mirror.approve([], until) == 1
    world.settle()
    assert ALL - world.objects() == {"d.t/p=1"}
    assert [one.path for one in held.read(world.database)] == [two]
    assert world.mirror.approve([f"{world.root}/managed/d.db/other"]) == 0
    assert world.mirror.approve([two]) == 1
    world.settle()
    assert ALL - world.objects() == {"d.t/p=1", "d.t/p=2"}


@pytest.mark.usefixtures("table")
def test_the_fuse_mends_itself_when_what_it_holds_is_back(world: MirrorWorld) -> None:
    world.start(max_removals=1)
    path = f"{world.root}/managed/d.db/t"
    place = world.files.trash(path)
    world.settle()
    assert world.pending_checks() == [("trash", "held")]
    world.files.move(place, path)
    world.settle()
    world.look_again()
    world.settle()
    assert world.pending_checks() == []
    assert world.metastore.execute("SELECT COUNT(*) FROM {state}.setting WHERE name = 'fuse'") == [(0,)]
    assert world.objects() == ALL


@pytest.mark.usefixtures("table")
def test_a_comparison_that_finds_too_much_is_held_whole(world: MirrorWorld) -> None:
    world.files.delete(f"{world.root}/managed/d.db/t")
    with world.database.transaction() as tx:
        follow.start_at(tx, world.namenode.current_txid())
    world.start(max_removals=3)
    world.settle()
    assert world.objects() == ALL
    assert set(world.pending_checks()) == {("missing", "held")}
    world.mirror.approve()
    world.settle()
    assert world.objects() == {"d"}


# --- what must not be touched ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("table")
def test_another_file_system_is_refused(world: MirrorWorld) -> None:
    with world.database.transaction() as tx:
        write_setting(tx, "cluster_id", "CID-other")
    with pytest.raises(Refused, match=r"is the file system CID-.*, but .* follows CID-other\. Nothing was changed"):
        world.start()
    assert world.objects() == ALL


@pytest.mark.usefixtures("table")
def test_garbage_that_is_being_collected_is_no_difference(world: MirrorWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.metastore.execute("INSERT INTO CDS (CD_ID) VALUES (1001), (1002)")
    collect = "DELETE FROM CDS WHERE CD_ID = 1001"
    monkeypatch.setattr("hopshive.consistency.check.time.sleep", lambda _: world.metastore.execute(collect))
    found = list(check.differences(world.config, world.database, world.namenode))
    assert [(one.kind, one.object, one.detail) for one in found] == [("garbage", "CDS", "1 row without an owner")]
    collect = "DELETE FROM CDS WHERE CD_ID = 1002"
    assert list(check.differences(world.config, world.database, world.namenode)) == []


@pytest.mark.usefixtures("table")
def test_in_safe_mode_nothing_is_removed(world: MirrorWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.files.delete(f"{world.root}/managed/d.db/t")
    monkeypatch.setattr(world.namenode, "safe_mode", lambda: True)
    world.settle()
    assert world.objects() == ALL
    monkeypatch.undo()
    world.settle()
    assert world.objects() == {"d"}


@pytest.mark.usefixtures("table")
def test_a_position_is_not_lost_when_nothing_concerned_us(world: MirrorWorld) -> None:
    world.files.mkdir(f"{world.root}/nothing/of/ours")
    world.config = replace(world.config)
    world.settle()
    mirror = world.start()
    assert mirror.step() is False or world.objects() == ALL


# --- what comes back in pieces --------------------------------------------------------------------------------------


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
