"""TPC-DS: the tables of DuckDB's generator as Parquet that Hive and Spark read, and its 99 queries in each dialect."""

from __future__ import annotations

import re
import tempfile
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import sqlglot
from sqlglot import expressions as exp
from sqlglot.dialects.hive import Hive as HiveDialect

from tests.answers.compare import Expected, Row, expected, value
from tests.answers.engines import PATIENT, Hive, Spark, empty_directory, is_made
from tests.answers.outcome import Outcome, Tally, ask, ask_again, askers, judge, one_line
from tests.answers.statements import HIVE, SPARK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.answers.statements import Dialect, Kind
    from tests.warehouse import Warehouse

SCALE = 0.1
# Raised when the way in which the tables are made changes.
VERSION = 1
# The table that is made last.
_MARK = f"made_{VERSION}_{str(SCALE).replace('.', '_')}"
# Those with the most vertices, and one of each kind of statement: for a short run.
SHORT = (4, 14, 23, 64, 5, 80, 2, 11, 74, 75, 78, 31, 33, 66, 95, 9, 28, 70, 86, 39)


class Hive4(HiveDialect):  # type: ignore[misc]
    """Hive's dialect with the order of NULLs that Hive 4 has by default: last, and first with DESC."""

    NULL_ORDERING = "nulls_are_large"


@dataclass(frozen=True)
class Answer:
    """What a query must answer, and the types of its columns."""

    wanted: Expected
    kinds: tuple[Kind, ...]


class Reference:
    """DuckDB with the tables of a scale."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        # DuckDB 1.1.3 merges equal keys of ROLLUP (x.k, y.k) with it, and answers wrongly.
        self.connection.execute("SET disabled_optimizers = 'duplicate_groups'")
        self.connection.execute(f"LOAD tpcds; CALL dsdgen(sf={SCALE})")
        found = self.connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall()
        self.queries = {int(number): str(query).strip().rstrip(";") for number, query in found}

    def tables(self) -> dict[str, dict[str, str]]:
        """Columns and their types, by table."""
        names = [str(name) for (name,) in self.connection.execute("SHOW TABLES").fetchall()]
        return {
            name: {str(row[0]): str(row[1]) for row in self.connection.execute(f"DESCRIBE {name}").fetchall()}
            for name in names
        }

    def expect(self, number: int) -> Answer:
        """All rows of a query without its LIMIT, by the keys of its ORDER BY."""
        sql, keyed, limit = unlimited(self.queries[number])
        cursor = self.connection.execute(sql)
        shown = len(cursor.description or []) - keyed
        kinds = tuple(_kind(str(one[1])) for one in (cursor.description or [])[:shown])
        rows, keys = [], []
        for one in cursor.fetchall():
            rows.append(tuple(_canonical(each, kind) for each, kind in zip(one[:shown], kinds, strict=True)))
            keys.append(tuple(str(each) if isinstance(each, date) else each for each in one[shown:]))
        return Answer(expected(rows, keys if keyed else None, limit), kinds)


def unlimited(sql: str) -> tuple[str, int, int | None]:
    """A query without its LIMIT and with the keys of its order as further columns.

    Also how many keys there are, and its limit.
    """
    tree = sqlglot.parse_one(sql, read="duckdb")
    limit = tree.args.get("limit")
    tree.set("limit", None)
    order = tree.args.get("order")
    body = tree.find(exp.Select) if not isinstance(tree, exp.Select) else tree
    assert body is not None
    keys = []
    if order is not None:
        keys = [one.this for one in order.expressions]
        if isinstance(tree, exp.Select) and not tree.args.get("distinct"):
            # A number or a column's new name is that column: the text of the key is asked beside it.
            aliases = {one.alias_or_name.lower(): one.unalias() for one in tree.expressions if one.alias_or_name}
            if tree.is_star:
                # The position of a column behind a star is not known here: rows count as tied by the other keys.
                keys = [key for key in keys if not isinstance(key, exp.Literal)]
            for at, key in enumerate(keys):
                if isinstance(key, exp.Literal) and key.is_int:
                    of = tree.expressions[int(key.name) - 1].unalias()
                elif isinstance(key, exp.Column) and not key.table and key.name.lower() in aliases:
                    of = aliases[key.name.lower()]
                else:
                    of = key.copy().transform(
                        lambda one: (
                            aliases[one.name.lower()].copy()
                            if isinstance(one, exp.Column) and not one.table and one.name.lower() in aliases
                            else one
                        )
                    )
                tree.append("expressions", exp.alias_(of.copy(), f"key_{at}"))
            return tree.sql("duckdb"), len(keys), _number(limit)
        inner = tree.sql("duckdb")
        names = ", ".join(_position(key, body) for key in keys)
        return f"SELECT *, {names} FROM ({inner})", len(keys), _number(limit)
    return tree.sql("duckdb"), 0, _number(limit)


def _position(key: exp.Expression, body: exp.Select) -> str:
    if isinstance(key, exp.Literal) and key.is_int:
        return str(body.expressions[int(key.name) - 1].alias_or_name)
    return str(key.sql("duckdb"))


def _number(limit: exp.Expression | None) -> int | None:
    return int(limit.expression.name) if limit is not None else None


def translated(sql: str, dialect: Dialect) -> str:
    """A query of DuckDB's in another dialect."""
    tree = sqlglot.parse_one(sql, read="duckdb")
    if dialect != HIVE:
        return str(tree.sql(dialect))
    for select in tree.find_all(exp.Select):
        _name_groupings(select)
    # One key is what a GROUPING of Hive names.
    return re.sub(r"\bGROUPING\((\w+), (\w+)\)", r"(GROUPING(\1) * 2 + GROUPING(\2))", str(tree.sql(Hive4)))


def _name_groupings(select: exp.Select) -> None:
    """Hive has no GROUPING in ORDER BY: the columns that have it are named there."""
    order = select.args.get("order")
    if order is None or not order.find(exp.Grouping):
        return
    named = {one.this: one.alias for one in select.expressions if isinstance(one, exp.Alias)}
    for key in order.expressions:
        for part in list(key.find_all(*{type(one) for one in named})):
            if part in named and part.parent is not None:
                part.replace(exp.column(named[part]))


def _kind(described: str) -> Kind:
    """By what DuckDB's cursor says of a column: it tells no decimals from doubles, the values do."""
    kinds: dict[str, Kind] = {"STRING": "string", "DATE": "date", "BOOLEAN": "boolean", "BOOL": "boolean"}
    return kinds.get(described.upper(), "double")


def _canonical(each: Any, kind: Kind) -> Any:
    """A value of any engine by the type that DuckDB has for it. A decimal stays one where DuckDB has a double."""
    if each is None:
        return None
    if kind in ("decimal", "double"):
        return each if isinstance(each, float) else Decimal(str(each))
    return value(each, kind)


def write_files(warehouse: Warehouse, database: str, reference: Reference, say: Callable[[str], None]) -> None:
    """Write the tables as Parquet files, unless an earlier run made them. `make_tables` describes them to the metastore."""
    if is_made(warehouse, database, _MARK):
        return
    say(f"making the tables of {database}")
    warehouse.drop_database(database)
    root = empty_directory(warehouse, database)
    with tempfile.TemporaryDirectory() as directory:
        for name in reference.tables():
            path = Path(directory) / f"{name}.parquet"
            reference.connection.execute(f"COPY {name} TO '{path}' (FORMAT parquet)")
            warehouse.hdfs.mkdir(f"{root}/{name}")
            warehouse.hdfs.write(f"{root}/{name}/{name}.parquet", path.read_bytes())


def make_tables(warehouse: Warehouse, server: tuple[str, int], database: str, reference: Reference) -> None:
    """Make tables of the files of `write_files`, with statistics, unless an earlier run did."""
    if is_made(warehouse, database, _MARK):
        return
    root = f"/{database}"
    warehouse.hive(f"CREATE DATABASE {database}")
    with closing(Hive(server, database, {}, PATIENT)) as hive:
        for name, columns in reference.tables().items():
            listed = ", ".join(f"`{column}` {_hive_type(kind)}" for column, kind in columns.items())
            hive.run(f"CREATE EXTERNAL TABLE {database}.{name} ({listed}) STORED AS PARQUET LOCATION '{root}/{name}'")
            hive.run(f"ANALYZE TABLE {database}.{name} COMPUTE STATISTICS FOR COLUMNS")
    warehouse.hive(f"CREATE EXTERNAL TABLE {database}.{_MARK} (x INT) LOCATION '{root}/{_MARK}'")


def _hive_type(duckdb_type: str) -> str:
    return {"INTEGER": "INT", "VARCHAR": "STRING"}.get(duckdb_type, duckdb_type)


class Run:
    """Queries on both engines."""

    def __init__(
        self,
        warehouse: Warehouse,
        server: tuple[str, int],
        database: str,
        reference: Reference,
        settings: Mapping[str, str],
        say: Callable[[str], None] = print,
    ) -> None:
        self.tallies: dict[Dialect, Tally] = {HIVE: Tally(), SPARK: Tally()}
        self.different: list[int] = []
        self._say = say
        self._reference = reference
        self._hive = Hive(server, database, settings)
        self._spark = Spark(warehouse, database)
        self._patient_hive = Hive(server, database, settings, PATIENT)
        self._patient_spark = Spark(warehouse, database, PATIENT)

    def do(self, numbers: Sequence[int]) -> None:
        """Ask both at the same time, one query after the other, and say what differs."""
        with askers(1) as hive, askers(1) as spark:
            asked = [
                (
                    number,
                    {
                        HIVE: hive.submit(self._ask, number, HIVE, self._hive.run),
                        SPARK: spark.submit(self._ask, number, SPARK, self._spark.run),
                    },
                )
                for number in numbers
            ]
            failed = []
            for number, futures in asked:
                outcomes = {engine: future.result() for engine, future in futures.items()}
                if any(outcome.failed for outcome in outcomes.values()):
                    failed.append((number, outcomes))
                else:
                    self._compare(number, outcomes)
        self._spark.close()
        for number, outcomes in failed:
            patient: dict[Dialect, Callable[[], list[Row]]] = {
                HIVE: lambda number=number: self._patient_hive.run(self._text(number, HIVE)),  # type: ignore[misc]
                SPARK: lambda number=number: self._patient_spark.run(self._text(number, SPARK)),  # type: ignore[misc]
            }
            self._compare(number, ask_again(outcomes, patient, self.tallies, f"query {number}", self._say))

    def _compare(self, number: int, outcomes: Mapping[Dialect, Outcome]) -> None:
        answer = self._reference.expect(number)
        wrong = {}
        for engine, outcome in outcomes.items():
            if outcome.refused:
                self._say(f"query {number}: {engine} refused: {one_line(outcome.refused)}")
            rows = [
                tuple(map(_canonical, one, answer.kinds)) if len(one) == len(answer.kinds) else one
                for one in outcome.rows
            ]
            judged = Outcome(rows, outcome.refused, outcome.seconds)
            if found := judge(self.tallies[engine], answer.wanted, judged):
                wrong[engine] = found
        times = ", ".join(f"{engine} {outcome.seconds:.1f} s" for engine, outcome in outcomes.items())
        self._say(f"query {number}: {len(answer.wanted.rows)} rows; {times}")
        if wrong:
            self._report(number, wrong)

    @property
    def numbers(self) -> tuple[int, ...]:
        """All queries."""
        return tuple(self._reference.queries)

    def close(self) -> None:
        """End the sessions."""
        for hive in (self._hive, self._patient_hive):
            hive.close()
        for spark in (self._spark, self._patient_spark):
            spark.close()

    def _text(self, number: int, dialect: Dialect) -> str:
        return translated(self._reference.queries[number], dialect)

    def _ask(self, number: int, dialect: Dialect, run: Callable[[str], list[Row]]) -> Outcome:
        return ask(lambda: run(self._text(number, dialect)))

    def _report(self, number: int, wrong: dict[Dialect, str]) -> None:
        self.different.append(number)
        for engine, found in wrong.items():
            self._say(f"DIFFERENT: query {number} of TPC-DS: {engine}: {found[:1500]}")
        self._say(f'  again: make answers ARGS="--only tpcds --query {number}"')
