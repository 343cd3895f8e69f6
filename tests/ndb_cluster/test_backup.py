"""A backup of a real NDB Cluster, and the metastore's databases back from it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymysql
import pytest
import yaml

from hopshive.consistency import schema
from hopshive.database import Server
from hopshive.operations.ndb import backup
from tests.support.metastore_db import Metastore, own_names, stock_metastore
from tests.support.metastore_rows import Writer
from tests.support.modules import run_module
from tests.support.ndb import BINLOG, Ndb, run_ndb, unpack_ndb
from tests.support.servers import ROOT, write_script

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "metastore"
NAMES = own_names(NAME)
DATABASES = [NAME, NAMES.state, NAMES.inodes.partition(".")[0]]
NODES = [11, 12]
PASSWORD = "kXw2-unguessed-91"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ndb]:
    home = unpack_ndb(tmp_path_factory.mktemp("product"))
    with run_ndb(tmp_path_factory.mktemp("ndb"), home, sql_nodes=2, settings=BINLOG) as running:
        yield running


@pytest.fixture(scope="module")
def launchers(cluster: Ndb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As the role ndb writes them."""
    directory = tmp_path_factory.mktemp("launchers")
    for name in ("ndb_mgm", "ndb_restore", "ndb_waiter"):
        library = f"LD_LIBRARY_PATH={cluster.home / 'lib/private'}"
        write_script(directory / name, ["env", library, str(cluster.home / "bin" / name)])
    return directory


@pytest.fixture(scope="module")
def metastore(cluster: Ndb, hive_home: Path) -> Metastore:
    """With the consistency schema on both SQL nodes, a database and a table with two partitions."""
    made = Metastore(cluster.sql[0], stock_metastore(cluster.sql[0], hive_home, NAME), NAMES)
    apply(cluster)
    database = made.database()
    with database.transaction() as tx:
        writer = Writer(tx)
        table = writer.table(writer.database("d"), "t")
        writer.partitions(table, ["p=1", "p=2"])
        tx.execute("INSERT INTO {state}.position (id, txid, compared_at) VALUES (1, 77, UTC_TIMESTAMP(3))")
    database.close()
    return made


def apply(cluster: Ndb) -> None:
    for node in cluster.sql:
        schema.apply(on(cluster, node.socket).server, NAMES)


def on(cluster: Ndb, socket: str) -> Metastore:
    return Metastore(cluster.sql[0], Server(NAME, unix_socket=socket, user="root"), NAMES)


def everything(cluster: Ndb, node: int = 0) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of the three databases, through one SQL node."""
    server = cluster.sql[node]
    places = server.execute(
        f"SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA IN ({str(DATABASES)[1:-1]})"
    )
    return {
        f"{place}.{table}": sorted(server.execute(f"SELECT * FROM `{place}`.`{table}`"), key=repr)
        for place, table in places
    }


def part(cluster: Ndb, node: int, state: str, number: int, **more: Any) -> dict[str, Any]:
    arguments = {"state": state, "backup": number, "directory": str(cluster.directory / str(node)), "node": node}
    return run_module("hopshive_ndb_backup", {**arguments, "nodes": NODES, **more})


def take(cluster: Ndb, launchers: Path, **more: Any) -> dict[str, Any]:
    arguments = {"state": "taken", "connect": cluster.connect, "launchers": str(launchers), **more}
    return run_module("hopshive_ndb_backup", arguments)


def step(name: str, cluster: Ndb, node: int = 0, **more: Any) -> dict[str, Any]:
    """One of an SQL node."""
    login = {"login_unix_socket": cluster.sql[node].socket, "login_user": "root"}
    return run_module(
        "hopshive_ndb_restore",
        {"step": name, "databases": DATABASES, "state_schema": NAMES.state, **login, **more},
    )


def restore(name: str, cluster: Ndb, launchers: Path, node: int, number: int) -> dict[str, Any]:
    """One of a data node."""
    place = {"backup": number, "directory": str(cluster.directory / str(node)), "node": node, "nodes": NODES}
    tools = {"connect": cluster.connect, "launchers": str(launchers)}
    return run_module("hopshive_ndb_restore", {"step": name, "databases": DATABASES, **place, **tools})


def well(*results: dict[str, Any]) -> None:
    for result in results:
        assert not result.get("failed"), result["msg"]


def test_what_was_backed_up_comes_back_whole_and_at_work(cluster: Ndb, launchers: Path, metastore: Metastore) -> None:
    before = everything(cluster)
    assert len(before[f"{NAME}.PARTITIONS"]) == 2
    assert len(before[f"{NAMES.inodes}"]) > 3
    taken = take(cluster, launchers)
    well(taken)
    number = taken["backup"]
    assert taken["records"] > 20
    for node in NODES:
        sealed = part(cluster, node, "sealed", number)
        well(sealed)
        assert sealed["bytes"] == sum((Path(sealed["path"]) / name).stat().st_size for name in sealed["files"][:-1])

    # What came and went since.
    metastore.execute("DELETE FROM {inodes} WHERE name = 't'", "CREATE TABLE later (id INT PRIMARY KEY)")
    assert metastore.execute("SELECT COUNT(*) FROM PARTITIONS") == [(0,)]
    assert step("tables", cluster)["tables"][NAME] == 84
    well(*(step("idle", cluster, node, users=["hive", "hopshive"]) for node in range(2)))
    well(*(part(cluster, node, "whole", number) for node in NODES))
    well(step("empty", cluster), restore("metadata", cluster, launchers, 11, number))
    well(*(restore("data", cluster, launchers, node, number) for node in NODES))
    well(restore("indexes", cluster, launchers, 11, number))
    found = [step("discover", cluster, node, timeout=120) for node in range(2)]
    well(*found)
    assert [one["tables"][NAME] for one in found] == [83, 83]
    for node in range(2):
        assert everything(cluster, node) == before

    well(step("begin_anew", cluster))
    assert metastore.execute("SELECT txid, compared_at FROM {state}.position") == [(77, None)]
    # Triggers are in no backup, and everything else is.
    for sql_node in cluster.sql:
        server = on(cluster, sql_node.socket).server
        lacking = schema.apply(server, NAMES, dry_run=True)
        assert [" ".join(statement.split()[:2]) for statement in lacking] == ["DROP TRIGGER", "CREATE TRIGGER"] * 2
    apply(cluster)
    with pytest.raises(pymysql.err.IntegrityError):
        metastore.execute("UPDATE PARTITIONS SET TBL_ID = 999999")
    metastore.execute("DELETE FROM {inodes} WHERE name = 'p=1'")
    assert metastore.execute("SELECT COUNT(*) FROM PARTITIONS") == [(1,)]
    metastore.execute("DELETE FROM {inodes} WHERE name = 't'")
    assert metastore.execute("SELECT (SELECT COUNT(*) FROM PARTITIONS), (SELECT COUNT(*) FROM TBLS)") == [(0, 0)]


class Site:
    """The cluster as an inventory, for the playbooks: each node a host of its own, all on this machine."""

    def __init__(self, directory: Path, cluster: Ndb, launchers: Path) -> None:
        self.directory = directory
        hosts = {f"data{node}": {"ndb_data_id": node, **self._dir(cluster, node)} for node in NODES}
        sql = {f"sql{number}": {"test_socket": node.socket} for number, node in enumerate(cluster.sql)}
        variables = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "metastore_database": "ndb",
            "cluster_python": sys.executable,
            "cluster_launcher_dir": str(launchers),
            "cluster_ndb_home": str(cluster.home),
            "cluster_ndb_connect": cluster.connect,
            "cluster_ndb_management_port": int(cluster.connect.rpartition(":")[2]),
            "cluster_database_endpoints": [f"127.0.0.1:{node.port}" for node in cluster.sql],
            "cluster_state_schema": NAMES.state,
            "cluster_inode_table": NAMES.inodes,
            "cluster_filesystem": "hdfs://nn:8020",
            "cluster_metastore_database_password": PASSWORD,
            "cluster_cleaner_db_password": PASSWORD,
            "ndb_data_backup_keep": 1,
        }
        groups = {
            "ndb_management": {"management": {}},
            "ndb_data": hosts,
            "ndb_sql": sql,
            "metastore": {"metastore1": {}},
        }
        children = {name: {"hosts": members} for name, members in groups.items()}
        inventory = {"all": {"vars": variables, "children": {"hopshive": {"children": children}}}}
        (directory / "hosts.yml").write_text(yaml.safe_dump(inventory))
        # The role's own says where it is on a host.
        (directory / "more.yml").write_text('__ndb_sql_socket: "{{ test_socket }}"\n')

    @staticmethod
    def _dir(cluster: Ndb, node: int) -> dict[str, str]:
        return {"cluster_ndb_backup_dir": str(cluster.directory / str(node))}

    def play(self, name: str, *more: str) -> subprocess.CompletedProcess[str]:
        """A playbook, and what it printed."""
        argv = [sys.executable, "-m", "ansible.cli.playbook", "-i", str(self.directory / "hosts.yml")]
        argv += ["-e", f"@{self.directory / 'more.yml'}", *(f"-e{one}" for one in more), f"playbooks/{name}.yml"]
        return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_playbooks_do_it(cluster: Ndb, launchers: Path, metastore: Metastore, tmp_path: Path) -> None:
    cluster.sql[0].execute(
        f"CREATE USER hive@'%' IDENTIFIED BY '{PASSWORD}'",
        "GRANT ALL ON *.* TO hive@'%'",
        "GRANT NDB_STORED_USER ON *.* TO hive@'%'",
    )
    site = Site(tmp_path, cluster, launchers)
    metastore.execute("DELETE FROM {inodes}")
    database = metastore.database()
    with database.transaction() as tx:
        writer = Writer(tx, last=1000)
        writer.partitions(writer.table(writer.database("e"), "t"), ["p=1", "p=2"])
    database.close()
    before = everything(cluster)
    first = site.play("ndb_backup", f"ndb_backup_fetch={tmp_path / 'fetched'}")
    assert first.returncode == 0, first.stdout
    (number,) = {int(found) for found in re.findall(r"Backup (\d+): node", first.stdout)}
    for node in NODES:
        here = backup.place(cluster.directory / str(node), number)
        for file in here.iterdir():
            assert (tmp_path / f"fetched/{number}/data{node}" / file.name).read_bytes() == file.read_bytes()

    metastore.execute("DELETE FROM {inodes} WHERE name = 't'")
    after = everything(cluster)
    assert after != before
    refusals = {
        "Nothing was changed. Name the backup": (),
        "Tables exist: ": (f"ndb_restore_backup={number}",),
        "There is no part of the backup 7 in ": ("ndb_restore_backup=7", "ndb_restore_replace=true"),
    }
    for sentence, given in refusals.items():
        refused = site.play("ndb_restore", *given)
        assert refused.returncode != 0
        assert sentence in refused.stdout
    wanted = (f"ndb_restore_backup={number}", "ndb_restore_replace=true")
    with pymysql.connect(host="127.0.0.1", port=cluster.sql[1].port, user="hive", password=PASSWORD):
        refused = site.play("ndb_restore", *wanted)
    assert "The database is in use: hive from 127.0.0.1 (1)" in refused.stdout
    assert everything(cluster) == after

    done = site.play("ndb_restore", *wanted)
    assert done.returncode == 0, done.stdout
    # What stood there is in a backup of its own, and the one that was restored is still there.
    (spare,) = {int(found) for found in re.findall(r"are in the backup (\d+)\.", done.stdout)}
    for node in NODES:
        assert backup.sealed(cluster.directory / str(node))[-2:] == [number, spare]
    found = everything(cluster, 1)
    position = f"{NAMES.state}.position"
    assert {name: rows for name, rows in found.items() if name != position} == {
        name: rows for name, rows in before.items() if name != position
    }
    for sql_node in cluster.sql:
        assert schema.apply(on(cluster, sql_node.socket).server, NAMES, dry_run=True) == []
    metastore.execute("DELETE FROM {inodes} WHERE name = 't'")
    assert metastore.execute("SELECT (SELECT COUNT(*) FROM PARTITIONS), (SELECT COUNT(*) FROM TBLS)") == [(0, 0)]


@pytest.mark.usefixtures("metastore")
def test_tables_that_are_there_are_never_written_over(cluster: Ndb, launchers: Path) -> None:
    taken = take(cluster, launchers)
    before = everything(cluster)
    refused = restore("metadata", cluster, launchers, 11, taken["backup"])
    assert "ndb_restore failed" in refused["msg"]
    assert everything(cluster) == before


def test_who_works_in_the_databases_is_named(cluster: Ndb) -> None:
    server = cluster.sql[1]
    server.execute("CREATE USER ann@localhost IDENTIFIED BY 'x'")
    with pymysql.connect(unix_socket=server.socket, user="ann", password="x", ssl_disabled=False):
        refused = step("idle", cluster, 1, users=["ann", "bob"])
    assert "The database is in use: ann from localhost (1)" in refused["msg"]
    assert "nothing was changed" in refused["msg"]
    well(step("idle", cluster, 0, users=["ann", "bob"]))


def test_a_number_is_used_once(cluster: Ndb, launchers: Path) -> None:
    taken = take(cluster, launchers)
    well(taken)
    assert "already exists" in take(cluster, launchers, backup=taken["backup"])["msg"]


def test_a_management_node_that_is_not_there_is_named(launchers: Path) -> None:
    arguments = {"state": "taken", "connect": "127.0.0.1:9", "launchers": str(launchers)}
    assert "ndb_mgm failed" in run_module("hopshive_ndb_backup", arguments)["msg"]
