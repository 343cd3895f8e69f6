"""Metadata by the hundred thousand: rows copied from those that the metastore itself has written for one partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.database import Transaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.bench.rig import Rig
    from tests.bench.thrift_metastore import ThriftMetastore
    from tests.support.metastore_db import Metastore

# Beyond what the metastore's own sequences reach here.
FIRST_ID = 10_000_000
# Partitions of one transaction.
BATCH = 10_000

_COPIES = (
    (
        "SERDES (SERDE_ID, NAME, SLIB, DESCRIPTION, SERIALIZER_CLASS, DESERIALIZER_CLASS, SERDE_TYPE)",
        "c.serde, t.NAME, t.SLIB, t.DESCRIPTION, t.SERIALIZER_CLASS, t.DESERIALIZER_CLASS, t.SERDE_TYPE",
        "SERDES t WHERE t.SERDE_ID = %(serde)s",
    ),
    (
        "SERDE_PARAMS (SERDE_ID, PARAM_KEY, PARAM_VALUE)",
        "c.serde, t.PARAM_KEY, t.PARAM_VALUE",
        "SERDE_PARAMS t WHERE t.SERDE_ID = %(serde)s",
    ),
    (
        "SDS (SD_ID, CD_ID, INPUT_FORMAT, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, LOCATION, NUM_BUCKETS, OUTPUT_FORMAT,"
        " SERDE_ID)",
        "c.sd, t.CD_ID, t.INPUT_FORMAT, t.IS_COMPRESSED, t.IS_STOREDASSUBDIRECTORIES, c.location, t.NUM_BUCKETS,"
        " t.OUTPUT_FORMAT, c.serde",
        "SDS t WHERE t.SD_ID = %(sd)s",
    ),
    (
        "PARTITIONS (PART_ID, CREATE_TIME, LAST_ACCESS_TIME, PART_NAME, SD_ID, TBL_ID, WRITE_ID)",
        "c.part, t.CREATE_TIME, t.LAST_ACCESS_TIME, c.name, c.sd, t.TBL_ID, t.WRITE_ID",
        "PARTITIONS t WHERE t.PART_ID = %(part)s",
    ),
    (
        "PARTITION_PARAMS (PART_ID, PARAM_KEY, PARAM_VALUE)",
        "c.part, t.PARAM_KEY, t.PARAM_VALUE",
        "PARTITION_PARAMS t WHERE t.PART_ID = %(part)s",
    ),
)


@dataclass(frozen=True)
class Partitioned:
    """A partitioned table with directories `location/key=value/...`."""

    table_id: int
    location: str
    names: Sequence[str]

    @property
    def path(self) -> str:
        """Of its directory."""
        return "/" + self.location.split("/", 3)[3]

    @property
    def paths(self) -> list[str]:
        """Of its partitions' directories."""
        return [f"{self.path}/{name}" for name in self.names]


def days(count: int) -> list[str]:
    """Names of partitions on one level."""
    return [f"p={number:06}" for number in range(count)]


def hours(count: int) -> list[str]:
    """Names of partitions on two levels, 24 in a directory."""
    return [f"day={number // 24:05}/hour={number % 24:02}" for number in range(count)]


def make_partitioned(
    rig: Rig, metastore: Metastore, client: ThriftMetastore, database: str, table: str, names: Sequence[str]
) -> Partitioned:
    """A table with its partitions and their directories; the metastore makes the first, copies of its rows are the rest."""
    location = f"{rig.uri}/warehouse/{database}.db/{table}"
    client.create_table(database, table, location, [part.partition("=")[0] for part in names[0].split("/")])
    client.add_partitions(database, table, [(_values(names[0]), f"{location}/{names[0]}")])
    with_database = metastore.database()
    try:
        with with_database.reading() as tx:
            row = tx.row(
                "SELECT p.TBL_ID, p.PART_ID, p.SD_ID, s.SERDE_ID FROM PARTITIONS p JOIN SDS s ON s.SD_ID = p.SD_ID"
                " JOIN TBLS t ON t.TBL_ID = p.TBL_ID JOIN DBS d ON d.DB_ID = t.DB_ID WHERE d.NAME = %s AND t.TBL_NAME = %s",
                (database, table),
            )
            assert row
        made = Partitioned(int(row[0]), location, names)
        rig.directories.make(made.paths[1:])
        for start in range(1, len(names), BATCH):
            with with_database.transaction() as tx:
                _copy(
                    tx, dict(zip(("part", "sd", "serde"), row[1:], strict=True)), location, names[start : start + BATCH]
                )
    finally:
        with_database.close()
    return made


def _copy(tx: Transaction, template: dict[str, int], location: str, names: Sequence[str]) -> None:
    first = {
        key: max(FIRST_ID, int(tx.value(f"SELECT COALESCE(MAX({column}), 0) + 1 FROM {table}")))
        for key, table, column in (
            ("part", "PARTITIONS", "PART_ID"),
            ("sd", "SDS", "SD_ID"),
            ("serde", "SERDES", "SERDE_ID"),
        )
    }
    tx.execute(
        "CREATE TEMPORARY TABLE copies"
        " (part BIGINT PRIMARY KEY, sd BIGINT, serde BIGINT, name VARCHAR(767), location VARCHAR(4000))"
    )
    rows = [
        (first["part"] + at, first["sd"] + at, first["serde"] + at, name, f"{location}/{name}")
        for at, name in enumerate(names)
    ]
    tx.many("INSERT INTO copies (part, sd, serde, name, location) VALUES (%s, %s, %s, %s, %s)", rows)
    for into, values, source in _COPIES:
        condition = source % template
        table, _, where = condition.partition(" WHERE ")
        tx.execute(f"INSERT INTO {into} SELECT {values} FROM copies c JOIN {table} WHERE {where}")
    tx.many(
        "INSERT INTO PARTITION_KEY_VALS (PART_ID, PART_KEY_VAL, INTEGER_IDX) VALUES (%s, %s, %s)",
        [
            (first["part"] + at, value, index)
            for at, name in enumerate(names)
            for index, value in enumerate(_values(name))
        ],
    )
    tx.execute("DROP TEMPORARY TABLE copies")


def _values(name: str) -> list[str]:
    return [part.partition("=")[2] for part in name.split("/")]
