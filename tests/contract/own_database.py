"""A database that belongs to one test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hopshive.hdfs.paths import FileSystem

if TYPE_CHECKING:
    from tests.contract.footprint import Footprint
    from tests.warehouse import Warehouse
from tests.contract.footprint import footprint, leftovers

WAREHOUSE = "/warehouse/hopshive"
# A directory that is no database's (the fixture `an_empty_elsewhere`).
ELSEWHERE = "/elsewhere"
_JOURNALED = "(name = %s OR name LIKE %s)"


@dataclass(frozen=True)
class OwnDatabase:
    """Its name and the warehouse that it is in. In statements `{db}` is the name."""

    warehouse: Warehouse
    name: str

    # --- its life -------------------------------------------------------------------------------------------------

    def create(self) -> None:
        """Make it again; the journal forgets an earlier database of that name."""
        self.drop()
        self.warehouse.metastore_sql(f"DELETE FROM hopshive.journal WHERE {_JOURNALED}", self._journaled)
        self.hive("CREATE DATABASE {db}")

    def drop(self) -> None:
        """Drop it, and delete what lies in its directories."""
        self.warehouse.drop_database(self.name)
        for path in (self.managed, self.external):
            if self.warehouse.hdfs.exists(path):
                self.warehouse.hdfs.delete(path)

    @property
    def _journaled(self) -> tuple[str, str]:
        return f"hive.{self.name}", f"hive.{self.name}.%".replace("_", r"\_")

    # --- statements -----------------------------------------------------------------------------------------------

    def hive(self, *statements: str) -> list[tuple[Any, ...]]:
        """Statements of HiveServer2; the rows of the last. Raises HiveError."""
        rows: list[tuple[Any, ...]] = []
        for statement in statements:
            rows = self.warehouse.hive(statement.replace("{db}", self.name))
        return rows

    def spark(self, *statements: str) -> list[tuple[Any, ...]]:
        """Statements of Spark; the rows of the last. Raises SparkError."""
        rows: list[tuple[Any, ...]] = []
        for statement in statements:
            rows = self.warehouse.spark(statement.replace("{db}", self.name))
        return rows

    def rows(self, table: str, columns: str = "*", where: str = "TRUE") -> list[tuple[Any, ...]]:
        """The rows of a table as Hive reads them, in order."""
        return sorted(self.hive(f"SELECT {columns} FROM {{db}}.{table} WHERE {where}"))

    def spark_rows(self, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
        """The same as Spark reads them."""
        self.spark(f"REFRESH TABLE {{db}}.{table}")
        return sorted(self.spark(f"SELECT {columns} FROM {{db}}.{table}"))

    def partitions(self, table: str) -> list[str]:
        """As SHOW PARTITIONS names them."""
        return sorted(row[0] for row in self.hive(f"SHOW PARTITIONS {{db}}.{table}"))

    def tables(self) -> list[str]:
        """As SHOW TABLES names them."""
        return sorted(row[0] for row in self.hive("SHOW TABLES IN {db}"))

    def exists(self) -> bool:
        """Whether the metastore has it."""
        return bool(self.warehouse.hive(f"SHOW DATABASES LIKE '{self.name}'"))

    # --- places ---------------------------------------------------------------------------------------------------

    @property
    def managed(self) -> str:
        """Its directory for managed tables."""
        return f"{WAREHOUSE}/managed/{self.name}.db"

    @property
    def external(self) -> str:
        """Its directory for external tables."""
        return f"{WAREHOUSE}/external/{self.name}.db"

    def path(self, table: str, partition: str = "") -> str:
        """Where the metastore says that a table or a partition lies, a path. Raises LookupError."""
        location = self.location(table, partition)
        host = self.warehouse.lab.one("namenode").name
        path = FileSystem((f"hdfs://{host}:8020",)).path_of(location)
        if path is None:
            raise LookupError(f"{location} is not on HDFS")
        return path

    def location(self, table: str, partition: str = "") -> str:
        """The same as it stands there. Raises LookupError."""
        return str(self._descriptor("s.LOCATION", table, partition))

    def bound_to(self, table: str, partition: str = "") -> int | None:
        """The file id of the directory that a table or a partition is bound to, None if it is bound to none."""
        inode = self._descriptor(
            "(SELECT i.id FROM hops.hdfs_inodes i WHERE i.partition_id = s.PARTITION_ID AND i.parent_id = s.PARENT_ID"
            " AND i.name = s.NAME)",
            table,
            partition,
        )
        return None if inode is None else int(str(inode))

    def is_bound(self, table: str, partition: str = "") -> bool:
        """Whether it is bound to the directory that is there now."""
        inode = self.warehouse.hdfs.inode(self.path(table, partition))
        return inode is not None and inode == self.bound_to(table, partition)

    def _descriptor(self, column: str, table: str, partition: str) -> object:
        owner = "p.SD_ID" if partition else "t.SD_ID"
        rows = self.warehouse.metastore_sql(
            f"SELECT {column} FROM DBS d JOIN TBLS t ON t.DB_ID = d.DB_ID"
            f" LEFT JOIN PARTITIONS p ON p.TBL_ID = t.TBL_ID AND p.PART_NAME = %s JOIN SDS s ON s.SD_ID = {owner}"
            " WHERE d.NAME = %s AND t.TBL_NAME = %s",
            (partition, self.name, table),
        )
        if not rows:
            raise LookupError(f"the metastore has no {self.name}.{table} {partition}".rstrip())
        return rows[0][0]

    def table_id(self, table: str) -> int:
        """TBL_ID. Raises LookupError."""
        rows = self.warehouse.metastore_sql(
            "SELECT t.TBL_ID FROM TBLS t JOIN DBS d ON d.DB_ID = t.DB_ID WHERE d.NAME = %s AND t.TBL_NAME = %s",
            (self.name, table),
        )
        if not rows:
            raise LookupError(f"the metastore has no {self.name}.{table}")
        return int(rows[0][0])

    def partition_ids(self, table: str) -> dict[str, int]:
        """PART_ID by partition."""
        rows = self.warehouse.metastore_sql(
            "SELECT PART_NAME, PART_ID FROM PARTITIONS WHERE TBL_ID = %s", (self.table_id(table),)
        )
        return {str(name): int(number) for name, number in rows}

    # --- traces ---------------------------------------------------------------------------------------------------

    def footprint(self, table: str = "", partition: str = "") -> Footprint:
        """What belongs to it, to a table or to a partition. Raises LookupError."""
        return footprint(self.warehouse, self.name, table, partition)

    def leftovers(self, of: Footprint) -> dict[str, int]:
        """What is left of that."""
        return leftovers(self.warehouse, of)

    def told(self) -> list[tuple[str, str]]:
        """What `hopshive check` finds of it, kind and path. Garbage, which the sweep collects in time, is of no database."""
        return sorted((one.kind, one.content["path"]) for one in self.warehouse.check() if self.name in one.text)

    def removed(self) -> list[str]:
        """What of it hopshive has ever removed, by name, sorted."""
        rows = self.warehouse.metastore_sql(f"SELECT name FROM hopshive.journal WHERE {_JOURNALED}", self._journaled)
        return sorted(bytes(row[0]).decode() for row in rows)
