"""Typed SELECT statements as a tree, and their text in the dialects of the three engines.

The tree holds what means the same in all engines. A difference of dialects is a difference of templates, never of trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Dialect = Literal["duckdb", "hive", "spark"]
DUCKDB: Dialect = "duckdb"
HIVE: Dialect = "hive"
SPARK: Dialect = "spark"
Kind = Literal["int", "decimal", "double", "string", "date", "boolean", "array", "map", "struct"]

# Where values from both sides of a set operation or of a subquery meet, each has one SQL type.
CAST: dict[Kind, str] = {
    "int": "BIGINT",
    "decimal": "DECIMAL(18,4)",
    "double": "DOUBLE",
    "string": "STRING",
    "date": "DATE",
    "boolean": "BOOLEAN",
}
NULLS: dict[Kind, str] = {**CAST, "int": "INT", "decimal": "DECIMAL(10,2)"}

# Text by operator; several texts where the dialects differ. {0}, {1} .. are the arguments.
TEMPLATES: dict[str, str | dict[Dialect, str]] = {
    "+": "({0} + {1})",
    "-": "({0} - {1})",
    "*": "({0} * {1})",
    # A division by zero is NULL in Hive.
    "divide": {
        DUCKDB: "CASE WHEN {1} <> 0 THEN CAST({0} AS DOUBLE) / CAST({1} AS DOUBLE) END",
        HIVE: "(CAST({0} AS DOUBLE) / CAST({1} AS DOUBLE))",
        SPARK: "CASE WHEN {1} <> 0 THEN CAST({0} AS DOUBLE) / CAST({1} AS DOUBLE) END",
    },
    "modulo two": "({0} % 2)",
    "times long": "({0} * CAST({1} AS DECIMAL(20,0)))",
    "times choice": "({0} * CASE WHEN {1} THEN 1.50 ELSE 0.25 END)",
    "modulo": "({0} % NULLIF({1}, 0))",
    "=": "({0} = {1})",
    "<>": "({0} <> {1})",
    "<": "({0} < {1})",
    "<=": "({0} <= {1})",
    ">": "({0} > {1})",
    ">=": "({0} >= {1})",
    "same": {DUCKDB: "({0} IS NOT DISTINCT FROM {1})", HIVE: "({0} <=> {1})", SPARK: "({0} <=> {1})"},
    "between": "({0} BETWEEN {1} AND {2})",
    "and": "({0} AND {1})",
    "or": "({0} OR {1})",
    "not": "(NOT {0})",
    "is null": "({0} IS NULL)",
    "is not null": "({0} IS NOT NULL)",
    "is true": "({0} IS TRUE)",
    "is not true": "({0} IS NOT TRUE)",
    "is false": "({0} IS FALSE)",
    "is not false": "({0} IS NOT FALSE)",
    "like": "({0} LIKE {1})",
    "like escaped": {
        DUCKDB: "({0} LIKE '%\\_%' ESCAPE '\\')",
        HIVE: "({0} LIKE '%\\\\_%')",
        SPARK: "({0} LIKE '%\\\\_%')",
    },
    # Spark's LIKE has the defect that is looked for (SPARK-55453).
    "like wide": {DUCKDB: "({0} LIKE '😀_')", HIVE: "({0} LIKE '😀_')", SPARK: "({0} RLIKE '^😀.$')"},
    "concat": "({0} || {1})",
    "length": "length({0})",
    "upper": "upper({0})",
    "lower": "lower({0})",
    "trim": "trim({0})",
    "trim of": {DUCKDB: "trim({0}, {1})", HIVE: "trim({0}, {1})", SPARK: "trim(BOTH {1} FROM {0})"},
    "substr": "substr({0}, {1}, {2})",
    "instr": "instr({0}, {1})",
    "lpad": "lpad({0}, {1}, {2})",
    "rpad": "rpad({0}, {1}, {2})",
    "coalesce": "COALESCE({0}, {1})",
    "nullif": "NULLIF({0}, {1})",
    "if": "CASE WHEN {0} THEN {1} ELSE {2} END",
    "if only": "CASE WHEN {0} THEN {1} END",
    "case": "CASE {0} WHEN {1} THEN {2} ELSE {3} END",
    "abs": "abs({0})",
    "int to string": "CAST({0} AS STRING)",
    "date to string": "CAST({0} AS STRING)",
    "int to decimal": "CAST({0} AS DECIMAL(10,2))",
    "int to double": "CAST({0} AS DOUBLE)",
    "decimal to double": "CAST({0} AS DOUBLE)",
    "year": "year({0})",
    "month": "month({0})",
    "day": "day({0})",
    "day of week": {DUCKDB: "(dayofweek({0}) + 1)", HIVE: "dayofweek({0})", SPARK: "dayofweek({0})"},
    # Hive's is a text.
    "last day": {DUCKDB: "last_day({0})", HIVE: "CAST(last_day({0}) AS DATE)", SPARK: "last_day({0})"},
    "add days": {DUCKDB: "({0} + CAST({1} AS INT))", HIVE: "date_add({0}, {1})", SPARK: "date_add({0}, {1})"},
    "days between": {
        DUCKDB: "date_diff('day', {1}, {0})",
        HIVE: "datediff({0}, {1})",
        SPARK: "datediff({0}, {1})",
    },
    # Hive's size(NULL) is -1.
    "size": {
        DUCKDB: "len({0})",
        HIVE: "CASE WHEN {0} IS NULL THEN CAST(NULL AS INT) ELSE size({0}) END",
        SPARK: "CASE WHEN {0} IS NULL THEN CAST(NULL AS INT) ELSE size({0}) END",
    },
    "entries": {
        DUCKDB: "CAST(CASE WHEN {0} IS NULL THEN NULL ELSE cardinality({0}) END AS BIGINT)",
        HIVE: "CASE WHEN {0} IS NULL THEN CAST(NULL AS INT) ELSE size({0}) END",
        SPARK: "CASE WHEN {0} IS NULL THEN CAST(NULL AS INT) ELSE size({0}) END",
    },
    # DuckDB counts from 1; Spark fails outside of the array unless `get` asks.
    "element": {DUCKDB: "{0}[1 + {1}]", HIVE: "{0}[{1}]", SPARK: "get({0}, {1})"},
    # Spark answers NULL where the array has a NULL; Hive answers false for a NULL array.
    "contains": {
        DUCKDB: "CASE WHEN {0} IS NULL THEN NULL ELSE list_contains({0}, {1}) END",
        HIVE: "CASE WHEN {0} IS NULL THEN CAST(NULL AS BOOLEAN) ELSE array_contains({0}, {1}) END",
        SPARK: "CASE WHEN {0} IS NULL THEN NULL ELSE COALESCE(array_contains({0}, {1}), FALSE) END",
    },
    "value": {DUCKDB: "map_extract({0}, {1})[1]", HIVE: "{0}[{1}]", SPARK: "{0}[{1}]"},
    "field x": {DUCKDB: "({0}).x", HIVE: "{0}.x", SPARK: "{0}.x"},
    "field y": {DUCKDB: "({0}).y", HIVE: "{0}.y", SPARK: "{0}.y"},
    "count *": "COUNT(*)",
    "count": "COUNT({0})",
    "count distinct": "COUNT(DISTINCT {0})",
    "sum": "SUM({0})",
    "sum distinct": "SUM(DISTINCT {0})",
    "min": "MIN({0})",
    "max": "MAX({0})",
    "average": "AVG(CAST({0} AS DOUBLE))",
    "grouping": "GROUPING({0})",
    "row_number": "ROW_NUMBER()",
    "rank": "RANK()",
    "dense_rank": "DENSE_RANK()",
    "lag": "LAG({0})",
    "lead": "LEAD({0})",
    "first_value": "FIRST_VALUE({0})",
    "last_value": "LAST_VALUE({0})",
}
AGGREGATES = frozenset(("count *", "count", "count distinct", "sum", "sum distinct", "min", "max", "average"))


@dataclass(frozen=True)
class Key:
    """A key of a sort order inside of a window."""

    of: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Window:
    """What an aggregate or a ranking function is computed over. `frame` is SQL, or empty for the default."""

    partition: tuple[Expr, ...]
    order: tuple[Key, ...]
    frame: str = ""


@dataclass(frozen=True)
class Expr:
    """An expression: `op` is a template, or `column`, `literal`, `null`, `cast`, `in`, `exists`, `in query`, `scalar`."""

    kind: Kind
    op: str
    args: tuple[Expr, ...] = ()
    text: str = ""
    query: Query | None = None
    window: Window | None = None


@dataclass(frozen=True)
class Column:
    """A column of a result."""

    of: Expr
    name: str


@dataclass(frozen=True)
class Group:
    """GROUP BY. `sets` are positions of keys, for `how` = sets."""

    keys: tuple[Expr, ...]
    how: Literal["plain", "rollup", "cube", "sets"] = "plain"
    sets: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Order:
    """A key of ORDER BY: the name of a column of the result."""

    name: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Table:
    """A table under another name."""

    name: str
    alias: str


@dataclass(frozen=True)
class Derived:
    """A subquery in FROM."""

    query: Query
    alias: str


@dataclass(frozen=True)
class Join:
    """`how` is INNER, LEFT, RIGHT, FULL or CROSS."""

    how: str
    left: Source
    right: Source
    on: Expr | None = None


@dataclass(frozen=True)
class Explode:
    """A row for each element `alias`.v of an array of `source`; with `outer` one row with NULL for an array without any."""

    source: Source
    array: Expr
    alias: str
    outer: bool


Source = Table | Derived | Join | Explode


@dataclass(frozen=True)
class Select:
    """One SELECT."""

    columns: tuple[Column, ...]
    source: Source
    where: Expr | None = None
    group: Group | None = None
    having: Expr | None = None
    distinct: bool = False
    order: tuple[Order, ...] = ()
    limit: int | None = None


@dataclass(frozen=True)
class SetOperation:
    """`how` is UNION, UNION ALL, INTERSECT, EXCEPT ...; the columns are named by the left side."""

    how: str
    left: Query
    right: Query
    order: tuple[Order, ...] = ()
    limit: int | None = None


Query = Select | SetOperation


def names(query: Query) -> tuple[str, ...]:
    """The columns of a result."""
    return names(query.left) if isinstance(query, SetOperation) else tuple(one.name for one in query.columns)


def kinds(query: Query) -> tuple[Kind, ...]:
    """Their types."""
    return kinds(query.left) if isinstance(query, SetOperation) else tuple(one.of.kind for one in query.columns)


def text(query: Query, dialect: Dialect, *, limited: bool = True) -> str:
    """The statement; without its LIMIT if not `limited`."""
    if isinstance(query, SetOperation):
        left, right = (_derived(side, dialect) for side in (query.left, query.right))
        sql = f"SELECT * FROM {left} u0 {query.how} SELECT * FROM {right} u1"
        if query.order or query.limit is not None:
            sql = f"SELECT * FROM ({sql}) u2"
    else:
        sql = _select(query, dialect)
    if query.order:
        sql += " ORDER BY " + ", ".join(f"{one.name}{_direction(one, dialect)}" for one in query.order)
    if query.limit is not None and limited:
        sql += f" LIMIT {query.limit}"
    return sql


def _direction(key: Order | Key, dialect: Dialect) -> str:
    del dialect
    return f"{' DESC' if key.descending else ''} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def _derived(query: Query, dialect: Dialect) -> str:
    return f"({text(query, dialect)})"


def _select(query: Select, dialect: Dialect) -> str:
    columns = ", ".join(f"{expression(one.of, dialect)} AS {one.name}" for one in query.columns)
    sql = f"SELECT {'DISTINCT ' if query.distinct else ''}{columns} FROM {_source(query.source, dialect)}"
    if query.where is not None:
        sql += f" WHERE {expression(query.where, dialect)}"
    if query.group is not None:
        sql += f" GROUP BY {_group(query.group, dialect)}"
    if query.having is not None:
        sql += f" HAVING {expression(query.having, dialect)}"
    return sql


def _group(group: Group, dialect: Dialect) -> str:
    keys = [expression(one, dialect) for one in group.keys]
    listed = ", ".join(keys)
    if group.how in ("rollup", "cube"):
        return f"{group.how.upper()} ({listed})"
    if group.how == "sets":
        sets = ", ".join(f"({', '.join(keys[at] for at in one)})" for one in group.sets)
        return f"GROUPING SETS ({sets})" if dialect == DUCKDB else f"{listed} GROUPING SETS ({sets})"
    return listed


def _source(source: Source, dialect: Dialect) -> str:
    if isinstance(source, Table):
        return f"{source.name} {source.alias}"
    if isinstance(source, Derived):
        return f"{_derived(source.query, dialect)} {source.alias}"
    if isinstance(source, Explode):
        inner, array, alias = _source(source.source, dialect), expression(source.array, dialect), source.alias
        if dialect != DUCKDB:
            return f"{inner} LATERAL VIEW {'OUTER ' if source.outer else ''}explode({array}) {alias} AS v"
        if source.outer:
            return f"{inner} LEFT JOIN LATERAL (SELECT UNNEST({array}) AS v) {alias} ON TRUE"
        return f"{inner} CROSS JOIN LATERAL (SELECT UNNEST({array}) AS v) {alias}"
    right = _source(source.right, dialect)
    if isinstance(source.right, Join):
        right = f"({right})"
    on = "" if source.on is None else f" ON {expression(source.on, dialect)}"
    return f"{_source(source.left, dialect)} {source.how} JOIN {right}{on}"


def expression(one: Expr, dialect: Dialect) -> str:
    """An expression's text."""
    sql = _bare(one, dialect)
    if one.window is None:
        return sql
    parts = []
    if one.window.partition:
        parts.append("PARTITION BY " + ", ".join(expression(key, dialect) for key in one.window.partition))
    if one.window.order:
        keys = (f"{expression(key.of, dialect)}{_direction(key, dialect)}" for key in one.window.order)
        parts.append("ORDER BY " + ", ".join(keys))
    if one.window.frame:
        parts.append(one.window.frame)
    return f"{sql} OVER ({' '.join(parts)})"


def _bare(one: Expr, dialect: Dialect) -> str:
    args = [expression(arg, dialect) for arg in one.args]
    if one.op == "column":
        return one.text
    if one.op == "null":
        return f"CAST(NULL AS {NULLS[one.kind]})"
    if one.op == "cast":
        return f"CAST({args[0]} AS {CAST[one.kind]})"
    if one.op == "literal":
        return _literal(one, dialect)
    if one.op in ("in", "not in"):
        return f"({args[0]} {one.op.upper()} ({', '.join(args[1:])}))"
    if one.query is not None:
        inner = _derived(one.query, dialect)
        if one.op == "scalar":
            return inner
        return f"({' '.join([*args, one.op.removesuffix(' query').upper()])} {inner})"
    template = TEMPLATES[one.op]
    return (template if isinstance(template, str) else template[dialect]).format(*args)


def _literal(one: Expr, dialect: Dialect) -> str:
    if one.kind == "string":
        quote = "''" if dialect == DUCKDB else "\\'"
        return "'" + one.text.replace("'", quote) + "'"
    if one.kind == "date":
        return f"DATE '{one.text}'"
    if one.kind == "decimal":
        return f"CAST({one.text} AS DECIMAL(10,2))"
    if one.kind == "double":
        return f"CAST({one.text} AS DOUBLE)"
    return f"({one.text})" if one.text.startswith("-") else one.text
