"""The three engines: each makes its tables and answers statements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb

from tests.answers import tables
from tests.answers.compare import Expected, Row, expected, row
from tests.answers.outcome import Refused
from tests.answers.statements import DUCKDB, HIVE, SPARK, kinds, names, text
from tests.warehouse import HiveError, HiveSession, SparkError, SparkSession

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.answers.statements import Query
    from tests.warehouse import Warehouse

# Seconds that an engine has for one statement, Spark's start included, and for one that it did not answer the first time.
TIMEOUT = 180
PATIENT = 900
ALL = ", ".join(f"{name} {of[0]}" for name, of in tables.TYPES.items())


class Reference:
    """DuckDB, in memory."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        # What is plainest is most trustworthy: DuckDB 1.1.3 itself merges equal keys of ROLLUP (x.k, y.k) when it optimizes.
        self.connection.execute("PRAGMA disable_optimizer")

    def make(self) -> None:
        """Make the tables of random statements."""
        for table in tables.TABLES:
            self.connection.execute(f"CREATE TABLE {table.name} ({tables.columns(table, duckdb=True)})")
            places = ", ".join("?" * len(table.columns))
            for one in tables.rows(table):
                values = list(one.values())
                if table.nested:
                    values = [_for_map(value) if name == "m" else value for name, value in one.items()]
                self.connection.execute(f"INSERT INTO {table.name} VALUES ({places})", values)
            for change in table.changes:
                if change != tables.COMPACT:
                    self.connection.execute(change.format(name=table.name))

    def expect(self, query: Query) -> Expected:
        """All rows without the LIMIT, and how they tie. Raises Refused."""
        try:
            found = self.connection.execute(text(query, DUCKDB, limited=False)).fetchall()
        except duckdb.Error as error:
            raise Refused(str(error)) from error
        of = kinds(query)
        rows = [row(one, of) for one in found]
        keys = None
        if query.order:
            at = [names(query).index(one.name) for one in query.order]
            keys = [tuple(one[position] for position in at) for one in rows]
        return expected(rows, keys, query.limit)


def _for_map(value: dict[str, int | None] | None) -> dict[str, list[Any]] | None:
    """DuckDB takes a map of Python for a struct unless it has this form."""
    return None if value is None else {"key": list(value), "value": list(value.values())}


class Hive:
    """One session of HiveServer2."""

    def __init__(
        self, server: tuple[str, int], database: str, settings: Mapping[str, str], timeout: float = TIMEOUT
    ) -> None:
        self._server = server
        self._timeout = timeout
        self._database = database
        self._given = dict(settings)
        self._set: dict[str, str] = {}
        self._default: dict[str, str] = {}
        self._session: HiveSession | None = None

    def run(self, sql: str, settings: Mapping[str, str] | None = None) -> list[Row]:
        """Rows of a statement with settings that hold for it alone. Raises Refused."""
        try:
            if self._session is None:
                self._session = HiveSession(*self._server, timeout=self._timeout)
                self._session.execute(f"USE {self._database}")
                self._set.clear()
            self._change({**self._given, **(settings or {})})
            return self._session.execute(sql)
        except HiveError as error:
            if error.lost:
                self._session = None
            raise Refused(str(error), lost=error.lost) from error

    def _change(self, wanted: Mapping[str, str]) -> None:
        assert self._session
        for name in {*self._set, *wanted}:
            if name not in self._default:
                (shown,) = self._session.execute(f"SET {name}")[:1]
                self._default[name] = str(shown[0]).partition("=")[2]
            value = wanted.get(name, self._default[name])
            if self._set.get(name, self._default[name]) != value:
                self._session.execute(f"SET {name}={value}")
            self._set[name] = value

    def answer(self, query: Query, settings: Mapping[str, str] | None = None) -> list[Row]:
        """The rows of a random statement. Raises Refused."""
        of = kinds(query)
        return [row(one, of) for one in self.run(text(query, HIVE), settings)]

    def close(self) -> None:
        """End the session."""
        if self._session:
            self._session.close()
            self._session = None


class Spark:
    """The session of PySpark on the client host."""

    def __init__(self, warehouse: Warehouse, database: str, timeout: float = TIMEOUT) -> None:
        self._session = SparkSession(warehouse.lab.one("client"), timeout=timeout)
        self._database = database
        self._ready = False

    def run(self, sql: str) -> list[Row]:
        """Rows of a statement. Raises Refused."""
        try:
            if not self._ready:
                self._session.sql(f"USE {self._database}")
                self._ready = True
            return self._session.sql(sql)
        except SparkError as error:
            self._ready = bool(error.kind)
            raise Refused(str(error), lost=not error.kind) from error

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def answer(self, query: Query) -> list[Row]:
        """The rows of a random statement. Raises Refused."""
        of = kinds(query)
        return [row(one, of) for one in self.run(text(query, SPARK))]


def is_made(warehouse: Warehouse, database: str, mark: str) -> bool:
    """Whether a database has the table that is made last."""
    return bool(
        warehouse.hive(f"SHOW DATABASES LIKE '{database}'")
        and warehouse.hive(f"SHOW TABLES IN {database} LIKE '{mark}'")
    )


def empty_directory(warehouse: Warehouse, database: str) -> str:
    """A directory for the external tables of a database, in which Hive and Spark make theirs."""
    root = f"/{database}"
    if warehouse.hdfs.exists(root):
        warehouse.hdfs.delete(root)
    warehouse.hdfs.mkdir(root)
    return root


def make_tables(warehouse: Warehouse, database: str, say: Callable[[str], None]) -> None:
    """Make the tables of random statements in Hive and Spark, unless an earlier run made the same."""
    mark = f"made_{tables.digest()}"
    if is_made(warehouse, database, mark):
        return
    say(f"making the tables of {database}")
    warehouse.drop_database(database)
    root = empty_directory(warehouse, database)
    warehouse.hive(f"CREATE DATABASE {database}")
    warehouse.hdfs.write(f"{root}/staging/rows.json", "\n".join(tables.json_lines()).encode())
    warehouse.hive(f"USE {database}")
    warehouse.hive(
        f"CREATE EXTERNAL TABLE staging ({ALL}, src STRING) ROW FORMAT SERDE"
        f" 'org.apache.hadoop.hive.serde2.JsonSerDe' STORED AS TEXTFILE LOCATION '{root}/staging'"
    )
    _make_with_hive(warehouse, root)
    _make_with_spark(warehouse, database, root)
    warehouse.hive(f"CREATE EXTERNAL TABLE {database}.{mark} (x INT) LOCATION '{root}/{mark}'")


def _make_with_hive(warehouse: Warehouse, root: str) -> None:
    mine = [table for table in tables.TABLES if table.writer == "hive"]
    inserts = []
    warehouse.hive("SET hive.exec.dynamic.partition.mode=nonstrict")
    for table in mine:
        by = " PARTITIONED BY (p INT)" if table.partitioned else ""
        external, location = ("", "") if table.acid else ("EXTERNAL ", f" LOCATION '{root}/{table.name}'")
        clauses, _, properties = table.clauses.partition(" TBLPROPERTIES")
        warehouse.hive(
            f"CREATE {external}TABLE {table.name} ({tables.columns(table, partitions=False)}){by} {clauses}{location}"
            + (f" TBLPROPERTIES{properties}" if properties else "")
        )
        into = f"{table.name}{' PARTITION (p)' if table.partitioned else ''}"
        inserts.append(f"INSERT INTO TABLE {into} SELECT {', '.join(table.columns)} WHERE src = '{table.name}'")
    warehouse.hive("FROM staging " + " ".join(inserts))
    for table in mine:
        for change in table.changes:
            warehouse.hive(change.format(name=table.name))


def _make_with_spark(warehouse: Warehouse, database: str, root: str) -> None:
    lines = [f"rows = spark.read.schema({ALL + ', src STRING'!r}).json({root + '/staging'!r})"]
    for table in tables.TABLES:
        if table.writer == "spark":
            by = ".partitionBy('p')" if table.partitioned else ""
            lines.append(
                f"rows.where(\"src = '{table.name}'\").select({', '.join(map(repr, table.columns))}).write"
                f".format({table.clauses!r}).option('path', {root + '/' + table.name!r}){by}"
                f".saveAsTable({database + '.' + table.name!r})"
            )
    warehouse.spark_session.python("\n".join(lines))
