"""The metastore's schema: what is decided, and what schematool and a MariaDB make of it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hopshive.consistency import schema
from hopshive.database import Server
from hopshive.metastore.schematool import (
    MUTEX_KEYS,
    marker,
)
from tests.support.jdbc_driver import compile_driver
from tests.support.metastore_db import Metastore, own_names
from tests.support.modules import run_module, run_task
from tests.support.servers import OPENS, QUICK, MariaDB, hadoop_classpath, write_script, write_site

ALL_KEYS = frozenset(MUTEX_KEYS)


# --- a real MariaDB and a stand-in for schematool ---------------------------------------------------------------------


@dataclass
class Site:
    """A database, a user of it, and a directory of scripts."""

    server: MariaDB
    database: str
    directory: Path
    schematool: Path
    scripts: Path
    more: dict[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        return {
            "database": self.database,
            "login_host": "127.0.0.1",
            "login_port": self.server.port,
            "login_user": self.database,
            "login_password": 'p"a\\ss#word',
            "schematool": str(self.schematool),
            "config_dir": str(self.directory / "conf"),
            "scripts_dir": str(self.scripts),
            "dump_dir": str(self.directory / "dumps"),
            **self.more,
        }

    def run(self, *, check: bool = False, **more: Any) -> dict[str, Any]:
        return run_module("hopshive_metastore_schema", {**self.arguments(), **more}, check=check)

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        return self.server.execute(*statements, database=self.database)

    def tables(self) -> set[str]:
        return {row[0] for row in self.execute("SHOW TABLES")}

    def calls(self) -> list[str]:
        path = self.directory / "calls"
        return path.read_text().splitlines() if path.exists() else []


def make_database(server: MariaDB, name: str) -> None:
    server.execute(
        f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        f"CREATE USER {name}@'%' IDENTIFIED BY 'p\"a\\\\ss#word'",
        f"GRANT ALL ON {name}.* TO {name}@'%'",
    )


@pytest.fixture
def site(mariadb: MariaDB, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    """schematool is a script here: it notes its options and sets a version, or fails half-way."""
    name = f"m{abs(hash(request.node.name)) % 10**8}"
    make_database(mariadb, name)
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "upgrade.order.mysql").write_text("3.1.0-to-3.2.0\n3.2.0-to-4.0.0-alpha-1\n4.0.0-alpha-1-to-4.0.0\n")
    (tmp_path / "conf").mkdir()
    client = f"mariadb --no-defaults -S {mariadb.socket} -u root {name}"
    create = (
        "CREATE TABLE VERSION (VER_ID BIGINT PRIMARY KEY, SCHEMA_VERSION VARCHAR(127));"
        "CREATE TABLE AUX_TABLE (MT_KEY1 VARCHAR(128), MT_KEY2 BIGINT, MT_COMMENT VARCHAR(255), PRIMARY KEY (MT_KEY1, MT_KEY2));"
    )
    tool = tmp_path / "schematool"
    lines = f"""#!/bin/sh
echo "$@ $HIVE_CONF_DIR" >> {tmp_path}/calls
case "$3" in
  -initSchema)
    echo "{create}" | {client}
    [ -e {tmp_path}/fail ] && echo "Schema initialization FAILED!" && exit 1
    echo "INSERT INTO VERSION VALUES (1, '4.0.0');" | {client} ;;
  -upgradeSchema)
    echo "CREATE TABLE NEW_TABLE (ID BIGINT);" | {client}
    [ -e {tmp_path}/fail ] && echo "Upgrade FAILED! Metastore state would be inconsistent" && exit 1
    echo "UPDATE VERSION SET SCHEMA_VERSION = '4.0.0'" | {client} ;;
esac
"""
    tool.write_text(lines)
    tool.chmod(0o755)
    yield Site(mariadb, name, tmp_path, tool, scripts)
    mariadb.execute(f"DROP DATABASE {name}", f"DROP USER {name}@'%'")


OLD = (
    "CREATE TABLE VERSION (VER_ID BIGINT PRIMARY KEY, SCHEMA_VERSION VARCHAR(127))",
    "INSERT INTO VERSION VALUES (1, '3.1.0')",
    "CREATE TABLE AUX_TABLE (MT_KEY1 VARCHAR(128), MT_KEY2 BIGINT, MT_COMMENT VARCHAR(255), PRIMARY KEY (MT_KEY1, MT_KEY2))",
    "CREATE TABLE TBLS (TBL_ID BIGINT, TBL_NAME VARCHAR(256))",
    "INSERT INTO TBLS VALUES (1, 'größe')",
)


def test_an_empty_database_is_initialised_once(site: Site) -> None:
    foretold = site.run(check=True)
    assert (foretold["changed"], foretold["action"], site.tables()) == (True, "init", set())
    made = site.run()
    assert (made["action"], made["version"], made["mutex_rows"]) == ("init", "4.0.0", list(MUTEX_KEYS))
    conf = site.directory / "conf"
    assert site.calls() == [f"-dbType mysql -initSchema {conf}", f"-dbType mysql -validate {conf}"]
    again = site.run()
    assert (again["changed"], again["action"]) == (False, "none")
    assert len(site.calls()) == 2


def test_a_schema_that_ours_does_not_fit_is_known_before_anything_is_changed(site: Site) -> None:
    assert site.run(check=True)["consistent"]
    order = site.scripts / "upgrade.order.mysql"
    order.write_text(f"{order.read_text()}4.0.0-to-4.1.0\n")
    found = site.run(check=True)
    assert (found["action"], found["version"], found["consistent"]) == ("init", "4.1.0", False)


def test_the_module_s_old_name_works_and_warns(site: Site, tmp_path: Path) -> None:
    foretold, warned = run_task("hopshive_hive_schema", site.arguments(), tmp_path)
    assert (foretold["changed"], foretold["action"]) == (True, "init")
    assert "The module hopshive_hive_schema is called hopshive_metastore_schema now." in warned


def test_missing_mutex_rows_are_added_and_others_left(site: Site) -> None:
    site.run()
    site.execute("DELETE FROM AUX_TABLE WHERE MT_KEY1 = 'Cleaner'", "UPDATE AUX_TABLE SET MT_COMMENT = 'kept'")
    assert site.run(check=True)["mutex_rows"] == ["Cleaner"]
    assert site.run()["mutex_rows"] == ["Cleaner"]
    rows = site.execute("SELECT MT_KEY1, MT_KEY2, MT_COMMENT FROM AUX_TABLE")
    assert {row[0] for row in rows} == set(MUTEX_KEYS)
    assert {row[2] for row in rows if row[0] != "Cleaner"} == {"kept"}


def test_an_initialisation_that_stops_half_way_is_told_and_not_built_upon(site: Site) -> None:
    (site.directory / "fail").touch()
    failed = site.run()
    assert "schematool -initSchema failed (1)" in failed["msg"]
    assert "drop the database" in failed["msg"]
    (site.directory / "fail").unlink()
    for check in (True, False):
        refused = site.run(check=check)
        assert "no row in VERSION" in refused["msg"]
    assert len(site.calls()) == 1


def test_an_upgrade_begins_with_a_dump_that_can_be_loaded(site: Site) -> None:
    site.execute(*OLD)
    assert site.run(check=True)["action"] == "upgrade"
    assert not (site.directory / "dumps").exists()
    done = site.run()
    assert (done["action"], done["version_before"], done["version"]) == ("upgrade", "3.1.0", "4.0.0")
    dump = Path(done["dump"])
    assert dump.stat().st_mode & 0o777 == 0o600
    assert dump.parent.stat().st_mode & 0o777 == 0o700
    assert list(dump.parent.iterdir()) == [dump]
    load(site, dump)
    assert site.tables() == {"VERSION", "AUX_TABLE", "TBLS"}
    assert site.execute("SELECT * FROM TBLS") == [(1, "größe")]


def load(site: Site, dump: Path) -> None:
    client = ["mariadb", "--no-defaults", "-S", site.server.socket, "-u", "root"]
    subprocess.run(client, input=gzip.decompress(dump.read_bytes()), check=True)


def test_a_failed_upgrade_names_the_dump_and_blocks_the_next_until_it_is_loaded(site: Site) -> None:
    site.execute(*OLD)
    (site.directory / "fail").touch()
    failed = site.run()
    (dump,) = (site.directory / "dumps").glob("*.sql.gz")
    unfinished = marker(str(site.directory / "dumps"), site.database)
    place = f"--host=127.0.0.1 --port={site.server.port} --user={site.database} --password"
    cure = f"load the dump on this host: zcat {dump} | mariadb {place}; then rm {unfinished}"
    assert (
        "The upgrade from 3.1.0 to 4.0.0 failed. schematool -upgradeSchema failed (1): Upgrade FAILED!" in failed["msg"]
    )
    assert cure in failed["msg"]
    (site.directory / "fail").unlink()
    for check in (True, False):
        assert cure in site.run(check=check)["msg"]
    assert list((site.directory / "dumps").glob("*.sql.gz")) == [dump]
    load(site, dump)
    assert "NEW_TABLE" not in site.tables()
    unfinished.unlink()
    assert site.run()["version"] == "4.0.0"


def test_no_upgrade_without_a_dump(site: Site) -> None:
    site.execute(*OLD)
    for check in (True, False):
        refused = site.run(check=check, dump_command="no-such-dump")
        assert "no-such-dump is not on this host: apt-get install mariadb-client" in refused["msg"]
    refused = site.run(dump_command="false")
    assert "The dump before the upgrade failed" in refused["msg"]
    refused = site.run(dump_command="true")
    assert "is not whole" in refused["msg"]
    assert site.calls() == []
    assert list((site.directory / "dumps").iterdir()) == []


def test_the_password_is_on_no_command_line(site: Site) -> None:
    site.execute(*OLD)
    spy = site.directory / "dump"
    spy.write_text(f'#!/bin/sh\ntr "\\0" " " < /proc/$$/cmdline > {site.directory}/argv\nexec mariadb-dump "$@"\n')
    spy.chmod(0o755)
    assert site.run(dump_command=str(spy))["action"] == "upgrade"
    assert "ss#" not in (site.directory / "argv").read_text()


def test_a_wrong_password_is_a_sentence_without_it(site: Site) -> None:
    result = site.run(login_password="guess-me")
    assert "Access denied" in result["msg"]
    assert "guess-me" not in json.dumps(result["msg"])


def test_what_is_missing_is_told(site: Site) -> None:
    assert "cannot be read" in site.run(scripts_dir="/nowhere")["msg"]
    assert "/nowhere/schematool is not there" in site.run(schematool="/nowhere/schematool")["msg"]
    assert "Unknown database" in site.run(database="none", login_user="root", login_password="")["msg"]


def test_a_tool_configured_for_another_database_is_noticed(site: Site) -> None:
    assert "its configuration names another database" in site.run(schematool="/bin/true")["msg"]


# --- the real schematool ----------------------------------------------------------------------------------------------


@pytest.fixture
def hive_site(
    mariadb: MariaDB, hadoop_home: Path, hive_home: Path, mysql_connector_home: Path, tmp_path: Path
) -> Iterator[Site]:
    name = "hiveschema"
    make_database(mariadb, name)
    conf, driver = tmp_path / "conf", tmp_path / "driver"
    driver.mkdir()
    write_site(
        conf / "hive-site.xml",
        {
            "javax.jdo.option.ConnectionURL": f"jdbc:mysql+strict://127.0.0.1:{mariadb.port}/{name}?sslMode=DISABLED",
            "javax.jdo.option.ConnectionDriverName": "hopshive.StrictDriver",
            "javax.jdo.option.ConnectionUserName": name,
            "javax.jdo.option.ConnectionPassword": 'p"a\\ss#word',
        },
    )
    os.environ["HIVE_HOME"] = str(hive_home)
    classpath = [
        "$HIVE_CONF_DIR",
        f"{hive_home}/lib/*",
        compile_driver(mysql_connector_home, driver),
        *hadoop_classpath(hadoop_home, logging=False),
    ]
    main = "org.apache.hadoop.hive.metastore.tools.schematool.MetastoreSchemaTool"
    tool = write_script(tmp_path / "schematool", ["java", *QUICK, *OPENS, "-cp", ":".join(classpath), main])
    yield Site(mariadb, name, tmp_path, tool, hive_home / "scripts/metastore/upgrade/mysql")
    del os.environ["HIVE_HOME"]
    mariadb.execute(f"DROP DATABASE {name}", f"DROP USER {name}@'%'")


NAMES = own_names("hiveschema")
OLD_OBJECTS = (
    "INSERT INTO DBS (DB_ID, DB_LOCATION_URI, NAME) VALUES (1, 'hdfs://nn/w', 'd')",
    "INSERT INTO CDS VALUES (1)",
    "INSERT INTO SDS (SD_ID, CD_ID, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS, LOCATION)"
    " VALUES (1, 1, 0, 0, 0, 'hdfs://nn/w/t'), (2, 1, 0, 0, 0, 'hdfs://nn/w/t/p=1')",
    "INSERT INTO TBLS (TBL_ID, CREATE_TIME, DB_ID, LAST_ACCESS_TIME, RETENTION, SD_ID, TBL_NAME, IS_REWRITE_ENABLED)"
    " VALUES (1, 0, 1, 0, 0, 1, 't', 0)",
    "INSERT INTO PARTITIONS (PART_ID, CREATE_TIME, LAST_ACCESS_TIME, PART_NAME, SD_ID, TBL_ID) VALUES (1, 0, 0, 'p=1', 2, 1)",
    "INSERT INTO TABLE_PARAMS VALUES (1, 'k', 'v')",
)


def test_schematool_makes_and_upgrades_a_real_schema(hive_site: Site) -> None:
    script = hive_site.scripts / "hive-schema-3.1.0.mysql.sql"
    client = ["mariadb", "--no-defaults", "-S", hive_site.server.socket, "-u", "root", hive_site.database]
    made = hive_site.run()
    assert (made["action"], made["version"]) == ("init", "4.0.0"), made
    assert len(hive_site.tables()) > 80
    assert not hive_site.run()["changed"]

    hive_site.server.execute(
        f"DROP DATABASE {hive_site.database}",
        f"CREATE DATABASE {hive_site.database} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    )
    with script.open("rb") as stream:
        subprocess.run(client, stdin=stream, check=True, cwd=hive_site.scripts)
    hive_site.execute(*OLD_OBJECTS)
    metastore = Metastore(
        hive_site.server, Server(hive_site.database, unix_socket=hive_site.server.socket, user="root"), NAMES
    )
    with pytest.raises(schema.SchemaError, match=r"is 3\.1\.0, and ours fits 4\.0\.0"):
        schema.apply(metastore.server, NAMES)
    upgraded = hive_site.run()
    assert (upgraded["action"], upgraded["version_before"], upgraded["version"]) == ("upgrade", "3.1.0", "4.0.0"), (
        upgraded
    )
    assert not hive_site.run()["changed"]

    # An upgraded schema differs from a new one in names; ours fits both, and leaves both as they were.
    before = metastore.picture()
    schema.apply(metastore.server, NAMES)
    assert schema.apply(metastore.server, NAMES, dry_run=True) == []
    hive_site.execute(
        f"INSERT INTO {NAMES.inodes} VALUES (1, 1, 't', 2)",
        "UPDATE SDS SET PARTITION_ID = 1, PARENT_ID = 1, NAME = 't' WHERE SD_ID = 1",
    )
    schema.remove(metastore.server, NAMES)
    assert metastore.picture() == before
    schema.apply(metastore.server, NAMES)
    hive_site.execute(
        f"INSERT INTO {NAMES.inodes} VALUES (1, 1, 't', 2)",
        "UPDATE SDS SET PARTITION_ID = 1, PARENT_ID = 1, NAME = 't' WHERE SD_ID = 1",
        f"DELETE FROM {NAMES.inodes}",
    )
    assert hive_site.execute("SELECT (SELECT COUNT(*) FROM TBLS), (SELECT COUNT(*) FROM PARTITIONS)") == [(0, 0)]
    schema.remove(metastore.server, NAMES, purge=True)
