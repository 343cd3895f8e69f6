"""Putting removed objects back, with their old ids, each whole or not at all.

First it is found out, without a change, what cannot come back and why; then the rows of all others are inserted at once,
parents before children. A row that is there already with the same content (columns that several descriptors share) stays
as it is. What a constraint between two tables says comes back when both are there, in whatever order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pymysql

from hopshive.consistency.journal.content import Content, ContentError, decode, encode, fragment
from hopshive.consistency.journal.record import COLUMNS, REFERENCE, WAITING, Entry, entry
from hopshive.database import GIVEN, Contention, chunks, given, marks, quoted
from hopshive.metastore import transactional
from hopshive.metastore.closure import BINDING, OWNERS, SHARED, Found, graph, select
from hopshive.metastore.transactional import Scope, replaced

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from hopshive.consistency.journal.removal import Kind
    from hopshive.database import Row, Transaction
    from hopshive.database.foreign_keys import ForeignKey
    from hopshive.metastore.closure import Graph, Table

_KINDS: tuple[Kind, ...] = ("database", "table", "partition")
_PARENT = {"CTLGS": "catalog", "DBS": "database", "TBLS": "table"}
# Of statistics: the table that they are of, which may have another name by now.
_NAMES = ("CAT_NAME", "DB_NAME", "TABLE_NAME")
_MESSAGE = 1000
# Of the contents of the entries of one transaction. They are compressed: in memory that is 50 times as much.
MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RestoreProgress:
    """Of one transaction. `refused`: ids of entries that cannot come back now, and in `conflicts` a sentence for each.

    `done`: none of the ids is left for another transaction.
    """

    restored: list[Entry]
    refused: list[int]
    conflicts: list[str]
    done: bool


@dataclass(slots=True)
class _Back:
    """An entry that is to come back. `names`: those that it has then."""

    entry: Entry
    content: Content
    names: tuple[str, ...]
    waiting: list[_Wanted] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Wanted:
    """A row that entries want to have there."""

    table: Table
    columns: tuple[str, ...]
    row: Row
    users: list[int]
    present: bool = False
    waits: bool = False

    def value(self, column: str) -> Any:
        return self.row[self.columns.index(column)]


@dataclass(slots=True)
class _Step:
    """Entries of one kind, by id; those that are refused, with the reason."""

    kind: Kind
    backs: dict[int, _Back]
    refused: dict[int, str] = field(default_factory=dict)
    wanted: dict[str, dict[Row, _Wanted]] = field(default_factory=dict)

    def refuse(self, users: Iterable[int], why: str) -> None:
        """The first reason counts."""
        for user in users:
            self.refused.setdefault(user, f"{self.backs[user].entry.kind} {self.backs[user].entry.name}: {why}")

    def rows(self, table: str) -> Iterator[_Wanted]:
        """Rows that are to be inserted: not there yet, and wanted by an entry that is not refused."""
        for one in self.wanted.get(table, {}).values():
            if not one.present and not one.waits and not (self.refused and self.refused.keys() >= set(one.users)):
                yield one


def restore_next(tx: Transaction, ids: Sequence[int], limit: int) -> RestoreProgress:
    """Put back up to `limit` of the journal's entries, those that stand first.

    Owners stand before what belongs to them, as `restorable` gives them. Entries that are back already do not count. A
    reason not to restore is written into the journal too; do not ask for that entry again in the same round.

    Raises ClosureError, and Contention if somebody wrote the same rows: nothing is done then, and the same may succeed.
    """
    keys = graph(tx)
    left = {row[0] for some in chunks(ids) for row in _left(tx, some)}
    ordered = [id_ for id_ in dict.fromkeys(ids) if id_ in left]
    now = _affordable(tx, ordered[:limit])
    backs, refused = _load(tx, now)
    restored: list[Entry] = []
    for kind in _KINDS:
        step = _Step(kind, {id_: back for id_, back in backs.items() if back.entry.kind == kind})
        if not step.backs:
            continue
        try:
            _restore(tx, keys, step)
        except pymysql.IntegrityError as error:
            raise Contention(f"Somebody wrote what was being restored ({error.args[-1]}): try again.") from error
        refused |= step.refused
        restored += [back.entry for id_, back in step.backs.items() if id_ not in step.refused]
    for some in chunks([one.id for one in restored]):
        tx.execute(f"UPDATE {{state}}.journal SET state = 'restored', message = '' WHERE id IN ({marks(some)})", some)
    for id_, why in refused.items():
        tx.execute("UPDATE {state}.journal SET message = %s WHERE id = %s", (why[:_MESSAGE], id_))
    if restored:
        _bring_waiting(tx, keys)
    place = {id_: at for at, id_ in enumerate(ordered)}
    restored.sort(key=lambda one: place[one.id])
    return RestoreProgress(restored, list(refused), list(refused.values()), len(ordered) == len(now))


def _left(tx: Transaction, ids: Sequence[object]) -> list[Row]:
    return tx.rows(f"SELECT id FROM {{state}}.journal WHERE state = 'removed' AND id IN ({marks(ids)})", ids)


def _affordable(tx: Transaction, ids: Sequence[int]) -> Sequence[int]:
    """The first of some entries, at least one, whose contents together are not more than one transaction takes."""
    sizes: dict[int, int] = {}
    for some in chunks(ids):
        sql = f"SELECT id, LENGTH(content) FROM {{state}}.journal WHERE id IN ({marks(some)})"
        sizes.update(tx.rows(sql, some))
    total = 0
    for number, id_ in enumerate(ids):
        total += sizes.get(id_, 0)
        if total > MOST_BYTES and number:
            return ids[:number]
    return ids


def _load(tx: Transaction, ids: Sequence[int]) -> tuple[dict[int, _Back], dict[int, str]]:
    """Read entries, in their order; and sentences on those that cannot be read."""
    rows: dict[int, Row] = {}
    for some in chunks(ids):
        sql = f"SELECT {COLUMNS}, j.content FROM {{state}}.journal j WHERE j.state = 'removed' AND j.id IN ({marks(some)})"
        rows |= {row[0]: row for row in tx.rows(f"{sql} FOR UPDATE", some)}
    backs: dict[int, _Back] = {}
    refused: dict[int, str] = {}
    for id_ in ids:
        if id_ not in rows:
            continue
        *columns, data = rows[id_]
        one = entry(tuple(columns))
        try:
            content = decode(data)
        except ContentError as error:
            refused[id_] = f"{one.kind} {one.name}: its journal entry {id_} cannot be read: {error}."
            continue
        backs[id_] = _Back(one, content, content.names)
    return backs, refused


def _restore(tx: Transaction, keys: Graph, step: _Step) -> None:
    """Put back entries of one kind, but those that end in step.refused."""
    for id_, back in step.backs.items():
        problem = _unfit(keys, back.content)
        if problem:
            step.refuse([id_], problem)
    if step.kind == "partition":
        _rename(tx, step)
    _gather(keys, step)
    _compare(tx, step)
    _find_clashes(tx, step)
    _find_orphans(tx, keys, step)
    fit = {id_: back for id_, back in step.backs.items() if id_ not in step.refused}
    named = [(_scope(id_, back), back.content.named) for id_, back in fit.items() if back.content.named]
    plan = transactional.plan(tx, named)
    for id_, why in plan.refused.items():
        step.refuse([id_], why)
    for table in keys.order:
        _insert(tx, step.rows(table))
    transactional.put_back(tx, keys, [one for one in named if one[0].owner not in step.refused], plan)
    _keep_waiting(tx, step)


def _scope(id_: int, back: _Back) -> Scope:
    return Scope(id_, *back.names[1:])


# --- finding out ------------------------------------------------------------------------------------------------------


def _unfit(keys: Graph, content: Content) -> str:
    """Why the present schema cannot take an entry; empty if it can."""
    for tables in (content.rows, content.named, *content.shared):
        for name, found in tables.items():
            table = keys.tables.get(name)
            lacking = set(found.columns) - set(table.columns) if table else set()
            missing = table.needed - set(found.columns) if table else set()
            if table is None:
                why = f"there is no table {name} now"
            elif lacking:
                why = f"{name} has no column {', '.join(sorted(lacking))} now"
            elif missing:
                why = f"{name} now has a column {', '.join(sorted(missing))} that it did not know"
            else:
                continue
            return (
                f"it was removed from a metastore of schema version {content.schema or '(none)'}, this one has"
                f" {keys.version or '(none)'}, and {why}."
            )
    return ""


def _rename(tx: Transaction, step: _Step) -> None:
    """Give partitions the names that their tables have now."""
    tables = {id_: _table_id(back.content) for id_, back in step.backs.items() if id_ not in step.refused}
    now: dict[int, tuple[str, ...]] = {}
    for some in chunks({table for table in tables.values() if table is not None}):
        sql = (
            f"SELECT t.TBL_ID, d.CTLG_NAME, d.NAME, t.TBL_NAME FROM {GIVEN}"
            " STRAIGHT_JOIN TBLS t FORCE INDEX (PRIMARY) ON t.TBL_ID = v.id"
            " STRAIGHT_JOIN DBS d FORCE INDEX (PRIMARY) ON d.DB_ID = t.DB_ID LOCK IN SHARE MODE"
        )
        now |= {table: tuple(names) for table, *names in tx.rows(sql, (given(some),))}
    for id_, table in tables.items():
        back = step.backs[id_]
        names = now.get(table) if table is not None else None
        if names is None or names == back.names[:3]:
            continue
        back.names = (*names, *back.names[3:])
        for found in back.content.rows.values():
            if set(_NAMES) <= set(found.columns):
                values = {found.columns.index(column): value for column, value in zip(_NAMES, names, strict=True)}
                found.rows = [replaced(row, values) for row in found.rows]


def _table_id(content: Content) -> int | None:
    return next(content.rows["PARTITIONS"].column("TBL_ID"), None) if "PARTITIONS" in content.rows else None


def _identity(table: Table, columns: Sequence[str], row: Row, by: Sequence[str]) -> Row:
    """Values of some columns as the server compares them."""
    values = (row[columns.index(column)] for column in by)
    return tuple(
        value.casefold() if column in table.folded and isinstance(value, str) else value
        for column, value in zip(by, values, strict=True)
    )


def _gather(keys: Graph, step: _Step) -> None:
    """All rows that are wanted, each once. Two entries that want different rows in one place: the first has it."""
    for id_, back in step.backs.items():
        if id_ in step.refused:
            continue
        for tables in (back.content.rows, *back.content.shared):
            for name, found in tables.items():
                table = keys.tables[name]
                known = step.wanted.setdefault(name, {})
                by = table.key or found.columns
                places = [found.columns.index(column) for column in by]
                plain = not table.folded.intersection(by)
                for row in found.rows:
                    key = tuple([row[i] for i in places]) if plain else _identity(table, found.columns, row, by)
                    other = known.get(key)
                    if other is None:
                        known[key] = _Wanted(table, found.columns, row, [id_])
                    elif other.row == row and other.columns == found.columns:
                        other.users.append(id_)
                    else:
                        step.refuse([id_], f"another entry of the journal has a different row {name} {_said(key)}.")


def _compare(tx: Transaction, step: _Step) -> None:
    """Look which rows are there already, and whether they are the same."""
    for name, wanted in step.wanted.items():
        table = next(iter(wanted.values())).table
        by = table.key or table.columns
        values = {one.value(by[0]) for one in wanted.values()}
        for row in select(tx, table, table.columns, by[0], values):
            one = wanted.get(_identity(table, table.columns, row, by))
            if one is None:
                continue
            one.present = True
            there = dict(zip(table.columns, row, strict=True))
            differing = [
                column
                for column, value in zip(one.columns, one.row, strict=True)
                if there[column] != value and not (name == "SDS" and column in BINDING)
            ]
            if differing:
                step.refuse(
                    one.users,
                    f"{name} {_said([one.value(column) for column in by])} is there already, and its"
                    f" {', '.join(differing)} is not what it was.",
                )


def _said(values: Sequence[object]) -> str:
    return "/".join(map(str, values))


def _find_clashes(tx: Transaction, step: _Step) -> None:
    """Look whether names are taken, by what is there or by an entry before."""
    for name in list(step.wanted):
        rows = list(step.rows(name))
        for unique in rows[0].table.unique if rows else ():
            table = rows[0].table
            taken: dict[Row, _Wanted] = {}
            for one in rows:
                key = _identity(table, one.columns, one.row, unique) if set(unique) <= set(one.columns) else (None,)
                if None in key:
                    continue
                if key in taken:
                    step.refuse(one.users, _taken(name, "the entry before it has its name"))
                else:
                    taken[key] = one
            for row in _among(tx, table, unique, taken):
                step.refuse(taken[row].users, _taken(name, f"there is another {step.kind} of that name"))


def _taken(table: str, why: str) -> str:
    if table not in OWNERS:
        return f"a row of {table} that has come since is in its place."
    return f"{why}. Drop or rename that one, then restore again."


def _among(tx: Transaction, table: Table, columns: Sequence[str], wanted: Collection[Row]) -> set[Row]:
    """Those of the keys that are there: asked for by the column that has the fewest values, and the others beside it."""
    if not wanted:
        return set()
    by = min(range(len(columns)), key=lambda at: len({key[at] for key in wanted}))
    rest = [at for at in range(len(columns)) if at != by]
    groups: dict[object, list[Row]] = {}
    for key in wanted:
        groups.setdefault(key[by], []).append(key)
    found: set[Row] = set()
    for value, group in groups.items():
        conditions, arguments = [f"`{columns[by]}` = %s"], [value]
        for at in rest:
            values = sorted({key[at] for key in group}, key=repr)
            conditions.append(f"`{columns[at]}` IN ({marks(values)})")
            arguments += values
        sql = f"SELECT {quoted(columns)} FROM `{table.name}` WHERE {' AND '.join(conditions)}"
        found.update(_identity(table, columns, row, columns) for row in tx.rows(sql, arguments))
    return found & set(wanted)


def _find_orphans(tx: Transaction, keys: Graph, step: _Step) -> None:
    """Look whether what the rows refer to is there, or comes back with them."""
    there: dict[ForeignKey, set[Any]] = {}
    while True:
        before = len(step.refused)
        waiting = 0
        for key in keys.keys:
            column, to_column = key.column, key.to_column
            rows = [(value, one) for one in step.rows(key.table) if (value := one.value(column)) is not None]
            if not rows:
                continue
            coming = {one.value(to_column) for one in step.rows(key.to)}
            if key not in there:
                # Held until the end of the transaction: nobody drops it meanwhile.
                needed = {value for value, _one in rows} - coming
                found = select(tx, keys.tables[key.to], (to_column,), to_column, needed, "LOCK IN SHARE MODE")
                there[key] = {row[0] for row in found}
            known = coming | there[key]
            for value, one in rows:
                if value in known:
                    continue
                if _of_two(keys, key):
                    one.waits = True
                    waiting += 1
                    for user in one.users:
                        step.backs[user].waiting.append(one)
                else:
                    step.refuse(one.users, _orphaned(key))
        if len(step.refused) == before and not waiting:
            return


def _of_two(keys: Graph, key: ForeignKey) -> bool:
    """Whether rows say something about two objects, as a foreign key of one table to another does."""
    return key.table not in OWNERS and key.table != "SDS" and key.to not in SHARED and len(keys.parents(key.table)) > 1


def _orphaned(key: ForeignKey) -> str:
    if key.table in OWNERS and key.to in _PARENT:
        return f"its {_PARENT[key.to]} is not there. Restore that first; one that was made since is another."
    return f"{key.to} does not have what {key.table} refers to."


# --- doing ------------------------------------------------------------------------------------------------------------


def _insert(tx: Transaction, wanted: Iterable[_Wanted]) -> None:
    groups: dict[tuple[str, tuple[str, ...]], list[Row]] = {}
    for one in wanted:
        groups.setdefault((one.table.name, one.columns), []).append(one.row)
    for (table, columns), rows in groups.items():
        tx.many(f"INSERT INTO `{table}` ({quoted(columns)}) VALUES ({marks(columns)})", rows)


def _keep_waiting(tx: Transaction, step: _Step) -> None:
    """Write an entry with the rows of an object that cannot come back yet, because they are about another one too."""
    for id_, back in step.backs.items():
        if id_ in step.refused or not back.waiting:
            continue
        rows: dict[str, Found] = {}
        for one in back.waiting:
            rows.setdefault(one.table.name, Found(one.columns)).rows.append(one.row)
        tx.execute(
            "INSERT INTO {state}.journal (removal, kind, name, path, path_hash, removed, state, message, content)"
            " VALUES (%s, %s, %s, '', %s, %s, 'waiting', %s, %s)",
            (
                back.entry.removal,
                REFERENCE,
                back.entry.name.encode("utf-8", "surrogateescape"),
                WAITING,
                back.entry.removed,
                f"{sum(len(found.rows) for found in rows.values())} rows wait for another object to come back",
                encode(back.content.schema, back.names, fragment(rows), [], fragment({})),
            ),
        )


def _bring_waiting(tx: Transaction, keys: Graph) -> None:
    """Insert rows that have waited for an object that is back now."""
    rows = tx.rows(
        "SELECT id, content FROM {state}.journal WHERE path_hash = %s AND kind = %s ORDER BY id FOR UPDATE",
        (WAITING, REFERENCE),
    )
    for id_, data in rows:
        try:
            content = decode(data)
        except ContentError:
            continue
        if _unfit(keys, content):
            continue
        brought = [_bring(tx, keys, *one) for one in _each(keys, content)]
        if all(brought):
            tx.execute("DELETE FROM {state}.journal WHERE id = %s", (id_,))


def _each(keys: Graph, content: Content) -> Iterator[tuple[Table, tuple[str, ...], Row]]:
    for name, found in content.rows.items():
        for row in found.rows:
            yield keys.tables[name], found.columns, row


def _bring(tx: Transaction, keys: Graph, table: Table, columns: tuple[str, ...], row: Row) -> bool:
    """Insert one such row; False if it waits still."""
    values = dict(zip(columns, row, strict=True))
    for key in keys.parents(table.name):
        value = values[key.column]
        if value is None:
            continue
        to = keys.tables[key.to]
        if not select(tx, to, (key.to_column,), key.to_column, [value], "LOCK IN SHARE MODE"):
            return False
    by = table.key or columns
    where = " AND ".join(f"`{column}` <=> %s" for column in by)
    if not tx.row(f"SELECT 1 FROM `{table.name}` WHERE {where}", [values[column] for column in by]):
        tx.many(f"INSERT INTO `{table.name}` ({quoted(columns)}) VALUES ({marks(columns)})", [row])
    return True
