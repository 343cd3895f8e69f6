"""The stock schema's foreign keys of the tables that are copied for other characters, and which of them are missing.

A MariaDB that is killed while ALTER TABLE puts a table's copy in its place may have lost the table's foreign keys when it starts
again: the columns are there, old or new, and the keys are not (seen with MariaDB 10.11). Without its key, metadata outlives its
directory, and nothing else in the database reports the key. So the stock schema's keys are listed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.database.foreign_keys import ForeignKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hopshive.consistency.schema.catalogue import Catalogue

# By table: the key's name, its column, and the column that it refers to.
STOCK_KEYS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "BUCKETING_COLS": (("BUCKETING_COLS_FK1", "SD_ID", "SDS.SD_ID"),),
    "COLUMNS_V2": (("COLUMNS_V2_FK1", "CD_ID", "CDS.CD_ID"),),
    "DATABASE_PARAMS": (("DATABASE_PARAMS_FK1", "DB_ID", "DBS.DB_ID"),),
    "DATACONNECTOR_PARAMS": (("DATACONNECTOR_NAME_FK1", "NAME", "DATACONNECTORS.NAME"),),
    "DBS": (("CTLG_FK1", "CTLG_NAME", "CTLGS.NAME"),),
    "DB_PRIVS": (("DB_PRIVS_FK1", "DB_ID", "DBS.DB_ID"),),
    "DC_PRIVS": (("DC_PRIVS_FK1", "NAME", "DATACONNECTORS.NAME"),),
    "FUNCS": (("FUNCS_FK1", "DB_ID", "DBS.DB_ID"),),
    "FUNC_RU": (("FUNC_RU_FK1", "FUNC_ID", "FUNCS.FUNC_ID"),),
    "I_SCHEMA": (("I_SCHEMA_ibfk_1", "DB_ID", "DBS.DB_ID"),),
    "MIN_HISTORY_WRITE_ID": (("MIN_HISTORY_WRITE_ID_ibfk_1", "MH_TXNID", "TXNS.TXN_ID"),),
    "PARTITIONS": (("PARTITIONS_FK1", "TBL_ID", "TBLS.TBL_ID"), ("PARTITIONS_FK2", "SD_ID", "SDS.SD_ID")),
    "PARTITION_KEYS": (("PARTITION_KEYS_FK1", "TBL_ID", "TBLS.TBL_ID"),),
    "PARTITION_KEY_VALS": (("PARTITION_KEY_VALS_FK1", "PART_ID", "PARTITIONS.PART_ID"),),
    "PARTITION_PARAMS": (("PARTITION_PARAMS_FK1", "PART_ID", "PARTITIONS.PART_ID"),),
    "PART_COL_PRIVS": (("PART_COL_PRIVS_FK1", "PART_ID", "PARTITIONS.PART_ID"),),
    "PART_COL_STATS": (("PART_COL_STATS_FK", "PART_ID", "PARTITIONS.PART_ID"),),
    "PART_PRIVS": (("PART_PRIVS_FK1", "PART_ID", "PARTITIONS.PART_ID"),),
    "ROLE_MAP": (("ROLE_MAP_FK1", "ROLE_ID", "ROLES.ROLE_ID"),),
    "SCHEMA_VERSION": (
        ("SCHEMA_VERSION_ibfk_1", "SCHEMA_ID", "I_SCHEMA.SCHEMA_ID"),
        ("SCHEMA_VERSION_ibfk_2", "CD_ID", "CDS.CD_ID"),
        ("SCHEMA_VERSION_ibfk_3", "SERDE_ID", "SERDES.SERDE_ID"),
    ),
    "SDS": (("SDS_FK1", "SERDE_ID", "SERDES.SERDE_ID"), ("SDS_FK2", "CD_ID", "CDS.CD_ID")),
    "SD_PARAMS": (("SD_PARAMS_FK1", "SD_ID", "SDS.SD_ID"),),
    "SERDE_PARAMS": (("SERDE_PARAMS_FK1", "SERDE_ID", "SERDES.SERDE_ID"),),
    "SKEWED_COL_NAMES": (("SKEWED_COL_NAMES_FK1", "SD_ID", "SDS.SD_ID"),),
    "SKEWED_COL_VALUE_LOC_MAP": (
        ("SKEWED_COL_VALUE_LOC_MAP_FK1", "SD_ID", "SDS.SD_ID"),
        ("SKEWED_COL_VALUE_LOC_MAP_FK2", "STRING_LIST_ID_KID", "SKEWED_STRING_LIST.STRING_LIST_ID"),
    ),
    "SKEWED_STRING_LIST_VALUES": (
        ("SKEWED_STRING_LIST_VALUES_FK1", "STRING_LIST_ID", "SKEWED_STRING_LIST.STRING_LIST_ID"),
    ),
    "SORT_COLS": (("SORT_COLS_FK1", "SD_ID", "SDS.SD_ID"),),
    "TABLE_PARAMS": (("TABLE_PARAMS_FK1", "TBL_ID", "TBLS.TBL_ID"),),
    "TAB_COL_STATS": (("TAB_COL_STATS_FK", "TBL_ID", "TBLS.TBL_ID"),),
    "TBLS": (("TBLS_FK1", "SD_ID", "SDS.SD_ID"), ("TBLS_FK2", "DB_ID", "DBS.DB_ID")),
    "TBL_COL_PRIVS": (("TBL_COL_PRIVS_FK1", "TBL_ID", "TBLS.TBL_ID"),),
    "TBL_PRIVS": (("TBL_PRIVS_FK1", "TBL_ID", "TBLS.TBL_ID"),),
    "TXN_COMPONENTS": (("TXN_COMPONENTS_ibfk_1", "TC_TXNID", "TXNS.TXN_ID"),),
}
# The only one of them that stock Hive lets cascade.
_CASCADES = frozenset({"DATACONNECTOR_NAME_FK1"})


def stock_keys() -> Iterator[ForeignKey]:
    """Each of STOCK_KEYS, with the stock rules."""
    for table, keys in STOCK_KEYS.items():
        for name, column, target in keys:
            to, _, to_column = target.partition(".")
            rule = "CASCADE" if name in _CASCADES else "RESTRICT"
            yield ForeignKey(table, name, (column,), to, (to_column,), on_delete=rule)


def missing_keys(found: Catalogue) -> list[ForeignKey]:
    """Those that no key of the table stands for, whatever its name and its rule."""
    there = {_what(key) for key in found.foreign_keys}
    return [key for key in stock_keys() if {key.table, key.to} <= set(found.columns) and _what(key) not in there]


def _what(key: ForeignKey) -> tuple[str, tuple[str, ...], str]:
    return key.table, key.columns, key.to
