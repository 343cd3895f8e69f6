"""The full ACID table that Hive makes of the flights, what is done to it, and what Hive exports of it for Spark.

The same steps on a data frame stand in reference.py.
"""

from __future__ import annotations

from .figures import Query
from .places import OWN, Places
from .source import COLUMNS

DATABASE = "nycflights_acid"
TABLE = f"{DATABASE}.flights"

_NAMES = [column.split()[0] for column in COLUMNS["flights"].split(", ")]
_SELECT = ", ".join(_NAMES)

# What the statements make.
TABLES = ("flights", "exported", "carriers")
CREATE = (
    # Only the compaction that the job asks for: the initiator's own would refuse it while it runs.
    f"CREATE TABLE {TABLE} ({COLUMNS['flights']}, status STRING) STORED AS ORC "
    "TBLPROPERTIES ('transactional' = 'true', 'NO_AUTO_COMPACTION' = 'true')",
    f"INSERT INTO {TABLE} SELECT {_SELECT}, 'loaded' FROM nycflights.flights WHERE month < 12",
)

STEPS = {
    "INSERT": f"INSERT INTO {TABLE} SELECT {_SELECT}, 'inserted' FROM nycflights.flights WHERE month = 12",
    "UPDATE": f"UPDATE {TABLE} SET dep_delay = 0, status = 'updated' WHERE dep_delay < 0",
    "DELETE": f"DELETE FROM {TABLE} WHERE dep_time IS NULL",
    "MERGE": f"""
        MERGE INTO {TABLE} t
        USING (SELECT {_SELECT} FROM nycflights.flights WHERE carrier = 'UA') s
        ON t.time_hour = s.time_hour AND t.carrier = s.carrier AND t.flight = s.flight
        WHEN MATCHED AND coalesce(s.arr_delay, 0) > 60 THEN DELETE
        WHEN MATCHED AND s.dep_delay < 0 THEN UPDATE SET dep_delay = s.dep_delay, status = 'merged'
        WHEN NOT MATCHED THEN INSERT VALUES ({", ".join(f"s.{name}" for name in _NAMES)}, 'added')
    """,
}
"""Each statement by its verb, in order: December comes in, an early departure counts as punctual, cancelled flights go;
then United's late arrivals go, its early departures are as they were, and its cancelled flights come back.

The coalesce matters: Hive gives a second WHEN MATCHED the negation of the first one's condition, so where that is null
(a diverted flight has no arrival delay) neither applies. Standard SQL would try the second.
"""


def by_status(name: str, table: str = TABLE) -> Query:
    """Flights, distinct planes and sums by what last touched the row."""
    return Query(
        groups=name,
        sql=f"""
            SELECT status, count(*), sum(dep_delay), sum(distance), count(DISTINCT tailnum)
            FROM {table} GROUP BY status
        """,
    )


COMPACT = f"ALTER TABLE {TABLE} COMPACT 'major'"
SHOW_COMPACTIONS = f"SHOW COMPACTIONS {TABLE}"

EXPORT = (
    # Without external.table.purge a dropped external table leaves its files, and the next run would read them too.
    f"CREATE EXTERNAL TABLE {DATABASE}.exported ({COLUMNS['flights']}, status STRING) STORED AS ORC "
    "TBLPROPERTIES ('external.table.purge' = 'true')",
    f"INSERT INTO {DATABASE}.exported SELECT * FROM {TABLE}",
    f"CREATE EXTERNAL TABLE {DATABASE}.carriers (carrier STRING, flights BIGINT, miles BIGINT, delay DOUBLE) "
    "PARTITIONED BY (month INT) STORED AS PARQUET TBLPROPERTIES ('external.table.purge' = 'true')",
    "SET hive.exec.dynamic.partition.mode = nonstrict",
    f"INSERT INTO {DATABASE}.carriers PARTITION (month) "
    f"SELECT carrier, count(*), sum(distance), avg(dep_delay), month FROM {TABLE} GROUP BY month, carrier",
)
"""External tables that Hive writes from the ACID table: what Spark can read."""

CARRIERS = Query(
    groups="carriers by month",
    sql=f"""
        SELECT month, count(*), sum(flights), sum(miles), max(delay)
        FROM {DATABASE}.carriers GROUP BY month
    """,
)

FAILED_STATES = frozenset({"failed", "refused", "aborted", "did not initiate", "not initiated"})


def compaction(rows: list[list[str]], places: Places = OWN) -> tuple[str, str]:
    """State and error message of the newest major compaction of the table, from SHOW COMPACTIONS.

    A row is: id, database, table, partition, type, state, .. in Hive 4.0.1. ("unknown", "") when none is listed.
    """
    table = places.sql(TABLE).split(".")
    mine = [row for row in rows if row[1:3] == table and len(row) > 12 and row[4].upper() == "MAJOR"]
    if not mine:
        return "unknown", ""
    newest = max(mine, key=lambda row: int(row[0]))
    return newest[5].strip().lower(), newest[12].strip(" -")
