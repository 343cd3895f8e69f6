"""DROP TABLE that a metastore left half done, against a real NameNode and a real database."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from hopshive.consistency.drops import owned
from hopshive.consistency.drops.finish import (
    CLOCK_SKEW_SECONDS,
    MAX_DIRECTORIES,
    PATIENCE_SECONDS,
    SEEN,
    SETTLE_SECONDS,
    TABLES,
    Drops,
)
from hopshive.daemon.metrics import Metrics
from hopshive.database import Database, LostLease
from hopshive.database.state import write_setting
from tests.support.mirror_world import TRASH, MirrorWorld

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.database import Transaction

FIRST, SECOND = "one:9083", "two:9083"
LONG_AGO = 1000.0


@dataclass
class Site:
    """The part of the cleaner that is tested, with metastores that say when they began, and a clock of its own."""

    world: MirrorWorld
    now: float = 0.0
    began: dict[str, float | None] = field(default_factory=lambda: {FIRST: LONG_AGO, SECOND: LONG_AGO})

    def __post_init__(self) -> None:
        self.drops = self.start()

    def start(self, database: Database | None = None) -> Drops:
        """Another leader."""
        config = replace(self.world.config, metastores=[FIRST, SECOND])
        self.metrics = Metrics()
        self.drops = Drops(
            config,
            database or self.world.database,
            self.world.namenode,
            self.metrics,
            self.began.__getitem__,
            lambda: self.now,
        )
        return self.drops

    def after(self, seconds: float) -> None:
        self.now += seconds
        self.drops.step()

    def restart(self, address: str) -> float:
        """When that was, by the database's clock."""
        now = float(self.world.metastore.execute("SELECT UNIX_TIMESTAMP(NOW(3))")[0][0])
        self.began[address] = now
        return now

    def shift(self, seconds: float) -> None:
        """As if all that is written down had been so much earlier."""
        ((value,),) = self.world.metastore.execute(f"SELECT value FROM {{state}}.setting WHERE name = '{SEEN}'")
        seen = json.loads(value)
        seen["complete"] -= seconds
        seen["heard"] = {address: at - seconds for address, at in seen["heard"].items()}
        with self.world.database.transaction() as tx:
            write_setting(tx, SEEN, json.dumps(seen))

    def is_there(self, path: str) -> bool:
        return self.world.namenode.entry(path) is not None

    def written_down(self) -> set[str]:
        return {bytes(name).decode() for (name,) in self.world.metastore.execute("SELECT name FROM {state}.owned")}


@pytest.fixture
def site(world: MirrorWorld) -> Site:
    world.metastore.execute(
        f"DELETE FROM SEQUENCE_TABLE WHERE SEQUENCE_NAME = '{TABLES}'",
        f"INSERT INTO SEQUENCE_TABLE (SEQUENCE_NAME, NEXT_VAL) VALUES ('{TABLES}', 1000)",
    )
    return Site(world)


def path_of(site: Site, name: str) -> str:
    return f"{site.world.root}/managed/d.db/{name}"


def make(site: Site, db: int, name: str = "t") -> int:
    """A managed table that the mirror has bound, and that was seen once."""
    number = site.world.make_table(db, name, path_of(site, name))
    site.world.files.mkdir(f"{path_of(site, name)}/data")
    site.world.settle()
    site.after(1)
    return number


def delete_rows(site: Site, tables: Sequence[int]) -> None:
    """As a metastore does in its transaction, and the cleaner's garbage collection a moment later."""
    ids = ", ".join(map(str, tables))
    site.world.metastore.execute(
        f"DELETE FROM TABLE_PARAMS WHERE TBL_ID IN ({ids})",
        f"DELETE FROM TBLS WHERE TBL_ID IN ({ids})",
        f"DELETE FROM SDS WHERE SD_ID IN ({ids})",
        "DELETE FROM {inodes} WHERE name NOT IN (SELECT NAME FROM SDS WHERE NAME IS NOT NULL)",
    )


def set_property(site: Site, table: int, key: str, value: str) -> None:
    site.world.metastore.execute(
        f"REPLACE INTO TABLE_PARAMS (TBL_ID, PARAM_KEY, PARAM_VALUE) VALUES ({table}, '{key}', '{value}')"
    )


# --- which directories go with their table ----------------------------------------------------------------------------


def test_a_managed_table_has_its_directory_written_down(site: Site, db: int) -> None:
    make(site, db)
    assert site.written_down() == {"hive.d.t"}


@pytest.mark.parametrize(
    ("properties", "owns"),
    [
        ({}, False),
        ({"external.table.purge": "false"}, False),
        ({"external.table.purge": "true"}, True),
        ({"external.table.purge": "TRUE"}, True),
        ({"external.table.purge": "TRUE", "table_type": "ICEBERG"}, False),
        ({"external.table.purge": "TRUE", "storage_handler": "org.example.Handler"}, False),
    ],
)
def test_an_external_table_has_it_only_with_purge_and_if_no_other_table_keeps_it(
    site: Site, db: int, properties: dict[str, str], owns: bool
) -> None:
    number = site.world.make_table(db, "t", path_of(site, "t"))
    site.world.metastore.execute(f"UPDATE TBLS SET TBL_TYPE = 'EXTERNAL_TABLE' WHERE TBL_ID = {number}")
    for key, value in properties.items():
        set_property(site, number, key, value)
    site.world.settle()
    assert site.written_down() == ({"hive.d.t"} if owns else set())


def test_a_comparison_notices_what_was_altered(site: Site, db: int) -> None:
    number = make(site, db)
    site.world.metastore.execute(f"UPDATE TBLS SET TBL_TYPE = 'EXTERNAL_TABLE' WHERE TBL_ID = {number}")
    site.world.mirror.compare()
    site.world.settle()
    assert site.written_down() == set()
    set_property(site, number, "external.table.purge", "TRUE")
    site.world.mirror.compare()
    site.world.settle()
    assert site.written_down() == {"hive.d.t"}


def test_a_table_without_its_properties_is_looked_at_again(
    site: Site, db: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As NDB shows one that is just being dropped."""
    number = make(site, db)
    read = owned._tables
    monkeypatch.setattr(owned, "_tables", Mock(side_effect=[[(number, number, "hive", "d", "t", 0)], []]))
    with site.world.database.transaction() as tx:
        owned.note(tx, {number: (path_of(site, "t"), 1)})
    assert site.written_down() == {"hive.d.t"}
    monkeypatch.setattr(owned, "_tables", read)
    site.world.metastore.execute(f"UPDATE TBLS SET TBL_TYPE = 'EXTERNAL_TABLE' WHERE TBL_ID = {number}")
    with site.world.database.transaction() as tx:
        owned.note(tx, {number: (path_of(site, "t"), 1)})
    assert site.written_down() == set()


def test_what_the_mirror_removes_is_no_drop_and_what_comes_back_is_written_down_again(site: Site, db: int) -> None:
    make(site, db)
    trashed = site.world.files.trash(path_of(site, "t"))
    site.world.settle()
    assert site.world.objects() == {"d"}
    assert site.written_down() == set()
    site.world.files.move(trashed, path_of(site, "t"))
    site.world.settle()
    assert site.world.objects() == {"d", "d.t"}
    assert site.written_down() == {"hive.d.t"}


def test_a_directory_that_was_made_again_is_the_one_that_counts(site: Site, db: int) -> None:
    number = make(site, db)
    site.world.files.delete(path_of(site, "t"))
    site.world.files.mkdir(path_of(site, "t"))
    site.world.settle()
    delete_rows(site, [number])
    site.after(1)
    site.restart(FIRST)
    site.after(SETTLE_SECONDS)
    assert not site.is_there(path_of(site, "t"))


# --- a metastore that ended in the middle -----------------------------------------------------------------------------


def test_the_directory_goes_to_the_trash_when_a_metastore_began_since(site: Site, db: int) -> None:
    number = make(site, db)
    delete_rows(site, [number])
    site.after(1)
    site.restart(SECOND)
    site.after(SETTLE_SECONDS - 1)
    assert site.is_there(path_of(site, "t")), "the metastore that is at it has a moment to delete it"
    site.after(1)
    assert not site.is_there(path_of(site, "t"))
    assert site.is_there(f"{TRASH}{path_of(site, 't')}/data")
    assert site.written_down() == set()
    assert site.metrics.registry.get_sample_value("hopshive_drops_finished_total") == 1
    site.world.settle()
    assert site.world.differences() == []


def test_one_that_lies_in_the_trash_already_stays_there(site: Site, db: int) -> None:
    for _ in range(2):
        delete_rows(site, [make(site, db)])
        site.after(1)
        site.restart(FIRST)
        site.after(SETTLE_SECONDS)
    above = f"{TRASH}{path_of(site, '')}".rstrip("/")
    names = sorted(entry.name for entry in site.world.namenode.listing(above))
    assert len(names) == 2
    assert names[0] == "t"
    assert names[1].startswith("t1")


def test_check_tells_what_is_about_to_be_decided(site: Site, db: int) -> None:
    number = make(site, db)
    delete_rows(site, [number])
    (found,) = site.world.differences()
    assert found.kind == "no metadata"
    assert found.detail == (
        "in the directory of database hive.d; the table hive.d.t was dropped, and the cleaner is about to decide on its directory"
    )


def test_a_metastore_that_is_silent_for_a_minute_has_ended(site: Site, db: int) -> None:
    delete_rows(site, [make(site, db)])
    site.after(1)
    site.after(SETTLE_SECONDS)
    site.began[FIRST] = None
    site.after(PATIENCE_SECONDS - 1)
    assert site.is_there(path_of(site, "t"))
    site.after(1)
    assert not site.is_there(path_of(site, "t"))


def test_a_metastore_that_is_silent_for_a_moment_has_not(site: Site, db: int) -> None:
    delete_rows(site, [make(site, db)])
    site.after(1)
    for answer in (None, LONG_AGO, None, None):
        site.began[FIRST] = answer
        site.after(PATIENCE_SECONDS / 2)
        assert site.is_there(path_of(site, "t"))
    site.began[FIRST] = LONG_AGO
    site.after(1)
    assert site.is_there(path_of(site, "t"))
    assert site.written_down() == set()


def test_a_metastore_that_was_away_before_has_not_dropped_it(
    site: Site, db: int, caplog: pytest.LogCaptureFixture
) -> None:
    number = make(site, db)
    site.began[FIRST] = None
    site.drops._heard[FIRST] -= 2 * CLOCK_SKEW_SECONDS
    delete_rows(site, [number])
    site.after(1)
    site.after(PATIENCE_SECONDS)
    assert site.is_there(path_of(site, "t"))
    assert "no metastore has ended since" in caplog.text


def test_the_next_leader_knows_since_when(site: Site, db: int) -> None:
    """Database and cleaners were away: the metastore began long before a cleaner noticed."""
    number = make(site, db)
    site.after(20)
    began = site.restart(FIRST)
    delete_rows(site, [number])
    # All of it was an hour ago.
    site.shift(3600)
    site.began[FIRST] = began - 3590
    site.start()
    site.after(1)
    site.after(SETTLE_SECONDS)
    assert not site.is_there(path_of(site, "t"))


def test_who_leads_no_longer_moves_nothing(site: Site, db: int) -> None:
    class Fence:
        def check(self, _: Transaction) -> None:
            raise LostLease("gone")

    delete_rows(site, [make(site, db)])
    site.world.metastore.execute(f"DELETE FROM {{state}}.setting WHERE name = '{SEEN}'")
    site.restart(FIRST)
    database = Database(site.world.database.server, site.world.database.names, Fence())
    drops = site.start(database)
    with pytest.raises(LostLease):
        drops.step()
    drops._written = site.now + 3600
    site.after(1)
    with pytest.raises(LostLease):
        site.after(SETTLE_SECONDS)
    database.close()
    assert site.is_there(path_of(site, "t"))


# --- what stays -------------------------------------------------------------------------------------------------------


def test_a_drop_to_its_end_leaves_nothing_to_do(site: Site, db: int) -> None:
    number = make(site, db)
    delete_rows(site, [number])
    site.world.files.delete(path_of(site, "t"))
    site.after(1)
    assert site.written_down() == {"hive.d.t"}, "a NameNode that was parted does not know what was made since"
    site.restart(FIRST)
    site.after(SETTLE_SECONDS)
    assert site.written_down() == set()
    assert not site.is_there(f"{TRASH}{path_of(site, 't')}")


def test_the_directory_stays_when_no_metastore_ended(site: Site, db: int, caplog: pytest.LogCaptureFixture) -> None:
    delete_rows(site, [make(site, db)])
    site.after(1)
    site.after(PATIENCE_SECONDS)
    assert site.is_there(path_of(site, "t"))
    assert site.written_down() == set()
    assert f"its directory {path_of(site, 't')} stays: no metastore has ended since" in caplog.text
    (found,) = site.world.differences()
    assert found.detail == "in the directory of database hive.d"


def test_a_directory_that_another_table_has_now_stays(site: Site, db: int, caplog: pytest.LogCaptureFixture) -> None:
    number = make(site, db)
    delete_rows(site, [number])
    site.after(1)
    site.world.make_table(db, "t", path_of(site, "t"))
    site.world.settle()
    site.restart(FIRST)
    site.after(SETTLE_SECONDS)
    site.after(PATIENCE_SECONDS)
    assert site.is_there(path_of(site, "t"))
    assert site.world.objects() == {"d", "d.t"}
    assert "the metastore refers to it" in caplog.text
    assert site.written_down() == {"hive.d.t"}


def test_a_directory_that_another_table_gets_while_locations_are_read_stays(
    site: Site, db: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    delete_rows(site, [make(site, db)])
    site.after(1)
    site.restart(FIRST)

    def late() -> int:
        site.world.make_table(db, "t", path_of(site, "t"))
        site.world.settle()
        return 1440

    # Asked between the two.
    monkeypatch.setattr(site.world.namenode, "trash_interval", late)
    site.after(SETTLE_SECONDS)
    assert site.is_there(path_of(site, "t"))
    assert site.world.objects() == {"d", "d.t"}


def test_nothing_is_moved_or_given_up_in_safe_mode(site: Site, db: int, monkeypatch: pytest.MonkeyPatch) -> None:
    delete_rows(site, [make(site, db)])
    site.after(1)
    site.restart(FIRST)
    with monkeypatch.context() as patched:
        patched.setattr(site.world.namenode, "safe_mode", lambda: True)
        site.after(SETTLE_SECONDS)
        assert site.is_there(path_of(site, "t"))
    site.after(SETTLE_SECONDS)
    assert not site.is_there(path_of(site, "t"))


def test_what_was_put_back_while_it_was_looked_at_stays(site: Site, db: int) -> None:
    """The mirror forgets a table that it removes, and writes it down again once it is restored."""
    delete_rows(site, [make(site, db)])
    site.after(1)
    site.world.metastore.execute("DELETE FROM {state}.owned")
    site.restart(FIRST)
    site.after(SETTLE_SECONDS)
    assert site.is_there(path_of(site, "t"))


def test_another_directory_at_the_place_stays(site: Site, db: int) -> None:
    delete_rows(site, [make(site, db)])
    site.world.files.delete(path_of(site, "t"))
    site.world.files.mkdir(path_of(site, "t"))
    site.after(1)
    site.restart(FIRST)
    site.after(SETTLE_SECONDS)
    assert site.is_there(path_of(site, "t"))
    assert site.written_down() == set()


def test_without_a_trash_it_stays(
    site: Site, db: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert site.world.namenode.trash_interval() == 1440
    monkeypatch.setattr(site.world.namenode, "trash_interval", lambda: 0)
    delete_rows(site, [make(site, db)])
    site.after(1)
    site.restart(FIRST)
    site.after(SETTLE_SECONDS)
    assert site.is_there(path_of(site, "t"))
    assert "HDFS has no trash (fs.trash.interval)" in caplog.text


def test_what_hdfs_refuses_to_move_stays(site: Site, db: int, caplog: pytest.LogCaptureFixture) -> None:
    """A file lies where a directory of the trash would have to be."""
    delete_rows(site, [make(site, db)])
    site.after(1)
    site.restart(FIRST)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("hopshive.consistency.drops.finish.TRASH", "a" * 300)
        site.after(SETTLE_SECONDS)
    assert site.is_there(path_of(site, "t"))
    assert "it cannot be moved to the trash: The NameNode" in caplog.text


def test_a_metastore_that_was_put_back_to_an_earlier_state_has_dropped_nothing(
    site: Site, db: int, caplog: pytest.LogCaptureFixture
) -> None:
    number = make(site, db)
    delete_rows(site, [number])
    site.world.metastore.execute(f"UPDATE SEQUENCE_TABLE SET NEXT_VAL = 990 WHERE SEQUENCE_NAME = '{TABLES}'")
    site.restart(FIRST)
    site.after(1)
    site.after(SETTLE_SECONDS)
    assert site.is_there(path_of(site, "t"))
    assert site.written_down() == set()
    assert "put back to an earlier state. The directories of missing tables stay: 1." in caplog.text


def test_many_at_once_are_for_a_human(site: Site, db: int, caplog: pytest.LogCaptureFixture) -> None:
    tables = [site.world.make_table(db, f"t{n}", path_of(site, f"t{n}")) for n in range(MAX_DIRECTORIES + 1)]
    site.world.settle()
    site.after(1)
    delete_rows(site, tables)
    site.after(1)
    site.restart(FIRST)
    site.after(SETTLE_SECONDS)
    assert site.is_there(path_of(site, "t0"))
    assert f"{MAX_DIRECTORIES + 1} tables were dropped and their directories are there" in caplog.text
    assert site.written_down() == set()


def test_more_tables_than_a_page_are_looked_at_in_turns(site: Site, db: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hopshive.consistency.drops.finish.TABLES_PER_PAGE", 2)
    tables = [site.world.make_table(db, f"t{n}", path_of(site, f"t{n}")) for n in range(5)]
    site.world.settle()
    for _ in range(4):
        site.after(1)
    delete_rows(site, tables[1:])
    site.restart(FIRST)
    for _ in range(4):
        site.after(SETTLE_SECONDS)
    assert [site.is_there(path_of(site, f"t{n}")) for n in range(5)] == [True, False, False, False, False]
