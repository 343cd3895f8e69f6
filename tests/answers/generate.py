"""Random statements whose meaning is the same in all engines; docs/development.md lists what is avoided or translated.

A statement depends on its seed and its number alone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from tests.answers.statements import (
    Column,
    Derived,
    Explode,
    Expr,
    Group,
    Join,
    Key,
    Order,
    Select,
    SetOperation,
    Table,
    Window,
    kinds,
    names,
)
from tests.answers.tables import COLUMNS, ROWS, TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.answers.statements import Kind, Query, Source
    from tests.answers.tables import TableOf

SCALARS: tuple[Kind, ...] = ("int", "decimal", "double", "string", "date", "boolean")
NESTED: tuple[Kind, ...] = ("array", "map", "struct")
# What can be left out of all statements, to look past a defect that is known.
FEATURES = frozenset(
    ("grouping", "windows", "subqueries", "sets", "nested", "explode", "derived", "outer", "acid", "limit", "distinct")
)
_LITERALS: dict[Kind, tuple[str, ...]] = {
    "int": ("0", "1", "2", "3", "-7", "12"),
    "decimal": ("0.00", "1.50", "-2.25", "100.00"),
    "double": ("0.25", "1.5", "-3.75"),
    "string": ("", "a", "b", "Zürich", "日本", "it's", "b ", "😀a"),
    "date": ("1970-01-01", "2020-02-29", "2024-01-31", "1900-03-01"),
    "boolean": ("TRUE", "FALSE"),
}
_PATTERNS = ("a%", "%b%", "_", "%", "Z%ch", "__", "%本")
_LETTERS = ("a", " b", "本", "😀", "😁")
# Name, values and their weights; the first value is the product's.
_SETTINGS: tuple[tuple[str, tuple[str, str], float], ...] = (
    ("hive.vectorized.execution.enabled", ("true", "false"), 0.35),
    ("hive.auto.convert.join", ("true", "false"), 0.3),
    ("hive.fetch.task.conversion", ("more", "none"), 0.5),
    ("hive.map.aggr", ("true", "false"), 0.15),
    ("hive.optimize.shared.work", ("true", "false"), 0.1),
    ("hive.optimize.ppd", ("true", "false"), 0.1),
)


@dataclass(frozen=True)
class Statement:
    """A statement, what it is run with, and whether Spark can read its tables."""

    number: int
    query: Query
    settings: dict[str, str]
    spark: bool


@dataclass
class _Scope:
    """The columns of a FROM. `unique` are columns that together differ in each row, none if that is not known."""

    source: Source
    columns: list[Expr]
    unique: tuple[Expr, ...] = ()

    def of(self, kind: Kind) -> list[Expr]:
        return [one for one in self.columns if one.kind == kind]


def statement(seed: int, number: int, without: frozenset[str] = frozenset()) -> Statement:
    """One statement. The same arguments give the same one."""
    rng = random.Random(f"{seed}/{number}")  # noqa: S311 - no secret
    settings = {name: other for name, (_, other), share in _SETTINGS if rng.random() < share}
    spark = "acid" in without or rng.random() < 0.7
    maker = _Maker(rng, FEATURES - without, [one for one in TABLES if not (spark and one.acid)], spark)
    query = maker.statement()
    if maker.intersections:
        # Hive plans them with CBO only, and LATERAL VIEW OUTER without.
        query = _with_inner_views(query)
    if maker.subtotals:
        # Hive refuses subtotals without it.
        settings.pop("hive.map.aggr", None)
    return Statement(number, query, settings, spark)


@dataclass
class _Maker:
    rng: random.Random
    features: frozenset[str]
    tables: Sequence[TableOf]
    spark: bool
    aliases: int = 0
    # Tables that a statement may join yet: a product of all rows stays small.
    room: int = field(default=5)
    # Whether a long table is among them, the only one then.
    long: bool = False
    subtotals: bool = False
    intersections: bool = False

    def statement(self) -> Query:
        query = self._query(depth=2)
        if self._with("limit", 0.5):
            order = self._order(query)
            limit = self.rng.choice((0, 1, 2, 3, 5, 10, 100)) if order and self.rng.random() < 0.75 else None
            query = _ordered(query, order, limit)
        return query

    def _with(self, feature: str, share: float) -> bool:
        return self.rng.random() < share and feature in self.features

    def _alias(self) -> str:
        self.aliases += 1
        return f"t{self.aliases}"

    # --- queries ---------------------------------------------------------------------------------------------------

    def _query(self, depth: int, wanted: tuple[Kind, ...] = ()) -> Query:
        if depth > 0 and self._with("sets", 0.15):
            wanted = wanted or tuple(self.rng.choice(SCALARS) for _ in range(self.rng.randint(1, 3)))
            hows = ("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
            how = self.rng.choices(hows, (4, 4, 2, 2, 1, 1))[0]
            self.intersections |= not how.startswith("UNION")
            return SetOperation(how, _casted(self._query(depth - 1, wanted)), _casted(self._query(depth - 1, wanted)))
        scope = self._scope(depth)
        if self.rng.random() < 0.45:
            return self._grouped(scope, depth, wanted)
        return self._plain(scope, depth, wanted)

    def _order(self, query: Query) -> tuple[Order, ...]:
        scalar = [name for name, kind in zip(names(query), kinds(query), strict=True) if kind not in NESTED]
        if not scalar:
            return ()
        chosen = self.rng.sample(scalar, self.rng.randint(1, len(scalar)))
        return tuple(Order(name, self.rng.random() < 0.5, self.rng.random() < 0.5) for name in chosen)

    def _plain(self, scope: _Scope, depth: int, wanted: tuple[Kind, ...]) -> Select:
        window = self._with("windows", 0.3)
        lateral = isinstance(scope.source, Explode)
        columns = []
        found = wanted or self._kinds(scope)
        aliases = self._aliases(len(found), wanted)
        for at, kind in enumerate(found):
            of = None
            if wanted and kind not in NESTED and self.rng.random() < 0.2:
                # A branch of a set operation says which one it is, and has no more than NULL for what it lacks.
                of = self._literal(kind) if self.rng.random() < 0.5 else Expr(kind, "null")
            elif kind not in NESTED and window and (at == 0 or self.rng.random() < 0.3):
                of = self._window(kind, scope)
            elif not at and kind in SCALARS and depth == 2 and not lateral and self._with("subqueries", 0.06):
                of = self._scalar(kind, scope, depth)
            columns.append(Column(of or self._expr(kind, scope, 2), aliases[at]))
        # Hive takes no subquery among the columns of a DISTINCT.
        plain = not any(one.of.kind in NESTED or one.of.op == "scalar" for one in columns)
        distinct = plain and self._with("distinct", 0.2)
        return Select(tuple(columns), scope.source, self._where(scope, depth), distinct=distinct)

    def _aliases(self, count: int, wanted: tuple[Kind, ...]) -> Sequence[str]:
        """Names of their own, or those of columns of the tables, but for the branches of a set operation."""
        if wanted or self.rng.random() < 0.8:
            return [f"c{at}" for at in range(count)]
        return self.rng.sample(list(COLUMNS), count)

    def _kinds(self, scope: _Scope) -> list[Kind]:
        found = [self.rng.choice(SCALARS) for _ in range(self.rng.randint(1, 4))]
        nested = [one.kind for one in scope.columns if one.kind in NESTED]
        if nested and len(found) > 1 and self._with("nested", 0.35):
            found[-1] = self.rng.choice(nested)
        return found

    def _grouped(self, scope: _Scope, depth: int, wanted: tuple[Kind, ...]) -> Select:
        keys: list[Expr] = []
        for _ in range(self.rng.choices((0, 1, 2, 3), (2, 5, 4, 1))[0]):
            key = self._key(scope)
            if key not in keys:
                keys.append(key)
        group = self._group(keys) if keys else None
        columns = []
        found = wanted or [self.rng.choice(SCALARS) for _ in range(self.rng.randint(1, 4))]
        aliases = self._aliases(len(found), wanted)
        for at, kind in enumerate(found):
            fitting = [key for key in keys if key.kind == kind]
            if fitting and self.rng.random() < 0.65:
                columns.append(Column(self.rng.choice(fitting), aliases[at]))
            elif group and group.how != "plain" and kind == "int" and self.rng.random() < 0.2:
                columns.append(Column(Expr("int", "grouping", (self.rng.choice(keys),)), aliases[at]))
            else:
                columns.append(Column(self._aggregate(kind, scope, 1), aliases[at]))
        if not wanted and keys and self.rng.random() < 0.7:
            columns += [Column(key, f"g{at}") for at, key in enumerate(keys) if all(key != one.of for one in columns)]
        having = self._having(scope, keys) if self.rng.random() < 0.25 else None
        if group and group.how != "plain" and self.spark:
            # Of no rows at all, Spark makes no total.
            some = Expr("boolean", ">", (Expr("int", "count *"), Expr("int", "literal", text="0")))
            having = Expr("boolean", "and", (some, having)) if having else some
        return Select(tuple(columns), scope.source, self._where(scope, depth), group, having)

    def _key(self, scope: _Scope) -> Expr:
        usual = [one for one in scope.columns if one.kind in SCALARS]
        if self.rng.random() < 0.75:
            return self.rng.choice(usual)
        of = self.rng.choice(usual)
        if of.kind == "date":
            return Expr("int", self.rng.choice(("year", "month")), (of,))
        if of.kind == "string":
            return Expr("int", "length", (of,))
        if of.kind == "int":
            return Expr("int", "modulo", (of, Expr("int", "literal", text="3")))
        return Expr("boolean", "is null", (of,))

    def _group(self, keys: Sequence[Expr]) -> Group:
        if not self._with("grouping", 0.45):
            return Group(tuple(keys))
        self.subtotals = True
        how = self.rng.choice(("rollup", "cube", "sets"))
        if how != "sets":
            return Group(tuple(keys), how)  # type: ignore[arg-type]
        possible = [tuple(at for at in range(len(keys)) if mask & 1 << at) for mask in range(1 << len(keys))]
        sets = self.rng.sample(possible, self.rng.randint(1, min(3, len(possible))))
        # Each key is in one of them: DuckDB refuses a column that no set has.
        absent = [at for at in range(len(keys)) if all(at not in one for one in sets)]
        return Group(tuple(keys), "sets", (*sets, *((at,) for at in absent)))

    # --- FROM ------------------------------------------------------------------------------------------------------

    def _scope(self, depth: int) -> _Scope:
        scope = self._one(depth, first=True)
        for number in range(self.rng.choices((0, 1, 2), (5, 4, 1))[0]):
            if self.room <= 0 or (self.long and number):
                break
            scope = self._joined(scope, self._one(depth, first=False))
        arrays = scope.of("array")
        # Hive's grammar has no LATERAL VIEW after a join.
        if arrays and isinstance(scope.source, Table) and "explode" in self.features and self._with("nested", 0.2):
            alias, array = self._alias(), self.rng.choice(arrays)
            source = Explode(scope.source, array, alias, self.rng.random() < 0.4)
            scope = _Scope(source, [*scope.columns, Expr("int", "column", text=f"{alias}.v")])
        return scope

    def _one(self, depth: int, *, first: bool) -> _Scope:
        self.room -= 1
        alias = self._alias()
        if depth > 0 and self._with("derived", 0.18):
            query = _casted(self._query(depth - 1))
            columns = [
                Expr(kind, "column", text=f"{alias}.{name}")
                for name, kind in zip(names(query), kinds(query), strict=True)
            ]
            return _Scope(Derived(query, alias), columns)
        return self._table(alias, first=first)

    def _table(self, alias: str, *, first: bool) -> _Scope:
        # Empty tables make most answers empty, and full ACID is left out where Spark reads along.
        some = [one for one in self.tables if one.rows <= ROWS or (first and not self.long)]
        weights = [(3 if one.rows > 1 else 1) * (2 if one.acid else 1) for one in some]
        table = self.rng.choices(some, weights)[0]
        self.long |= table.rows > ROWS
        columns = [
            Expr(kind, "column", text=f"{alias}.{name}")
            for name, kind in table.columns.items()
            if kind in SCALARS or "nested" in self.features
        ]
        return _Scope(Table(table.name, alias), columns, (columns[0],))

    def _joined(self, left: _Scope, right: _Scope) -> _Scope:
        hows = ["INNER", "LEFT", "RIGHT", "FULL"] if "outer" in self.features else ["INNER"]
        if not self.long:
            hows.append("CROSS")
        how = self.rng.choices(hows, (5, 5, 3, 3, 1)[: len(hows)])[0]
        both = _Scope(Join(how, left.source, right.source), [*left.columns, *right.columns])
        if left.unique and right.unique:
            both.unique = (*left.unique, *right.unique)
        on = None
        if how != "CROSS":
            on = self._equal(left, right)
            if on is None:
                how = "CROSS"
            elif self.rng.random() < 0.3:
                more = self._predicate(both, 1) if how in ("INNER", "LEFT", "RIGHT") else self._equal(left, right)
                on = Expr("boolean", "and", (on, more)) if more else on
        both.source = Join(how, left.source, right.source, on)
        return both

    def _equal(self, left: _Scope, right: _Scope) -> Expr | None:
        """A condition that joins: columns of one type from both sides."""
        common = [kind for kind in SCALARS if left.of(kind) and right.of(kind)]
        if not common:
            return None
        kind = "int" if "int" in common and self.rng.random() < 0.6 else self.rng.choice(common)
        op = self.rng.choices(("=", "same"), (9, 1))[0]
        return Expr("boolean", op, (self.rng.choice(left.of(kind)), self.rng.choice(right.of(kind))))

    # --- conditions ------------------------------------------------------------------------------------------------

    def _where(self, scope: _Scope, depth: int) -> Expr | None:
        parts = []
        if self.rng.random() < 0.55:
            parts.append(self._predicate(scope, 2))
        lateral = isinstance(scope.source, Explode)
        if depth > 0 and self.room > 0 and not lateral and self._with("subqueries", 0.3):
            parts.append(self._subquery(scope, depth))
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else Expr("boolean", "and", (parts[0], parts[1]))

    def _predicate(self, scope: _Scope, depth: int) -> Expr:
        if depth > 0 and self.rng.random() < 0.45:
            if self.rng.random() < 0.2:
                return Expr("boolean", "not", (self._predicate(scope, depth - 1),))
            op = self.rng.choice(("and", "or"))
            return Expr("boolean", op, (self._predicate(scope, depth - 1), self._predicate(scope, depth - 1)))
        kind = self.rng.choice([one for one in SCALARS if scope.of(one)])
        of = self.rng.choice(scope.of(kind))
        chance = self.rng.random()
        if chance < 0.15:
            asked = of if self.rng.random() < 0.6 else self._expr(kind, scope, 1)
            return Expr("boolean", self.rng.choice(("is null", "is not null")), (asked,))
        if kind == "boolean":
            op = self.rng.choice(("is true", "is not true", "is false", "is not false", "itself"))
            return of if op == "itself" else Expr("boolean", op, (of,))
        if kind == "string" and chance < 0.3:
            if self.rng.random() < 0.4:
                return Expr("boolean", self.rng.choice(("like wide", "like escaped")), (of,))
            pattern = Expr("string", "literal", text=self.rng.choice(_PATTERNS))
            return Expr("boolean", "like", (of, pattern))
        if chance < 0.4:
            items = [self._literal(kind) for _ in range(self.rng.randint(1, 3))]
            if self.rng.random() < 0.25:
                items.append(Expr(kind, "null"))
            return Expr("boolean", self.rng.choice(("in", "not in")), (of, *items))
        if chance < 0.48:
            return Expr("boolean", "between", (of, self._literal(kind), self._literal(kind)))
        if chance < 0.55 and scope.of("array") and "nested" in self.features:
            return Expr("boolean", "contains", (self.rng.choice(scope.of("array")), self._literal("int")))
        op = self.rng.choice(("=", "<>", "<", "<=", ">", ">=", "same"))
        return Expr("boolean", op, (of, self._expr(kind, scope, 1)))

    def _having(self, scope: _Scope, keys: Sequence[Expr]) -> Expr:
        if keys and self.rng.random() < 0.4:
            # Of a subtotal a key is NULL, whatever WHERE says.
            return Expr("boolean", self.rng.choice(("is null", "is not null")), (self.rng.choice(keys),))
        if self.rng.random() < 0.1:
            return Expr("boolean", "null")
        kind: Kind = self.rng.choice(("int", "int", "decimal", "string", "date"))
        of = self._aggregate(kind, scope, 0)
        if self.rng.random() < 0.2:
            return Expr("boolean", self.rng.choice(("is null", "is not null")), (of,))
        return Expr("boolean", self.rng.choice(("=", "<>", "<", ">", "<=", ">=")), (of, self._literal(kind)))

    def _subquery(self, outer: _Scope, depth: int) -> Expr:
        inner = self._one(depth - 1, first=False)
        conditions = []
        # A scalar subquery has one row: an aggregate without groups.
        how = self.rng.choices(("exists", "not exists", "in query", "not in query", "scalar"), (3, 3, 3, 2, 2))[0]
        if "exists" in how or self.rng.random() < 0.3:
            equal = self._equal(inner, outer)
            if equal is not None:
                conditions.append(equal)
        if self.rng.random() < 0.5:
            conditions.append(self._predicate(inner, 1))
        where = None
        for condition in conditions:
            where = condition if where is None else Expr("boolean", "and", (where, condition))
        if "exists" in how:
            one = Expr("int", "literal", text="1")
            return Expr("boolean", how, query=Select((Column(one, "c0"),), inner.source, where))
        common = [one for one in SCALARS if inner.of(one) and outer.of(one) and one != "boolean"]
        if not common:
            return Expr("boolean", "exists", query=Select((Column(self._literal("int"), "c0"),), inner.source, where))
        kind = self.rng.choice(common)
        of = self.rng.choice(outer.of(kind))
        if how == "scalar":
            aggregate = self._aggregate(kind, inner, 0)
            query = Select((Column(aggregate, "c0"),), inner.source, where)
            scalar = Expr(kind, "scalar", query=query)
            return Expr("boolean", self.rng.choice(("=", "<>", "<", ">")), (of, scalar))
        return Expr(
            "boolean", how, (of,), query=Select((Column(self.rng.choice(inner.of(kind)), "c0"),), inner.source, where)
        )

    def _scalar(self, kind: Kind, outer: _Scope, depth: int) -> Expr | None:
        if kind == "boolean" or self.room <= 0:
            return None
        inner = self._one(depth - 1, first=False)
        where = self._equal(inner, outer) if self.rng.random() < 0.6 else None
        return Expr(kind, "scalar", query=Select((Column(self._aggregate(kind, inner, 0), "c0"),), inner.source, where))

    # --- expressions -----------------------------------------------------------------------------------------------

    def _literal(self, kind: Kind) -> Expr:
        return Expr(kind, "literal", text=self.rng.choice(_LITERALS[kind]))

    def _leaf(self, kind: Kind, scope: _Scope) -> Expr:
        found = scope.of(kind)
        if found and self.rng.random() < 0.85:
            return self.rng.choice(found)
        if kind in NESTED:
            return self.rng.choice(found)
        return Expr(kind, "null") if self.rng.random() < 0.15 else self._literal(kind)

    def _expr(self, kind: Kind, scope: _Scope, depth: int) -> Expr:
        if depth <= 0 or kind in NESTED or self.rng.random() < 0.4:
            return self._leaf(kind, scope)
        chance = self.rng.random()
        if chance < 0.1:
            return Expr(kind, "coalesce", (self._expr(kind, scope, depth - 1), self._leaf(kind, scope)))
        if chance < 0.2:
            then, other = self._expr(kind, scope, depth - 1), self._leaf(kind, scope)
            return Expr(kind, "if", (self._predicate(scope, 1), then, other))
        if chance < 0.25:
            return Expr(kind, "if only", (self._predicate(scope, 1), self._expr(kind, scope, depth - 1)))
        if chance < 0.3 and kind != "boolean":
            return Expr(kind, "nullif", (self._leaf(kind, scope), self._literal(kind)))
        if chance < 0.35:
            of: Kind = self.rng.choice(("int", "string"))
            args = (self._leaf(of, scope), self._literal(of), self._leaf(kind, scope), self._leaf(kind, scope))
            return Expr(kind, "case", args)
        return self._operation(kind, scope, depth)

    def _operation(self, kind: Kind, scope: _Scope, depth: int) -> Expr:
        def of(other: Kind, less: int = 1) -> Expr:
            return self._expr(other, scope, depth - less)

        if kind == "boolean":
            return self._predicate(scope, depth)
        if kind == "date":
            if self.rng.random() < 0.5:
                days = Expr("int", "literal", text=self.rng.choice(("-400", "-1", "1", "30")))
                return Expr("date", "add days", (of("date"), days))
            return Expr("date", "last day", (of("date"),))
        if kind == "decimal":
            op = self.rng.choice(("+", "-", "int to decimal", "times long", "times choice"))
            # Sums and products of leaves: no precision grows beyond 38 digits, no int beyond 10.
            if op == "int to decimal":
                return Expr("decimal", op, (self._leaf("int", scope),))
            if op == "times long":
                return Expr("decimal", op, (self._leaf("decimal", scope), self._leaf("int", scope)))
            if op == "times choice":
                return Expr("decimal", op, (self._leaf("decimal", scope), self._predicate(scope, 1)))
            return Expr("decimal", op, (self._leaf("decimal", scope), self._leaf("decimal", scope)))
        if kind == "double":
            op = self.rng.choice(("+", "-", "int to double", "decimal to double", "divide"))
            if op == "divide":
                # The divisor is 0, 1 or -1: any sum of quotients is exact.
                divisor = self.rng.choice([*scope.of("int"), self._literal("int")])
                return Expr("double", op, (self._leaf("int", scope), Expr("int", "modulo two", (divisor,))))
            if op == "int to double":
                return Expr("double", op, (self._leaf("int", scope),))
            if op == "decimal to double":
                return Expr("double", op, (self._leaf("decimal", scope),))
            return Expr("double", op, (self._leaf("double", scope), self._leaf("double", scope)))
        if kind == "string":
            op = self.rng.choice(
                (
                    "concat",
                    "upper",
                    "lower",
                    "trim",
                    "trim of",
                    "substr",
                    "lpad",
                    "rpad",
                    "int to string",
                    "date to string",
                )
            )
            if op == "concat":
                return Expr("string", op, (of("string"), of("string")))
            if op == "substr":
                begin, length = (Expr("int", "literal", text=str(self.rng.randint(1, 3))) for _ in range(2))
                return Expr("string", op, (of("string"), begin, length))
            if op in ("lpad", "rpad"):
                width = Expr("int", "literal", text=str(self.rng.randint(1, 4)))
                return Expr("string", op, (of("string"), width, self._letters()))
            if op == "trim of":
                return Expr("string", op, (of("string"), self._letters()))
            argument: Kind = {"int to string": "int", "date to string": "date"}.get(op, "string")  # type: ignore[assignment]
            return Expr("string", op, (self._leaf(argument, scope),))
        return self._int(scope, depth)

    def _letters(self) -> Expr:
        return Expr("string", "literal", text=self.rng.choice(_LETTERS))

    def _int(self, scope: _Scope, depth: int) -> Expr:
        nested = [one for one in scope.columns if one.kind in NESTED]
        if nested and self._with("nested", 0.35):
            of = self.rng.choice(nested)
            if of.kind == "array":
                at = Expr("int", "literal", text=str(self.rng.randint(0, 2)))
                return Expr("int", "element", (of, at)) if self.rng.random() < 0.5 else Expr("int", "size", (of,))
            if of.kind == "map":
                key = Expr("string", "literal", text=self.rng.choice(("a", "b", "c")))
                return Expr("int", "value", (of, key)) if self.rng.random() < 0.6 else Expr("int", "entries", (of,))
            return Expr("int", "field x", (of,))
        op = self.rng.choice(
            ("+", "-", "*", "modulo", "abs", "length", "instr", "year", "month", "day", "day of week", "days between")
        )
        if op == "instr":
            return Expr("int", op, (self._expr("string", scope, depth - 1), self._letters()))
        if op == "length":
            return Expr("int", op, (self._expr("string", scope, depth - 1),))
        if op in ("year", "month", "day", "day of week"):
            return Expr("int", op, (self._expr("date", scope, depth - 1),))
        if op == "days between":
            return Expr("int", op, (self._leaf("date", scope), self._leaf("date", scope)))
        if op == "abs":
            return Expr("int", op, (self._expr("int", scope, depth - 1),))
        if op in ("*", "modulo"):
            # Products of leaves stay within 32 bits.
            return Expr("int", op, (self._leaf("int", scope), self._literal("int")))
        return Expr("int", op, (self._expr("int", scope, depth - 1), self._leaf("int", scope)))

    def _aggregate(self, kind: Kind, scope: _Scope, depth: int) -> Expr:
        if kind == "int":
            op = self.rng.choices(
                ("count *", "count", "count distinct", "sum", "min", "max", "sum distinct"), (4, 3, 2, 3, 2, 2, 1)
            )[0]
            if op == "count *":
                return Expr("int", op)
            if op.startswith("count"):
                other = self.rng.choice([one for one in scope.columns if one.kind in SCALARS])
                return Expr("int", op, (other,))
            return Expr("int", op, (self._expr("int", scope, depth),))
        if kind == "double":
            op = self.rng.choice(("sum", "min", "max", "average"))
            if op == "average":
                of: Kind = self.rng.choice(("int", "double"))
                return Expr("double", op, (self._leaf(of, scope),))
            return Expr("double", op, (self._leaf("double", scope),))
        if kind == "decimal":
            return Expr("decimal", self.rng.choice(("sum", "min", "max")), (self._expr("decimal", scope, depth),))
        if kind == "boolean":
            return Expr("boolean", ">", (self._aggregate("int", scope, 0), self._literal("int")))
        return Expr(kind, self.rng.choice(("min", "max")), (self._expr(kind, scope, depth),))

    def _window(self, kind: Kind, scope: _Scope) -> Expr | None:
        usual = [one for one in scope.columns if one.kind in SCALARS]
        partition = tuple(self.rng.sample(usual, self.rng.randint(0, min(2, len(usual)))))

        def key(of: Expr) -> Key:
            return Key(of, self.rng.random() < 0.5, self.rng.random() < 0.5)

        some = tuple(key(one) for one in self.rng.sample(usual, 1))
        # Rows in a total order, or functions that treat rows with equal keys alike.
        total = (*some, *(key(one) for one in scope.unique if one not in [k.of for k in some])) if scope.unique else ()
        if kind == "int" and self.rng.random() < 0.5:
            if total and self.rng.random() < 0.5:
                return Expr("int", "row_number", window=Window(partition, total))
            return Expr("int", self.rng.choice(("rank", "dense_rank")), window=Window(partition, some))
        if total and self.rng.random() < 0.5:
            of = self._leaf(kind, scope)
            if self.rng.random() < 0.5:
                return Expr(kind, self.rng.choice(("lag", "lead")), (of,), window=Window(partition, total))
            frame = self.rng.choice(
                (
                    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
                    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                    "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
                )
            )
            ops = ["first_value", "last_value", *(() if kind == "boolean" else ("min", "max"))]
            if kind in ("int", "decimal", "double"):
                ops.append("sum")
            return Expr(kind, self.rng.choice(ops), (of,), window=Window(partition, total, frame))
        if kind == "boolean":
            return None
        of = self._leaf(kind, scope)
        ops = ["min", "max", *(("sum",) if kind in ("int", "decimal", "double") else ())]
        order = some if self.rng.random() < 0.6 else ()
        if kind == "int" and self.rng.random() < 0.3:
            return Expr("int", "count *", window=Window(partition, order))
        return Expr(kind, self.rng.choice(ops), (of,), window=Window(partition, order))


def _with_inner_views(one: Any) -> Any:
    """The same without rows for arrays that are empty."""
    if isinstance(one, tuple):
        return tuple(map(_with_inner_views, one))
    if not is_dataclass(one) or isinstance(one, type):
        return one
    parts = {part.name: _with_inner_views(getattr(one, part.name)) for part in fields(one)}
    return replace(one, **{**parts, **({"outer": False} if isinstance(one, Explode) else {})})


def _casted(query: Query) -> Query:
    """The same with one SQL type for each column: where results meet, all engines would else find types of their own."""
    if isinstance(query, SetOperation):
        return query
    columns = tuple(
        one
        if one.of.kind in (*NESTED, "string", "date", "boolean")
        else Column(Expr(one.of.kind, "cast", (one.of,)), one.name)
        for one in query.columns
    )
    return Select(
        columns, query.source, query.where, query.group, query.having, query.distinct, query.order, query.limit
    )


def _ordered(query: Query, order: tuple[Order, ...], limit: int | None) -> Query:
    if isinstance(query, SetOperation):
        return SetOperation(query.how, query.left, query.right, order, limit)
    return Select(query.columns, query.source, query.where, query.group, query.having, query.distinct, order, limit)
