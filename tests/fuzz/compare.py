"""Whether a warehouse at a quiet point is what the model says: object for object, row for row, old id for old id."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from tests.fuzz.model import Expected

if TYPE_CHECKING:
    import random

    from tests.fuzz.drive import Driver
    from tests.fuzz.model import Model
    from tests.fuzz.objects import Database, Table
    from tests.warehouse import Difference, Warehouse
    from tests.warehouse.hdfs import Item

# What `hopshive check` calls a directory that no metadata is about.
STRANGER = "no metadata"
GARBAGE = "garbage"

# What makes an object, by the table that it is asked from: rows without what binds them to an inode.
_OF_TABLE = {
    "TBLS": "SELECT t.TBL_ID, x.* FROM TBLS x JOIN TBLS t ON t.TBL_ID = x.TBL_ID",
    "TABLE_PARAMS": "SELECT x.* FROM TABLE_PARAMS x JOIN TBLS t ON t.TBL_ID = x.TBL_ID",
    "PARTITION_KEYS": "SELECT x.* FROM PARTITION_KEYS x JOIN TBLS t ON t.TBL_ID = x.TBL_ID",
    "TAB_COL_STATS": "SELECT x.TBL_ID, x.* FROM TAB_COL_STATS x JOIN TBLS t ON t.TBL_ID = x.TBL_ID",
    "TBL_PRIVS": "SELECT x.TBL_ID, x.* FROM TBL_PRIVS x JOIN TBLS t ON t.TBL_ID = x.TBL_ID",
    "TBL_COL_PRIVS": "SELECT x.TBL_ID, x.* FROM TBL_COL_PRIVS x JOIN TBLS t ON t.TBL_ID = x.TBL_ID",
    "SDS": "SELECT t.TBL_ID, x.SD_ID, x.CD_ID, x.INPUT_FORMAT, x.LOCATION, x.NUM_BUCKETS, x.OUTPUT_FORMAT, x.SERDE_ID"
    " FROM SDS x JOIN TBLS t ON t.SD_ID = x.SD_ID",
    "COLUMNS_V2": "SELECT t.TBL_ID, x.* FROM COLUMNS_V2 x JOIN SDS s ON s.CD_ID = x.CD_ID JOIN TBLS t ON t.SD_ID = s.SD_ID",
    "SERDES": "SELECT t.TBL_ID, x.* FROM SERDES x JOIN SDS s ON s.SERDE_ID = x.SERDE_ID JOIN TBLS t ON t.SD_ID = s.SD_ID",
    "SERDE_PARAMS": "SELECT t.TBL_ID, x.* FROM SERDE_PARAMS x JOIN SDS s ON s.SERDE_ID = x.SERDE_ID"
    " JOIN TBLS t ON t.SD_ID = s.SD_ID",
    "NEXT_WRITE_ID": "SELECT t.TBL_ID, x.* FROM NEXT_WRITE_ID x JOIN TBLS t ON t.TBL_NAME = x.NWI_TABLE"
    " JOIN DBS d ON d.DB_ID = t.DB_ID AND d.NAME = x.NWI_DATABASE",
}
_OF_PARTITION = {
    "PARTITIONS": "SELECT x.PART_ID, x.* FROM PARTITIONS x",
    "PARTITION_PARAMS": "SELECT x.* FROM PARTITION_PARAMS x",
    "PARTITION_KEY_VALS": "SELECT x.* FROM PARTITION_KEY_VALS x",
    "PART_COL_STATS": "SELECT x.PART_ID, x.* FROM PART_COL_STATS x",
    "PART_PRIVS": "SELECT x.PART_ID, x.* FROM PART_PRIVS x",
    "SDS": "SELECT p.PART_ID, x.SD_ID, x.INPUT_FORMAT, x.LOCATION, x.SERDE_ID FROM SDS x JOIN PARTITIONS p ON p.SD_ID = x.SD_ID",
    "COLUMNS_V2": "SELECT p.PART_ID, x.COLUMN_NAME, x.TYPE_NAME FROM COLUMNS_V2 x JOIN SDS s ON s.CD_ID = x.CD_ID"
    " JOIN PARTITIONS p ON p.SD_ID = s.SD_ID",
}

Print = tuple[object, ...]


def differing_objects(warehouse: Warehouse, driver: Driver, model: Model, prefix: str) -> list[str]:
    """Lines for what is in the metastore's database and not in the model, and the other way."""
    wanted, found = model.expected(), _found(warehouse, driver, prefix)
    lines = []
    for field in fields(Expected):
        there, here = getattr(found, field.name), getattr(wanted, field.name)
        lines += [f"{field.name}: {' '.join(one)} should not be there" for one in sorted(there - here)]
        lines += [f"{field.name}: {' '.join(one)} is missing" for one in sorted(here - there)]
    return lines


def _found(warehouse: Warehouse, driver: Driver, prefix: str) -> Expected:
    mine = f"d.NAME LIKE '{prefix}\\_%'"
    table = "TBLS t JOIN DBS d ON d.DB_ID = t.DB_ID"
    databases, tables, partitions, functions, constraints = warehouse.database.snapshot(
        [
            f"SELECT d.NAME, d.DB_LOCATION_URI, d.DB_MANAGED_LOCATION_URI FROM DBS d WHERE {mine}",
            f"SELECT d.NAME, t.TBL_NAME, COALESCE(s.LOCATION, '') FROM {table} LEFT JOIN SDS s ON s.SD_ID = t.SD_ID"
            f" WHERE {mine}",
            f"SELECT d.NAME, t.TBL_NAME, p.PART_NAME, s.LOCATION FROM {table} JOIN PARTITIONS p ON p.TBL_ID = t.TBL_ID"
            f" LEFT JOIN SDS s ON s.SD_ID = p.SD_ID WHERE {mine}",
            f"SELECT d.NAME, f.FUNC_NAME FROM FUNCS f JOIN DBS d ON d.DB_ID = f.DB_ID WHERE {mine}",
            "SELECT k.CONSTRAINT_NAME, CONCAT(COALESCE(e.NAME, d.NAME), '.', COALESCE(c.TBL_NAME, t.TBL_NAME)),"
            " CONCAT(d.NAME, '.', t.TBL_NAME) FROM KEY_CONSTRAINTS k JOIN TBLS t ON t.TBL_ID = k.PARENT_TBL_ID"
            " JOIN DBS d ON d.DB_ID = t.DB_ID LEFT JOIN TBLS c ON c.TBL_ID = k.CHILD_TBL_ID"
            f" LEFT JOIN DBS e ON e.DB_ID = c.DB_ID WHERE {mine}",
        ]
    )
    at = driver.path
    return Expected(
        {(name, at(one), at(two)) for name, one, two in databases},
        {(db, name, at(place)) for db, name, place in tables},
        {(db, name, part, at(place)) for db, name, part, place in partitions},
        {tuple(row) for row in functions},
        {tuple(row) for row in constraints},
    )


def differing_lists(warehouse: Warehouse, model: Model, rng: random.Random, prefix: str) -> list[str]:
    """The same, as Hive tells its users: SHOW DATABASES, and SHOW TABLES and PARTITIONS of one of them."""
    databases = [row for row in warehouse.hive("SHOW DATABASES") if row[0].startswith(f"{prefix}_")]
    lines = _differ("SHOW DATABASES", databases, set(model.databases))
    if not model.databases:
        return lines
    database = model.databases[rng.choice(sorted(model.databases))]
    shown = warehouse.hive(f"SHOW TABLES IN {database.name}")
    # Materialized views are tables here, views are not.
    tables = {table.name for table in database.tables.values()}
    lines += _differ(f"SHOW TABLES IN {database.name}", shown, tables)
    partitioned = sorted(table.name for table in database.tables.values() if table.keys)
    if partitioned:
        table = database.tables[rng.choice(partitioned)]
        shown = warehouse.hive(f"SHOW PARTITIONS {database.name}.{table.name}")
        names = {one.name for one in table.partitions.values()}
        lines += _differ(f"SHOW PARTITIONS {database.name}.{table.name}", shown, names)
    return lines


def _differ(what: str, shown: list[tuple[object, ...]], wanted: set[str]) -> list[str]:
    found = {str(row[0]) for row in shown}
    return [f"{what} answers {sorted(found)}, not {sorted(wanted)}"] if found != wanted else []


def differing_rows(warehouse: Warehouse, model: Model, database: Database, table: Table) -> list[str]:
    """Whether Hive reads what was written."""
    columns = ", ".join(["a", *table.keys])
    name = f"{database.name}.{table.name}"
    query = f"SELECT {columns} FROM {name}"
    found = sorted(warehouse.hive(query), key=repr)
    wanted = sorted(model.rows(table), key=repr)
    if found == wanted:
        return []
    # What an engine did to answer so is gone with its session: asked at once, or never.
    plan = [str(row[0]) for row in warehouse.hive(f"EXPLAIN {query}")]
    again = sorted(warehouse.hive(query), key=repr)
    lines = [f"{name} reads {found}, not {wanted}", f"{name} asked again reads {again}"]
    lines += [f"{name} is planned so: {line}" for line in plan]
    for path in table.paths():
        lines += [f"{name} has {path}/{item.name}" for item in _below(warehouse, path)]
    return lines


def _below(warehouse: Warehouse, path: str) -> list[Item]:
    return warehouse.hdfs.listing(path) if warehouse.hdfs.exists(path) else []


def differing_checks(found: list[Difference], model: Model) -> list[str]:
    """What `hopshive check` tells beyond the directories that the model knows to have no owner, or lacks of those.

    Garbage is not a difference yet: the sweep looks at it twice before it collects it.
    """
    strangers = {str(one.content.get("path")) for one in found if one.kind == STRANGER}
    lines = [f"hopshive check: {one.text}" for one in found if one.kind not in (STRANGER, GARBAGE)]
    lines += [f"hopshive check reports {path}, which has an owner" for path in sorted(strangers - model.strangers())]
    lines += [f"hopshive check does not report {path}" for path in sorted(model.strangers() - strangers)]
    return lines


def prints(warehouse: Warehouse, prefix: str) -> dict[tuple[str, ...], Print]:
    """All that makes each table and each partition, old ids included, by its names."""
    mine = f"FROM TBLS t JOIN DBS d ON d.DB_ID = t.DB_ID WHERE d.NAME LIKE '{prefix}\\_%'"
    named = [
        f"SELECT t.TBL_ID, d.NAME, t.TBL_NAME {mine}",
        "SELECT p.PART_ID, d.NAME, t.TBL_NAME, p.PART_NAME FROM PARTITIONS p JOIN TBLS t ON t.TBL_ID = p.TBL_ID"
        f" JOIN DBS d ON d.DB_ID = t.DB_ID WHERE d.NAME LIKE '{prefix}\\_%'",
    ]
    tables, partitions, *rows = warehouse.database.snapshot([*named, *_OF_TABLE.values(), *_OF_PARTITION.values()])
    found: dict[tuple[str, ...], Print] = {}
    parts = len(_OF_TABLE)
    for names, answers, kinds in (
        (tables, rows[:parts], list(_OF_TABLE)),
        (partitions, rows[parts:], list(_OF_PARTITION)),
    ):
        by_id = {row[0]: tuple(map(str, row[1:])) for row in names}
        collected: dict[tuple[str, ...], list[object]] = {key: [] for key in by_id.values()}
        for kind, answer in zip(kinds, answers, strict=True):
            for row in answer:
                if row[0] in by_id:
                    collected[by_id[row[0]]].append((kind, *row))
        found |= {key: tuple(sorted(value, key=repr)) for key, value in collected.items()}
    return found
