"""Rows as a metastore writes them, without a metastore: databases, tables, partitions, and all that may hang on them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hopshive.database import marks, quoted
from hopshive.metastore.closure import BINDING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopshive.database import Transaction
    from tests.support.metastore_db import Metastore

URI = "hdfs://nn:8020"
WAREHOUSE = "/warehouse"
ORC = "org.apache.hadoop.hive.ql.io.orc."
# Tables that have rows in a database before its first use.
_INITIAL = ("CTLGS", "VERSION", "SEQUENCE_TABLE", "NOTIFICATION_SEQUENCE", "TXN_LOCK_TBL", "NEXT_LOCK_ID")
_INITIAL_TOO = ("NEXT_COMPACTION_QUEUE_ID",)


def numbers(first: int, last: int) -> str:
    """A table with one column, `seq`, for FROM: MariaDB and MySQL have it alike."""
    return f"JSON_TABLE('{json.dumps(list(range(first, last + 1)))}', '$[*]' COLUMNS (seq BIGINT PATH '$')) AS numbers"


@dataclass(frozen=True, slots=True)
class Made:
    """An object: `id` of DBS, TBLS or PARTITIONS, its descriptor, its path, its database's and its table's name."""

    id: int
    sd_id: int
    path: str
    database: str
    table: str = ""
    cd_id: int = 0


@dataclass(slots=True)
class Writer:
    """Writes rows in one transaction; ids count up through all tables."""

    tx: Transaction
    last: int = 100
    inodes: dict[str, int] = field(default_factory=dict)

    def id(self) -> int:
        """The next."""
        self.last += 1
        return self.last

    def fitting(self, table: str, column: str, length: int) -> int:
        """A length in characters, or what the column has room for: on NDB there are bounds."""
        sql = "SELECT CHARACTER_MAXIMUM_LENGTH FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()"
        return min(length, int(self.tx.value(f"{sql} AND TABLE_NAME = %s AND COLUMN_NAME = %s", (table, column))))

    def insert(self, table: str, rows: Sequence[Mapping[str, object]] | None = None, /, **row: object) -> None:
        """One row, or many with the same columns."""
        rows = [row] if rows is None else rows
        if rows:
            columns = tuple(rows[0])
            sql = f"INSERT INTO {table} ({quoted(columns)}) VALUES ({marks(columns)})"
            self.tx.many(sql, [tuple(one.values()) for one in rows])

    def inode(self, path: str) -> tuple[int, bytes]:
        """Parent and name of a directory's inode; made with its ancestors."""
        parent = 1
        for at, name in enumerate(path.strip("/").split("/")):
            above = "/".join(path.split("/")[: at + 2])
            if above not in self.inodes:
                self.inodes[above] = 10_000 + len(self.inodes)
                self.tx.execute(
                    "INSERT INTO {inodes} (partition_id, parent_id, name, id) VALUES (%s, %s, %s, %s)",
                    (parent, parent, name.encode(), self.inodes[above]),
                )
            if above == path:
                return parent, name.encode()
            parent = self.inodes[above]
        raise AssertionError(path)

    def columns(self, *names: str) -> int:
        """A column descriptor."""
        cd_id = self.id()
        self.insert("CDS", CD_ID=cd_id)
        self.insert(
            "COLUMNS_V2",
            [
                {
                    "CD_ID": cd_id,
                    "COMMENT": "größe" if at else None,
                    "COLUMN_NAME": n,
                    "TYPE_NAME": "int",
                    "INTEGER_IDX": at,
                }
                for at, n in enumerate(names)
            ],
        )
        return cd_id

    def serde(self) -> int:
        """A SerDe with its parameters."""
        serde = self.id()
        self.insert("SERDES", SERDE_ID=serde, NAME=None, SLIB=f"{ORC}OrcSerde", SERDE_TYPE=0)
        self.insert("SERDE_PARAMS", SERDE_ID=serde, PARAM_KEY="serialization.format", PARAM_VALUE="\x01\t|ÿ\u20ac")
        return serde

    def descriptor(
        self, path: str | None, cd_id: int | None, serde: int | None, *, bound: bool = True, sd_id: int = 0
    ) -> int:
        """A storage descriptor with sort and bucket columns."""
        sd_id = sd_id or self.id()
        row: dict[str, object] = {
            "SD_ID": sd_id,
            "CD_ID": cd_id,
            "INPUT_FORMAT": f"{ORC}OrcInputFormat",
            "IS_COMPRESSED": b"\x00",
            "IS_STOREDASSUBDIRECTORIES": b"\x01",
            "LOCATION": None if path is None else URI + path,
            "NUM_BUCKETS": -1,
            "OUTPUT_FORMAT": f"{ORC}OrcOutputFormat",
            "SERDE_ID": serde,
        }
        if path is not None and bound:
            parent, name = self.inode(path)
            row |= {"PARTITION_ID": parent, "PARENT_ID": parent, "NAME": name}
        self.insert("SDS", [row])
        if cd_id:
            self.insert("SORT_COLS", SD_ID=sd_id, COLUMN_NAME="a", ORDER=1, INTEGER_IDX=0)
            self.insert("BUCKETING_COLS", SD_ID=sd_id, BUCKET_COL_NAME="b", INTEGER_IDX=0)
            self.insert("SD_PARAMS", SD_ID=sd_id, PARAM_KEY="k", PARAM_VALUE="")
        return sd_id

    def skew(self, sd_id: int, string_list: int = 0) -> int:
        """Make a descriptor skewed on a list of strings, a new one without `string_list`."""
        if not string_list:
            string_list = self.id()
            self.insert("SKEWED_STRING_LIST", STRING_LIST_ID=string_list)
            self.insert("SKEWED_STRING_LIST_VALUES", STRING_LIST_ID=string_list, STRING_LIST_VALUE="x", INTEGER_IDX=0)
        self.insert("SKEWED_COL_NAMES", SD_ID=sd_id, SKEWED_COL_NAME="a", INTEGER_IDX=0)
        self.insert("SKEWED_VALUES", SD_ID_OID=sd_id, STRING_LIST_ID_EID=string_list, INTEGER_IDX=0)
        self.insert(
            "SKEWED_COL_VALUE_LOC_MAP", SD_ID=sd_id, STRING_LIST_ID_KID=string_list, LOCATION=f"{URI}/warehouse/skewed"
        )
        return string_list

    def database(self, name: str, *, catalog: str = "hive", path: str = "", bound: bool = True) -> Made:
        """A database as the metastore makes it, and the descriptor that the mirror makes for it."""
        path = path or f"{WAREHOUSE}/{name}.db"
        db_id = self.id()
        sd_id = self.descriptor(path, None, None, bound=bound, sd_id=-db_id)
        self.insert(
            "DBS",
            DB_ID=db_id,
            DESC="Ünïcode 'and' \\ \"quotes\"",
            DB_LOCATION_URI=URI + path,
            NAME=name,
            OWNER_NAME="ann",
            OWNER_TYPE="USER",
            CTLG_NAME=catalog,
            CREATE_TIME=1_700_000_000,
            SD_ID=sd_id,
        )
        self.insert("DATABASE_PARAMS", DB_ID=db_id, PARAM_KEY="team", PARAM_VALUE="x")
        self.insert("DB_PRIVS", self.grant("DB_GRANT_ID", "DB_PRIV", DB_ID=db_id))
        return Made(db_id, sd_id, path, name)

    def grant(self, key: str, privilege: str, **row: object) -> list[dict[str, object]]:
        """A row of one of the tables of privileges."""
        rest = {"GRANTOR": "root", "GRANTOR_TYPE": "USER", "PRINCIPAL_NAME": "bob", "PRINCIPAL_TYPE": "USER"}
        times = {"CREATE_TIME": 1_700_000_000, "GRANT_OPTION": 1}
        return [{key: self.id(), **row, privilege: "SELECT", "AUTHORIZER": "SQL", **rest, **times}]

    def more_of_database(self, database: Made) -> None:
        """Functions, a schema registry, procedures and packages."""
        func, schema, version = self.id(), self.id(), self.id()
        self.insert("FUNCS", FUNC_ID=func, CREATE_TIME=1, DB_ID=database.id, FUNC_NAME="f", FUNC_TYPE=1)
        self.insert("FUNC_RU", FUNC_ID=func, RESOURCE_TYPE=1, RESOURCE_URI=f"{URI}/f.jar", INTEGER_IDX=0)
        row = {"SCHEMA_ID": schema, "SCHEMA_TYPE": 1, "NAME": "s", "DB_ID": database.id, "COMPATIBILITY": 1}
        self.insert("I_SCHEMA", [row | {"VALIDATION_LEVEL": 1, "CAN_EVOLVE": b"\x01"}])
        self.insert(
            "SCHEMA_VERSION",
            SCHEMA_VERSION_ID=version,
            SCHEMA_ID=schema,
            VERSION=1,
            CREATED_AT=1,
            CD_ID=self.columns("v"),
            STATE=1,
            SERDE_ID=self.serde(),
        )
        row = {"CREATE_TIME": 1, "DB_ID": database.id, "NAME": "p", "OWNER_NAME": "ann"}
        self.insert("STORED_PROCS", [{"SP_ID": self.id(), **row, "SOURCE": "begin\nend;"}])
        self.insert(
            "PACKAGES",
            [{"PKG_ID": self.id(), **row, "HEADER": "h", "BODY": "b" * self.fitting("PACKAGES", "BODY", 70_000)}],
        )

    def table(
        self,
        database: Made,
        name: str,
        *,
        kind: str = "MANAGED_TABLE",
        path: str = "",
        acid: bool = False,
        bound: bool = True,
        full: bool = True,
    ) -> Made:
        """A table; views lie nowhere. `full`: with statistics, privileges and constraints."""
        view = kind == "VIRTUAL_VIEW"
        where = None if view else path or f"{database.path}/{name}"
        cd_id = self.columns("a", "b")
        sd_id = self.descriptor(where, cd_id, self.serde(), bound=bound)
        table = Made(self.id(), sd_id, where or "", database.database, name, cd_id)
        self.insert(
            "TBLS",
            TBL_ID=table.id,
            CREATE_TIME=1_700_000_000,
            DB_ID=database.id,
            LAST_ACCESS_TIME=0,
            OWNER="ann",
            OWNER_TYPE="USER",
            RETENTION=0,
            SD_ID=sd_id,
            TBL_NAME=name,
            TBL_TYPE=kind,
            VIEW_ORIGINAL_TEXT="SELECT 1 %s" if view else None,
            IS_REWRITE_ENABLED=b"\x00",
            WRITE_ID=3,
        )
        params = {"transient_lastDdlTime": "1700000000", "comment": "ä%s\x00\n"} | (
            {"transactional": "TRUE"} if acid else {}
        )
        self.insert("TABLE_PARAMS", [{"TBL_ID": table.id, "PARAM_KEY": k, "PARAM_VALUE": v} for k, v in params.items()])
        self.insert("PARTITION_KEYS", TBL_ID=table.id, PKEY_NAME="p", PKEY_TYPE="string", INTEGER_IDX=0)
        if full:
            self.insert("TBL_PRIVS", self.grant("TBL_GRANT_ID", "TBL_PRIV", TBL_ID=table.id))
            self.insert(
                "TBL_COL_PRIVS", self.grant("TBL_COLUMN_GRANT_ID", "TBL_COL_PRIV", TBL_ID=table.id, COLUMN_NAME="a")
            )
            self.insert("TAB_COL_STATS", [self.statistics(table, TBL_ID=table.id)])
            self.constraint(table, None, f"pk_{table.id}")
        return table

    def statistics(self, table: Made, **row: object) -> dict[str, object]:
        """Of a column."""
        return {
            "CS_ID": self.id(),
            "CAT_NAME": "hive",
            "DB_NAME": table.database,
            "TABLE_NAME": table.table,
            **row,
            "COLUMN_NAME": "a",
            "COLUMN_TYPE": "double",
            "LONG_LOW_VALUE": -(2**63),
            "LONG_HIGH_VALUE": 2**63 - 1,
            "DOUBLE_HIGH_VALUE": 123456789.1234,
            "DOUBLE_LOW_VALUE": -0.1,
            "BIG_DECIMAL_LOW_VALUE": "1.5",
            "NUM_NULLS": 0,
            "NUM_DISTINCTS": 7,
            "BIT_VECTOR": bytes(range(256)),
            "LAST_ANALYZED": 1_700_000_000,
            "ENGINE": "hive",
        }

    def constraint(self, parent: Made, child: Made | None, name: str) -> None:
        """A primary key, or the foreign key of another table to it."""
        self.insert(
            "KEY_CONSTRAINTS",
            CHILD_CD_ID=child and child.cd_id,
            CHILD_INTEGER_IDX=None if child is None else 0,
            CHILD_TBL_ID=child and child.id,
            PARENT_CD_ID=parent.cd_id,
            PARENT_INTEGER_IDX=0,
            PARENT_TBL_ID=parent.id,
            POSITION=1,
            CONSTRAINT_NAME=name,
            CONSTRAINT_TYPE=0 if child is None else 1,
            ENABLE_VALIDATE_RELY=4,
        )

    def materialized(self, view: Made, *used: Made) -> None:
        """The metadata of a materialized view."""
        row = {"MV_CREATION_METADATA_ID": self.id(), "CAT_NAME": "hive", "DB_NAME": view.database}
        self.insert(
            "MV_CREATION_METADATA", [row | {"TBL_NAME": view.table, "TXN_LIST": "t", "MATERIALIZATION_TIME": 1}]
        )
        for table in used:
            self.insert(
                "MV_TABLES_USED",
                MV_CREATION_METADATA_ID=row["MV_CREATION_METADATA_ID"],
                TBL_ID=table.id,
                INSERTED_COUNT=5,
            )

    def partitions(
        self,
        table: Made,
        names: Sequence[str],
        *,
        path: str = "",
        serde: int = 0,
        bound: bool = True,
        full: bool = True,
    ) -> list[Made]:
        """Partitions; they share their table's columns. `path`: of their parent, if that is not the table."""
        made = [
            Made(self.id(), self.id(), f"{path or table.path}/{n}", table.database, table.table, table.cd_id)
            for n in names
        ]
        sds: list[dict[str, Any]] = []
        serdes = {} if serde else {one.id: self.id() for one in made}
        for one in made:
            parent, name = self.inode(one.path) if bound else (None, None)
            sds.append(
                {
                    "SD_ID": one.sd_id,
                    "CD_ID": table.cd_id,
                    "INPUT_FORMAT": f"{ORC}OrcInputFormat",
                    "IS_COMPRESSED": b"\x00",
                    "IS_STOREDASSUBDIRECTORIES": b"\x00",
                    "LOCATION": URI + one.path,
                    "NUM_BUCKETS": -1,
                    "OUTPUT_FORMAT": f"{ORC}OrcOutputFormat",
                    "SERDE_ID": serde or serdes[one.id],
                    "PARTITION_ID": parent,
                    "PARENT_ID": parent,
                    "NAME": name,
                }
            )
        self.insert("SERDES", [{"SERDE_ID": s, "SLIB": f"{ORC}OrcSerde"} for s in serdes.values()])
        self.insert(
            "SERDE_PARAMS",
            [{"SERDE_ID": s, "PARAM_KEY": "serialization.format", "PARAM_VALUE": "1"} for s in serdes.values()],
        )
        self.insert("SDS", sds)
        times = {"CREATE_TIME": 1_700_000_000, "LAST_ACCESS_TIME": 0, "TBL_ID": table.id}
        self.insert(
            "PARTITIONS",
            [
                {"PART_ID": one.id, "PART_NAME": n, "SD_ID": one.sd_id, **times}
                for one, n in zip(made, names, strict=True)
            ],
        )
        values = [
            {"PART_ID": one.id, "PART_KEY_VAL": part.split("=", 1)[1], "INTEGER_IDX": at}
            for one, n in zip(made, names, strict=True)
            for at, part in enumerate(n.split("/"))
        ]
        self.insert("PARTITION_KEY_VALS", values)
        keys = ("COLUMN_STATS_ACCURATE", "numFiles", "numRows", "rawDataSize", "totalSize", "transient_lastDdlTime")
        params = [{"PART_ID": one.id, "PARAM_KEY": k, "PARAM_VALUE": "1700000000"} for one in made for k in keys]
        self.insert("PARTITION_PARAMS", params)
        if full:
            for one, n in zip(made, names, strict=True):
                self.insert("PART_COL_STATS", [self.statistics(table, PARTITION_NAME=n, PART_ID=one.id)])
                self.insert("PART_PRIVS", self.grant("PART_GRANT_ID", "PART_PRIV", PART_ID=one.id))
                self.insert(
                    "PART_COL_PRIVS",
                    self.grant("PART_COLUMN_GRANT_ID", "PART_COL_PRIV", PART_ID=one.id, COLUMN_NAME="a"),
                )
        return made

    # --- transactions ---------------------------------------------------------------------------------------------

    def transaction(self, txn: int, state: str) -> None:
        """A row of TXNS: c, o (open) or a (aborted)."""
        row = {"TXN_ID": txn, "TXN_STATE": state, "TXN_STARTED": 1, "TXN_LAST_HEARTBEAT": 2, "TXN_USER": "ann"}
        self.insert("TXNS", [row | {"TXN_HOST": "h", "TXN_TYPE": 0}])

    def wrote(self, table: Made, txn: int, write: int, partition: str | None = None, *, done: bool = True) -> None:
        """A write of a transaction, committed or not."""
        names = (table.database, table.table)
        self.insert("TXN_TO_WRITE_ID", T2W_TXNID=txn, T2W_DATABASE=names[0], T2W_TABLE=names[1], T2W_WRITEID=write)
        if done:
            row: dict[str, object] = {"CTC_TXNID": txn, "CTC_DATABASE": names[0], "CTC_TABLE": names[1]}
            row |= {"CTC_PARTITION": partition, "CTC_TIMESTAMP": "2024-03-31 02:30:00", "CTC_WRITEID": write}
            self.insert("COMPLETED_TXN_COMPONENTS", [row | {"CTC_UPDATE_DELETE": "N"}])
        else:
            row = {"TC_TXNID": txn, "TC_DATABASE": names[0], "TC_TABLE": names[1], "TC_PARTITION": partition}
            self.insert("TXN_COMPONENTS", [row | {"TC_OPERATION_TYPE": "i", "TC_WRITEID": write}])

    def next_write(self, table: Made, write: int) -> None:
        """The next write id of a table."""
        self.insert("NEXT_WRITE_ID", NWI_DATABASE=table.database, NWI_TABLE=table.table, NWI_NEXT=write)

    def compaction(self, table: Made, state: str = "i", partition: str | None = None) -> int:
        """A compaction in the queue, one in the history, and a metric."""
        number = self.id()
        where = (table.database, table.table, partition)
        queued: dict[str, object] = dict(zip(("CQ_DATABASE", "CQ_TABLE", "CQ_PARTITION"), where, strict=True))
        queued |= {"CQ_ID": number, "CQ_STATE": state, "CQ_TYPE": "i", "CQ_META_INFO": b"\x00\xff'\\"}
        self.insert("COMPACTION_QUEUE", [queued | {"CQ_WORKER_ID": "w" if state == "w" else None}])
        history: dict[str, object] = dict(zip(("CC_DATABASE", "CC_TABLE", "CC_PARTITION"), where, strict=True))
        self.insert("COMPLETED_COMPACTIONS", [history | {"CC_ID": self.id(), "CC_STATE": "s", "CC_TYPE": "a"}])
        metric: dict[str, object] = dict(zip(("CMC_DATABASE", "CMC_TABLE", "CMC_PARTITION"), where, strict=True))
        metric |= {"CMC_METRIC_TYPE": "NUM_DELTAS", "CMC_METRIC_VALUE": 3, "CMC_VERSION": 1}
        self.insert("COMPACTION_METRICS_CACHE", [metric])
        return number


Dump = dict[str, list[tuple[Any, ...]]]


def tables_of(metastore: Metastore) -> list[str]:
    """All tables, in the order of their names."""
    return [name for name, _ in metastore.execute("SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'")]


def dump(metastore: Metastore) -> Dump:
    """All rows of all tables that have any, in an order of their own, without what binds descriptors to inodes."""
    found: Dump = {}
    database = metastore.database()
    with database.reading() as tx:
        descriptor = quoted([row[0] for row in tx.rows("SHOW COLUMNS FROM SDS") if row[0] not in BINDING])
        for table in tables_of(metastore):
            rows = tx.rows(f"SELECT {descriptor if table == 'SDS' else '*'} FROM `{table}`")
            if rows:
                found[table] = sorted(rows, key=repr)
    database.close()
    return found


def wipe(metastore: Metastore) -> None:
    """Back to a new database: fast, for the next test."""
    tables = [table for table in tables_of(metastore) if table not in (*_INITIAL, *_INITIAL_TOO)]
    state = [f"{{state}}.{table}" for table in ("removal", "journal", "candidate")]
    everything = (*(f"`{table}`" for table in tables), *state, "{inodes}")
    metastore.execute(
        "SET FOREIGN_KEY_CHECKS = 0",
        *(f"DELETE FROM {table}" for table in everything),
        "DELETE FROM CTLGS WHERE NAME <> 'hive'",
        "SET FOREIGN_KEY_CHECKS = 1",
        "INSERT INTO TXNS (TXN_ID, TXN_STATE, TXN_STARTED, TXN_LAST_HEARTBEAT, TXN_USER, TXN_HOST)"
        " SELECT 1, 'c', 0, 0, '', ''",
    )
