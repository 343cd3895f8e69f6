"""What stands in the database: read from information_schema, as plain values that can be compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hopshive.consistency.schema.cascades import DATABASE_KEY, in_one_piece
from hopshive.consistency.schema.doubles import beyond
from hopshive.consistency.schema.errors import SchemaError
from hopshive.consistency.schema.texts import ForeignText, foreign_texts
from hopshive.database import marks
from hopshive.database.foreign_keys import INODE_KEY, ForeignKey, outgoing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopshive.database import Transaction


# The engine of MySQL NDB Cluster, as information_schema has it.
NDB = "ndbcluster"

# The columns that we add to the metastore's tables, and the key on them.
LINKS = {"SDS": (INODE_KEY, ("PARTITION_ID", "PARENT_ID", "NAME")), "DBS": (DATABASE_KEY, ("SD_ID",))}


@dataclass(frozen=True)
class Column:
    """`type` as COLUMN_TYPE has it; character set and collation are empty unless it is a text; `octets` that it may take."""

    name: str
    type: str
    charset: str = ""
    collation: str = ""
    nullable: bool = True
    octets: int = 0
    comment: str = ""

    @property
    def is_apart(self) -> bool:
        """Whether its values lie outside of the row, in parts."""
        return self.type.endswith(("text", "blob")) or self.type == "json"

    @property
    def definition(self) -> str:
        """Its type as DDL has it."""
        return f"{self.type} CHARACTER SET {self.charset} COLLATE {self.collation}" if self.charset else self.type


@dataclass(frozen=True)
class Trigger:
    """A trigger, with its body as it was sent."""

    name: str
    table: str
    timing: str
    event: str
    body: str


@dataclass(frozen=True)
class InodeTable:
    """The table that SDS refers to: its columns, and the columns of each unique key."""

    columns: Mapping[str, Column]
    unique: tuple[tuple[str, ...], ...]
    engine: str
    rows: bool = False

    @property
    def is_ours(self) -> bool:
        """Whether it is hopshive's own: HopsFS's has more columns."""
        return set(self.columns) == {"partition_id", "parent_id", "name", "id"}


@dataclass(frozen=True)
class Catalogue:
    """All that decides what is to be done. `version` is empty without a row in VERSION."""

    database: str
    version: str
    engine: str
    schemas: frozenset[str]
    columns: Mapping[str, Mapping[str, Column]]
    # Their columns, by table and name.
    indexes: Mapping[str, Mapping[str, tuple[str, ...]]]
    foreign_keys: tuple[ForeignKey, ...]
    triggers: tuple[Trigger, ...]
    inodes: InodeTable | None
    # Other tables of the inode table's schema.
    beside_inodes: frozenset[str] = frozenset()
    # With their columns.
    state_tables: Mapping[str, frozenset[str]] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    positions: int = 0
    # Tables of LINKS whose columns hold values, although no key of ours is on them.
    leftovers: frozenset[str] = frozenset()
    # Storage descriptors of databases: ours, with the negative id of the database.
    database_descriptors: int = 0
    # The next number that the metastore gives to a storage descriptor; None if it has not given any.
    next_descriptor: int | None = None
    # Rows of KEY_CONSTRAINTS that name a table which is not there, by the column that names it.
    orphans: Mapping[str, int] = field(default_factory=dict)
    # What a text of each table has unless its column says otherwise.
    collations: Mapping[str, str] = field(default_factory=dict)
    row_formats: Mapping[str, str] = field(default_factory=dict)
    # Of indexes that hold only the first characters of a column: how many, by table and index.
    prefixes: Mapping[tuple[str, str], Mapping[str, int]] = field(default_factory=dict)
    # Read for the way back only.
    foreign_texts: tuple[ForeignText, ...] = ()
    # Statistics that the stock columns cannot hold, by table and column; for the way back only.
    beyond: tuple[tuple[str, str], ...] = ()
    # On NDB, of each column that lies outside of its row: the length of its longest value, in characters or bytes.
    longest: Mapping[tuple[str, str], int] = field(default_factory=dict)


# Of SDS: the rows that are databases'. A number below zero alone does not tell: see `plan._numbering`.
OF_DATABASES = (
    "SD_ID < 0 AND NOT EXISTS (SELECT 1 FROM TBLS WHERE TBLS.SD_ID = SDS.SD_ID)"
    " AND NOT EXISTS (SELECT 1 FROM PARTITIONS WHERE PARTITIONS.SD_ID = SDS.SD_ID)"
)
# The metastore's name for the numbers of storage descriptors.
DESCRIPTORS = "org.apache.hadoop.hive.metastore.model.MStorageDescriptor"


def read(tx: Transaction, database: str, *, back: bool = False) -> Catalogue:
    """The catalogue, with the privileges of the connection's user: a user sees only triggers that it may make.

    The connection uses `database`, if there is one of that name. `back`: also what only `schema remove` needs; it
    reads whole tables.
    """
    columns = _columns(tx, database)
    inode_schema, _, inode_table = tx.names.inodes.partition(".")
    state_tables = {table: frozenset(some) for table, some in _columns(tx, tx.names.state).items()}
    foreign_keys = outgoing(tx)
    engine = _engine(tx, database, "SDS")
    indexes, prefixes = _indexes(tx, database)
    collations, row_formats = _defaults(tx, database)
    return Catalogue(
        database=database,
        version=_version(tx) if "VERSION" in columns else "",
        engine=engine,
        schemas=_existing(tx, tx.names.state, inode_schema),
        columns=columns,
        indexes=indexes,
        prefixes=prefixes,
        foreign_keys=foreign_keys,
        triggers=_triggers(tx, database),
        inodes=_inodes(tx),
        beside_inodes=_tables(tx, inode_schema) - {inode_table},
        state_tables=state_tables,
        settings=_settings(tx) if "setting" in state_tables else {},
        positions=_count(tx, "{state}.position") if "position" in state_tables else 0,
        database_descriptors=_count(tx, f"SDS WHERE {OF_DATABASES}") if "SDS" in columns else 0,
        next_descriptor=_next_descriptor(tx) if "SEQUENCE_TABLE" in columns else None,
        leftovers=_leftovers(tx, columns, foreign_keys),
        orphans=_orphans(tx, columns, foreign_keys),
        collations=collations,
        row_formats=row_formats,
        foreign_texts=foreign_texts(tx, columns, indexes) if back else (),
        beyond=beyond(tx, columns) if back else (),
        longest=_longest(tx, columns, foreign_keys) if engine == NDB else {},
    )


def _version(tx: Transaction) -> str:
    """The version of Hive's schema; empty unless VERSION has exactly one row."""
    versions = tx.rows("SELECT SCHEMA_VERSION FROM VERSION")
    return str(versions[0][0]) if len(versions) == 1 else ""


def _existing(tx: Transaction, *schemas: str) -> frozenset[str]:
    """Those of some schemas that are on the server."""
    sql = f"SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME IN ({marks(schemas)})"
    return frozenset(str(row[0]) for row in tx.rows(sql, schemas))


def _settings(tx: Transaction) -> dict[str, str]:
    return {str(name): _text(value) for name, value in tx.rows("SELECT name, value FROM {state}.setting")}


def _count(tx: Transaction, rows: str) -> int:
    """How many rows there are; `rows` stands after FROM."""
    return int(tx.value(f"SELECT COUNT(*) FROM {rows}") or 0)


def _next_descriptor(tx: Transaction) -> int | None:
    number = tx.value("SELECT NEXT_VAL FROM SEQUENCE_TABLE WHERE SEQUENCE_NAME = %s", (DESCRIPTORS,))
    return None if number is None else int(number)


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _engine(tx: Transaction, schema: str, table: str) -> str:
    sql = "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
    return str(tx.value(sql, (schema, table)))


def _tables(tx: Transaction, schema: str) -> frozenset[str]:
    rows = tx.rows("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s", (schema,))
    return frozenset(str(row[0]) for row in rows)


def _defaults(tx: Transaction, schema: str) -> tuple[dict[str, str], dict[str, str]]:
    """Of each table the collation and the row format; views have neither."""
    sql = (
        "SELECT TABLE_NAME, TABLE_COLLATION, ROW_FORMAT FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = %s AND TABLE_TYPE = 'BASE TABLE'"
    )
    rows = tx.rows(sql, (schema,))
    return {str(row[0]): str(row[1]) for row in rows}, {str(row[0]): str(row[2]) for row in rows}


def _columns(tx: Transaction, schema: str, table: str | None = None) -> dict[str, dict[str, Column]]:
    found: dict[str, dict[str, Column]] = {}
    for where, name, kind, charset, collation, nullable, octets, comment in tx.rows(
        "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME, IS_NULLABLE,"
        " COALESCE(CHARACTER_OCTET_LENGTH, 0), COLUMN_COMMENT FROM information_schema.COLUMNS"
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = COALESCE(%s, TABLE_NAME) ORDER BY TABLE_NAME, ORDINAL_POSITION",
        (schema, table),
    ):
        column = Column(
            str(name), _text(kind), charset or "", collation or "", nullable == "YES", int(octets), _text(comment)
        )
        found.setdefault(str(where), {})[column.name] = column
    return found


def _indexes(
    tx: Transaction, database: str
) -> tuple[dict[str, dict[str, tuple[str, ...]]], dict[tuple[str, str], dict[str, int]]]:
    """The columns of each index, and those of which it holds only the first characters."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    prefixes: dict[tuple[str, str], dict[str, int]] = {}
    for table, name, column, kept in tx.rows(
        "SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = %s"
        " ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX",
        (database,),
    ):
        indexes = found.setdefault(str(table), {})
        indexes[str(name)] = (*indexes.get(str(name), ()), str(column))
        if kept is not None:
            prefixes.setdefault((str(table), str(name)), {})[str(column)] = int(kept)
    return found, prefixes


def _triggers(tx: Transaction, database: str) -> tuple[Trigger, ...]:
    rows = tx.rows(
        "SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE, ACTION_TIMING, EVENT_MANIPULATION, ACTION_STATEMENT"
        " FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = %s ORDER BY TRIGGER_NAME",
        (database,),
    )
    return tuple(Trigger(*(_text(value) for value in row)) for row in rows)


def _inodes(tx: Transaction) -> InodeTable | None:
    schema, _, table = tx.names.inodes.partition(".")
    columns = _columns(tx, schema, table).get(table)
    if columns is None:
        return None
    unique: dict[str, list[str]] = {}
    for name, column in tx.rows(
        "SELECT INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS"
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND NON_UNIQUE = 0 ORDER BY INDEX_NAME, SEQ_IN_INDEX",
        (schema, table),
    ):
        unique.setdefault(str(name), []).append(str(column))
    rows = tx.row("SELECT 1 FROM {inodes} LIMIT 1") is not None
    return InodeTable(columns, tuple(tuple(key) for key in unique.values()), _engine(tx, schema, table), rows)


def _leftovers(
    tx: Transaction, columns: Mapping[str, Mapping[str, Column]], foreign_keys: Sequence[ForeignKey]
) -> frozenset[str]:
    """Reads whole tables, but only where columns stand without their key: when something was interrupted."""
    found = set()
    for table, (name, link) in LINKS.items():
        there = [column for column in link if column in columns.get(table, {})]
        if there and (table, name) not in {(key.table, key.name) for key in foreign_keys}:
            any_value = " OR ".join(f"{column} IS NOT NULL" for column in there)
            if tx.row(f"SELECT 1 FROM {table} WHERE {any_value} LIMIT 1"):
                found.add(table)
    return frozenset(found)


def _orphans(
    tx: Transaction, columns: Mapping[str, Mapping[str, Column]], foreign_keys: Sequence[ForeignKey]
) -> dict[str, int]:
    if "KEY_CONSTRAINTS" not in columns or "TBLS" not in columns:
        return {}
    bound = {key.columns[0] for key in foreign_keys if key.table == "KEY_CONSTRAINTS" and key.to == "TBLS"}
    found = {}
    for column in ("PARENT_TBL_ID", "CHILD_TBL_ID"):
        if column not in bound:
            found[column] = int(tx.value(ORPHANS.format(what="COUNT(*)", column=column)) or 0)
    return found


def _longest(
    tx: Transaction, columns: Mapping[str, Mapping[str, Column]], foreign_keys: Sequence[ForeignKey]
) -> dict[tuple[str, str], int]:
    """Reads whole tables, but only before their columns were changed."""
    found = {}
    for table in in_one_piece(foreign_keys):
        for column in columns[table].values():
            if column.is_apart:
                sql = f"SELECT COALESCE(MAX(CHAR_LENGTH({column.name})), 0) FROM {table}"
                found[table, column.name] = int(tx.value(sql))
    return found


# Rows of KEY_CONSTRAINTS that name a table which is not there.
ORPHANS = (
    "SELECT {what} FROM KEY_CONSTRAINTS LEFT JOIN TBLS ON TBLS.TBL_ID = KEY_CONSTRAINTS.{column}"
    " WHERE KEY_CONSTRAINTS.{column} IS NOT NULL AND TBLS.TBL_ID IS NULL"
)


def require_metastore(found: Catalogue) -> None:
    """Raises SchemaError unless the database is a metastore's."""
    missing = sorted({"VERSION", "SDS", "DBS", "TBLS", "PARTITIONS", "KEY_CONSTRAINTS"} - set(found.columns))
    if missing:
        raise SchemaError(
            f"{found.database} is not a metastore's database: it has no table {', '.join(missing)}. Let schematool make "
            "its schema first. Nothing was changed."
        )
