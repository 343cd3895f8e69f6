"""A small warehouse for tests of the mirror: a real NameNode, a real database, and rows as the metastore writes them."""

from __future__ import annotations

import itertools
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hopshive.config import Config, DatabaseConfig, HdfsConfig, MirrorConfig
from hopshive.consistency.check import differences
from hopshive.consistency.mirror import Mirror, pace
from hopshive.daemon.metrics import Metrics
from hopshive.hdfs.namenode import NameNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hopshive.consistency.check import Difference
    from hopshive.database import Database
    from tests.support.metastore_db import Metastore
    from tests.support.servers import Hdfs

TRASH = "/user/hdfs/.Trash/Current"
OWNED = ("journal", "removal", "recheck", "candidate", "position", "request", "owned")
# Tests step without a pause; the rest between turns is the matter of one of them.
pace.OWED = 3600.0


class Files:
    """What a user does on HDFS, through WebHDFS."""

    def __init__(self, hdfs: Hdfs) -> None:
        self._hdfs = hdfs

    def ask(self, method: str, operation: str, path: str, **parameters: str) -> Any:
        """One request; the JSON that comes back."""
        query = urllib.parse.urlencode({"op": operation, "user.name": self._hdfs.user, **parameters})
        url = f"{self._hdfs.url}/webhdfs/v1{urllib.parse.quote(path)}?{query}"
        with urllib.request.urlopen(urllib.request.Request(url, method=method)) as answer:  # noqa: S310
            return json.loads(answer.read() or b"{}")

    def ready(self, seconds: float = 30) -> None:
        """Wait until directories can be made."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self.mkdir("/tmp")  # noqa: S108
                return
            except (urllib.error.HTTPError, OSError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def mkdir(self, path: str) -> None:
        assert self.ask("PUT", "MKDIRS", path)["boolean"]

    def delete(self, path: str) -> None:
        assert self.ask("DELETE", "DELETE", path, recursive="true")["boolean"], path

    def move(self, path: str, target: str) -> None:
        self.mkdir(target.rpartition("/")[0])
        assert self.ask("PUT", "RENAME", path, destination=target)["boolean"], (path, target)

    def trash(self, path: str) -> str:
        self.move(path, TRASH + path)
        return TRASH + path


class MirrorWorld:
    """One warehouse below a directory of its own; `settle` lets the mirror come to rest."""

    def __init__(self, metastore: Metastore, hdfs: Hdfs, root: str, mirror: MirrorConfig | None = None) -> None:
        self.metastore = metastore
        self.root = root
        self.uri = f"hdfs://127.0.0.1:{hdfs.rpc_port}"
        self.files = Files(hdfs)
        self.config = Config(
            database=DatabaseConfig(
                unix_socket=metastore.mariadb.socket, user="root", metastore=metastore.server.database
            ),
            hdfs=HdfsConfig([self.uri], [f"127.0.0.1:{hdfs.rpc_port}"], hdfs.user),
            mirror=mirror or MirrorConfig(grace=0, unbound_grace=0, rename_grace=0, poll=0),
        )
        self.namenode = NameNode(self.config.namenodes, hdfs.user)
        self.database: Database = metastore.database()
        self.ids = itertools.count(1)
        self.files.ready()
        self.mirror = self.start()

    def close(self) -> None:
        self.namenode.close()
        self.database.close()

    def start(self, **settings: Any) -> Mirror:
        """Another mirror, as after a restart; `settings` are those of MirrorConfig."""
        self.config = replace(self.config, mirror=replace(self.config.mirror, **settings))
        self.mirror = Mirror(self.config, self.database, self.namenode, Metrics())
        self.mirror.start()
        return self.mirror

    def settle(self, seconds: float = 20) -> None:
        """Steps until all events up to now are looked at and two steps in a row found nothing to do."""
        target = self.namenode.current_txid()
        deadline = time.monotonic() + seconds
        idle = 0
        while idle < 2 or self.mirror.txid < target:
            idle = 0 if self.mirror.step() else idle + 1
            assert time.monotonic() < deadline, "the mirror does not come to rest"

    def until(self, what: Callable[[], object], seconds: float = 20) -> None:
        """Steps until something is so."""
        deadline = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < deadline, self.pending_checks()
            self.mirror.step()

    def look_again(self) -> None:
        """As after a while: all pending checks are due."""
        self.metastore.execute("UPDATE {state}.recheck SET due = UTC_TIMESTAMP(3)")
        self.mirror.deciding.looks_at_held.hasten()

    def wait_out(self) -> None:
        """All that waits is due now, and is decided."""
        self.look_again()
        self.settle()

    # --- as the metastore writes ----------------------------------------------------------------------------------

    def relocate(self, table: int, path: str) -> None:
        """As ALTER TABLE SET LOCATION."""
        self.metastore.execute(f"UPDATE SDS SET LOCATION = '{self.uri}{path}' WHERE SD_ID = {table}")

    def make_database(self, name: str, *, managed: bool = False) -> int:
        """Directory and row; with `managed`, a second directory."""
        number = next(self.ids)
        places = [f"{self.root}/external/{name}.db"] + ([f"{self.root}/managed/{name}.db"] if managed else [])
        for path in places:
            self.files.mkdir(path)
        second = f"'{self.uri}{places[1]}'" if managed else "NULL"
        self.metastore.execute(
            "INSERT IGNORE INTO CTLGS (CTLG_ID, NAME, LOCATION_URI) VALUES (1, 'hive', 'x')",
            "INSERT INTO DBS (DB_ID, NAME, DB_LOCATION_URI, DB_MANAGED_LOCATION_URI, CTLG_NAME)"
            f" VALUES ({number}, '{name}', '{self.uri}{places[0]}', {second}, 'hive')",
        )
        return number

    def make_table(self, db_id: int, name: str, path: str, *, directory: bool = True, view: bool = False) -> int:
        """Directory and rows of an unpartitioned table; its id."""
        if directory and not view:
            self.files.mkdir(path)
        number = next(self.ids)
        location = "NULL" if view else f"'{self.uri}{path}'"
        self.metastore.execute(
            f"INSERT INTO CDS (CD_ID) VALUES ({number})",
            f"INSERT INTO SERDES (SERDE_ID) VALUES ({number})",
            "INSERT INTO SDS (SD_ID, CD_ID, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS, LOCATION, SERDE_ID)"
            f" VALUES ({number}, {number}, b'0', b'0', 1, {location}, {number})",
            "INSERT INTO TBLS (TBL_ID, CREATE_TIME, DB_ID, LAST_ACCESS_TIME, RETENTION, SD_ID, TBL_NAME, TBL_TYPE)"
            f" VALUES ({number}, 0, {db_id}, 0, 0, {number}, '{name}', '{'VIRTUAL_VIEW' if view else 'MANAGED_TABLE'}')",
            f"INSERT INTO TABLE_PARAMS (TBL_ID, PARAM_KEY, PARAM_VALUE) VALUES ({number}, 'k', 'v')",
        )
        return number

    def make_partitions(self, table: int, paths: Sequence[str], *, directories: bool = True) -> list[int]:
        """Directories and rows of partitions named by the last component."""
        numbers = []
        for path in paths:
            if directories:
                self.files.mkdir(path)
            number = next(self.ids)
            numbers.append(number)
            self.metastore.execute(
                "INSERT INTO SDS (SD_ID, CD_ID, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS, LOCATION)"
                f" VALUES ({number}, {table}, b'0', b'0', 1, '{self.uri}{path}')",
                "INSERT INTO PARTITIONS (PART_ID, CREATE_TIME, LAST_ACCESS_TIME, PART_NAME, SD_ID, TBL_ID)"
                f" VALUES ({number}, 0, 0, '{path.rpartition('/')[2]}', {number}, {table})",
            )
        return numbers

    # --- what is there --------------------------------------------------------------------------------------------

    def objects(self) -> set[str]:
        """`db`, `db.table`, `db.table/partition` of all that the metastore has, but the default database."""
        databases = self.metastore.execute("SELECT NAME FROM DBS WHERE NAME <> 'default'")
        tables = self.metastore.execute("SELECT d.NAME, t.TBL_NAME FROM TBLS t JOIN DBS d USING (DB_ID)")
        partitions = self.metastore.execute(
            "SELECT d.NAME, t.TBL_NAME, p.PART_NAME FROM PARTITIONS p JOIN TBLS t USING (TBL_ID) JOIN DBS d USING (DB_ID)"
        )
        return (
            {name for (name,) in databases}
            | {f"{database}.{table}" for database, table in tables}
            | {f"{database}.{table}/{part}" for database, table, part in partitions}
        )

    def pending_checks(self) -> list[tuple[str, str]]:
        """Kind and state of the checks that are not decided yet."""
        return [
            (str(a), str(b)) for a, b in self.metastore.execute("SELECT kind, state FROM {state}.recheck ORDER BY id")
        ]

    def bound(self, sd_id: int) -> bool:
        """Whether a storage descriptor has its foreign key."""
        return bool(self.metastore.execute(f"SELECT PARTITION_ID IS NOT NULL FROM SDS WHERE SD_ID = {sd_id}")[0][0])

    def differences(self) -> list[Difference]:
        """What `hopshive check` would tell, but garbage."""
        found = differences(self.config, self.database, self.namenode, settle=0)
        return [one for one in found if one.kind != "garbage"]


@contextmanager
def empty_world(
    metastore: Metastore, hdfs: Hdfs, root: str, mirror: MirrorConfig | None = None
) -> Iterator[MirrorWorld]:
    """A new warehouse in a database that others may have used before."""
    metastore.execute(
        "DELETE FROM {inodes}",
        "DELETE FROM SDS",
        *(
            f"DELETE FROM {table}"
            for table in ("PARTITIONS", "TABLE_PARAMS", "TBLS", "DBS", "SERDE_PARAMS", "SERDES", "CDS")
        ),
        *(f"DELETE FROM {{state}}.{table}" for table in OWNED),
        "DELETE FROM {state}.setting WHERE name NOT IN ('state_version', 'source', 'metastore')",
    )
    made = MirrorWorld(metastore, hdfs, root, mirror)
    yield made
    made.close()
