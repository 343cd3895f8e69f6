"""Garbage after removals: what foreign keys cannot take along, counted by queries of its own."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from tests.bench.dataset import days, make_partitioned
from tests.bench.measurement import Measurement
from tests.bench.rig import wait_for_value, wait_until_bound

if TYPE_CHECKING:
    from tests.bench.rig import Rig
    from tests.support.metastore_db import Metastore

REMOVALS = 10_000
# Of the removals: tables, one in four of them skewed. The others are partitions of one table, which stays.
TABLES = 0.1
STAYING = 20
# Seconds after which what is left counts.
PATIENCE = 300.0
DB = "collection"

_SDS = (
    "SELECT SD_ID FROM TBLS WHERE SD_ID IS NOT NULL UNION SELECT SD_ID FROM PARTITIONS WHERE SD_ID IS NOT NULL"
    " UNION SELECT SD_ID FROM DBS WHERE SD_ID IS NOT NULL"
)
_CDS = "SELECT CD_ID FROM SDS WHERE CD_ID IS NOT NULL"
_SERDES = "SELECT SERDE_ID FROM SDS WHERE SERDE_ID IS NOT NULL"
_LISTS = "SELECT STRING_LIST_ID_EID FROM SKEWED_VALUES UNION SELECT STRING_LIST_ID_KID FROM SKEWED_COL_VALUE_LOC_MAP"
# The tables that the foreign keys leave behind, and the rows in them that belong to something.
OWNED = {
    "SDS": ("SD_ID", _SDS),
    "CDS": ("CD_ID", _CDS),
    "COLUMNS_V2": ("CD_ID", _CDS),
    "SERDES": ("SERDE_ID", _SERDES),
    "SERDE_PARAMS": ("SERDE_ID", _SERDES),
    "SKEWED_COL_NAMES": ("SD_ID", _SDS),
    "SKEWED_VALUES": ("SD_ID_OID", _SDS),
    "SKEWED_COL_VALUE_LOC_MAP": ("SD_ID", _SDS),
    "SKEWED_STRING_LIST": ("STRING_LIST_ID", _LISTS),
    "SKEWED_STRING_LIST_VALUES": ("STRING_LIST_ID", _LISTS),
}
GARBAGE = " + ".join(
    f"(SELECT COUNT(*) FROM {table} WHERE {key} NOT IN (SELECT * FROM ({owned}) o))"
    for table, (key, owned) in OWNED.items()
)


def measure(rig: Rig, scale: float) -> list[Measurement]:
    """Rows that nothing refers to, when the cleaner has had its time; and how long it took."""
    count = max(100, round(REMOVALS * scale))
    tables = round(count * TABLES)
    with rig.database(DB) as metastore, rig.metastore(DB) as port, rig.client(port) as client:
        base = f"/warehouse/{DB}.db"
        client.create_database(DB, f"{rig.uri}{base}")
        parts = make_partitioned(rig, metastore, client, DB, "t", days(count - tables + STAYING))
        for number in range(tables + STAYING):
            client.create_table(DB, f"t{number}", f"{rig.uri}{base}/t{number}", skewed=number % 4 == 0)
        metastore.execute(
            "INSERT INTO SKEWED_COL_VALUE_LOC_MAP (SD_ID, STRING_LIST_ID_KID, LOCATION)"
            " SELECT SD_ID_OID, STRING_LIST_ID_EID, 'place' FROM SKEWED_VALUES"
        )
        with rig.daemon(metastore, rig.config(metastore)):
            wait_until_bound(metastore)
            rows = _rows(metastore)
            began = time.perf_counter()
            rig.directories.delete(parts.paths[STAYING:])
            rig.directories.delete(f"{base}/t{number}" for number in range(STAYING, tables + STAYING))
            objects = "SELECT (SELECT COUNT(*) FROM PARTITIONS) + (SELECT COUNT(*) FROM TBLS)"
            wait_for_value(metastore, objects, 2 * STAYING + 1, PATIENCE)
            removed = time.perf_counter() - began
            with suppress(TimeoutError):  # what is left is the figure
                wait_for_value(metastore, f"SELECT {GARBAGE}", 0, PATIENCE, pause=0.2)
            collected = time.perf_counter() - began
            left = int(metastore.execute(f"SELECT {GARBAGE}")[0][0])
            gone = rows - _rows(metastore)
            _expect_the_rest(metastore)
        rig.directories.delete([base])
    return [
        Measurement(f"rows without an owner after {count:,} removals", left, "rows", 0),
        Measurement("rows of those tables that went", gone, "rows"),
        Measurement(f"{count:,} directories deleted -> metadata gone", removed, "s"),
        Measurement("the same -> garbage gone", collected, "s"),
    ]


def _rows(metastore: Metastore) -> int:
    return sum(int(metastore.execute(f"SELECT COUNT(*) FROM {table}")[0][0]) for table in OWNED)


def _expect_the_rest(metastore: Metastore) -> None:
    """What stays is whole: each of the tables and partitions has its descriptor, columns and serializer."""
    whole = int(
        metastore.execute(
            "SELECT COUNT(DISTINCT s.SD_ID) FROM SDS s JOIN CDS c ON c.CD_ID = s.CD_ID JOIN COLUMNS_V2 v ON v.CD_ID = c.CD_ID"
            " JOIN SERDES e ON e.SERDE_ID = s.SERDE_ID JOIN SERDE_PARAMS p ON p.SERDE_ID = e.SERDE_ID"
        )[0][0]
    )
    if whole != 2 * STAYING + 1:
        raise AssertionError(f"{whole} descriptors are whole instead of {2 * STAYING + 1}")
