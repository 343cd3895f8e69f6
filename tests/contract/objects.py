"""A database with one of everything that the metastore knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.contract.own_database import OwnDatabase

# Compacted when a test says so, never in between.
ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true', 'NO_AUTO_COMPACTION' = 'true')"

_STATEMENTS = (
    "CREATE TABLE {db}.customers (id INT COMMENT 'number', name STRING NOT NULL ENABLE, city STRING DEFAULT 'Kiruna',"
    " PRIMARY KEY (id) DISABLE NOVALIDATE RELY, UNIQUE (name) DISABLE NOVALIDATE) COMMENT 'who buys' " + ACID,
    "CREATE TABLE {db}.orders (id INT, customer INT, amount INT, CONSTRAINT bought_by FOREIGN KEY (customer)"
    " REFERENCES {db}.customers (id) DISABLE NOVALIDATE) PARTITIONED BY (day STRING) " + ACID,
    "CREATE EXTERNAL TABLE {db}.visits (page STRING, n INT) PARTITIONED BY (day STRING, hour INT) STORED AS PARQUET",
    "CREATE EXTERNAL TABLE {db}.skewed (a INT, b STRING) SKEWED BY (a) ON (1, 2) STORED AS DIRECTORIES STORED AS ORC",
    "CREATE EXTERNAL TABLE {db}.sorted (a INT, b STRING) CLUSTERED BY (a) SORTED BY (a ASC) INTO 2 BUCKETS STORED AS ORC",
    "INSERT INTO {db}.customers (id, name) VALUES (1, 'Ada'), (2, 'Grace')",
    "INSERT INTO {db}.orders VALUES (1, 1, 10, 'mon'), (2, 2, 20, 'mon'), (3, 1, 30, 'tue')",
    "INSERT INTO {db}.visits VALUES ('home', 5, 'mon', 1), ('shop', 7, 'mon', 2), ('home', 3, 'tue', 1)",
    "INSERT INTO {db}.sorted VALUES (1, 'x'), (2, 'y')",
    "UPDATE {db}.orders SET amount = 11 WHERE id = 1",
    "ANALYZE TABLE {db}.orders COMPUTE STATISTICS FOR COLUMNS",
    "ANALYZE TABLE {db}.visits COMPUTE STATISTICS FOR COLUMNS",
    "ANALYZE TABLE {db}.customers COMPUTE STATISTICS FOR COLUMNS",
    "GRANT SELECT ON TABLE {db}.orders TO USER bob",
    "CREATE FUNCTION {db}.shout AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFUpper'",
    "CREATE VIEW {db}.big AS SELECT * FROM {db}.orders WHERE amount > 15",
    "CREATE MATERIALIZED VIEW {db}.per_customer AS SELECT customer, SUM(amount) AS total FROM {db}.orders GROUP BY customer",
)
# What Hive's authorization of today does not write, but that of old metastores did.
_PRIVILEGES = (
    "INSERT INTO DB_PRIVS (DB_GRANT_ID, DB_ID, CREATE_TIME, GRANT_OPTION, PRINCIPAL_NAME, PRINCIPAL_TYPE, DB_PRIV)"
    " SELECT 900000000 + DB_ID, DB_ID, 1, 0, 'bob', 'USER', 'Select' FROM DBS WHERE NAME = %s",
    "INSERT INTO TBL_COL_PRIVS (TBL_COLUMN_GRANT_ID, COLUMN_NAME, TBL_ID, CREATE_TIME, GRANT_OPTION, PRINCIPAL_NAME,"
    " PRINCIPAL_TYPE, TBL_COL_PRIV)"
    " SELECT 900000000 + TBL_ID, 'id', TBL_ID, 1, 0, 'bob', 'USER', 'Select' FROM TBLS JOIN DBS USING (DB_ID)"
    " WHERE DBS.NAME = %s AND TBL_NAME IN ('orders', 'customers')",
    "INSERT INTO PART_PRIVS (PART_GRANT_ID, PART_ID, CREATE_TIME, GRANT_OPTION, PRINCIPAL_NAME, PRINCIPAL_TYPE, PART_PRIV)"
    " SELECT 900000000 + PART_ID, PART_ID, 1, 0, 'bob', 'USER', 'Select' FROM PARTITIONS JOIN TBLS USING (TBL_ID)"
    " JOIN DBS USING (DB_ID) WHERE DBS.NAME = %s",
    "INSERT INTO PART_COL_PRIVS (PART_COLUMN_GRANT_ID, COLUMN_NAME, PART_ID, CREATE_TIME, GRANT_OPTION, PRINCIPAL_NAME,"
    " PRINCIPAL_TYPE, PART_COL_PRIV)"
    " SELECT 900000000 + PART_ID, 'id', PART_ID, 1, 0, 'bob', 'USER', 'Select' FROM PARTITIONS JOIN TBLS USING (TBL_ID)"
    " JOIN DBS USING (DB_ID) WHERE DBS.NAME = %s",
)
TABLES = ["big", "customers", "orders", "per_customer", "skewed", "sorted", "visits"]
# Of them, those that lie in the database's directory for managed tables.
MANAGED = ["customers", "orders", "per_customer"]
# Tables of the metastore that must have rows of it: or else something would be proved of nothing.
COVERED = {
    "BUCKETING_COLS", "CDS", "COLUMNS_V2", "DATABASE_PARAMS", "DB_PRIVS", "DBS", "FUNCS", "KEY_CONSTRAINTS",
    "MV_CREATION_METADATA", "MV_TABLES_USED", "NEXT_WRITE_ID", "PARTITION_KEY_VALS", "PARTITION_KEYS", "PARTITION_PARAMS",
    "PARTITIONS", "PART_COL_PRIVS", "PART_COL_STATS", "PART_PRIVS", "SDS", "SERDE_PARAMS", "SERDES", "SKEWED_COL_NAMES",
    "SKEWED_STRING_LIST", "SKEWED_STRING_LIST_VALUES", "SKEWED_VALUES", "SORT_COLS", "TABLE_PARAMS", "TAB_COL_STATS",
    "TBL_COL_PRIVS", "TBL_PRIVS", "TBLS",
}  # fmt: skip


def fill(db: OwnDatabase) -> None:
    """Make one of everything in an empty database."""
    db.hive("ALTER DATABASE {db} SET DBPROPERTIES ('owned by' = 'a test')", *_STATEMENTS)
    for statement in _PRIVILEGES:
        db.warehouse.metastore_sql(statement, (db.name,))
