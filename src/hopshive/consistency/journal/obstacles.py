"""What stands in the way of entries that are to come back: another schema, another row, a parent that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hopshive.consistency.journal.content import Content
from hopshive.consistency.journal.step import Step, Wanted
from hopshive.database import GIVEN, chunks, given, marks, quoted
from hopshive.metastore.closure import BINDING, OWNERS, SHARED, select
from hopshive.metastore.transactional import replaced

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hopshive.database import Row, Transaction
    from hopshive.database.foreign_keys import ForeignKey
    from hopshive.metastore.closure import Graph, Table


# Two objects may own one storage descriptor.
_HELD = ("SDS", *SHARED)
_PARENT = {"CTLGS": "catalog", "DBS": "database", "TBLS": "table"}
# Of statistics: the table that they are of, which may have another name now.
_NAMES = ("CAT_NAME", "DB_NAME", "TABLE_NAME")


def unfit(keys: Graph, content: Content) -> str:
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


def rename(tx: Transaction, step: Step) -> None:
    """Give partitions the names that their tables have now."""
    tables = {id_: table_id(back.content) for id_, back in step.backs.items() if id_ not in step.refused}
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


def table_id(content: Content) -> int | None:
    return next(content.rows["PARTITIONS"].column("TBL_ID"), None) if "PARTITIONS" in content.rows else None


def _identity(table: Table, columns: Sequence[str], row: Row, by: Sequence[str]) -> Row:
    """Values of some columns as the server compares them."""
    values = (row[columns.index(column)] for column in by)
    return tuple(
        value.casefold() if column in table.folded and isinstance(value, str) else value
        for column, value in zip(by, values, strict=True)
    )


def gather(keys: Graph, step: Step) -> None:
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
                        known[key] = Wanted(table, found.columns, row, [id_])
                    elif other.row == row and other.columns == found.columns:
                        other.users.append(id_)
                    else:
                        step.refuse([id_], f"another entry of the journal has a different row {name} {_said(key)}.")


def compare(tx: Transaction, step: Step) -> None:
    """Look which rows are there already, and whether they are the same.

    Rows that objects may share come first, and are held until the end of the transaction: the garbage collector may be about
    to delete them with their parts, since nothing refers to them yet.
    """
    for name in sorted(step.wanted, key=lambda name: name not in _HELD):
        wanted = step.wanted[name]
        table = next(iter(wanted.values())).table
        by = table.key or table.columns
        values = {one.value(by[0]) for one in wanted.values()}
        for row in select(tx, table, table.columns, by[0], values, "LOCK IN SHARE MODE" if name in _HELD else ""):
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


def find_clashes(tx: Transaction, step: Step) -> None:
    """Look whether names are taken, by what is there or by an entry before."""
    for name in list(step.wanted):
        rows = list(step.rows(name))
        for unique in rows[0].table.unique if rows else ():
            table = rows[0].table
            taken: dict[Row, Wanted] = {}
            for one in rows:
                key = _identity(table, one.columns, one.row, unique) if set(unique) <= set(one.columns) else (None,)
                if None in key:
                    continue
                if key in taken:
                    step.refuse(one.users, _taken(name, "the entry before it has its name"))
                else:
                    taken[key] = one
            for row in among(tx, table, unique, taken):
                step.refuse(taken[row].users, _taken(name, f"there is another {step.kind} of that name"))


def _taken(table: str, why: str) -> str:
    if table not in OWNERS:
        return f"a row of {table} that has come since is in its place."
    return f"{why}. Drop or rename that one, then restore again."


def among(tx: Transaction, table: Table, columns: Sequence[str], wanted: Collection[Row]) -> set[Row]:
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


def find_orphans(tx: Transaction, keys: Graph, step: Step) -> None:
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
                # Held until the end of the transaction, so no session drops it meanwhile.
                needed = {value for value, _one in rows} - coming
                found = select(tx, keys.tables[key.to], (to_column,), to_column, needed, "LOCK IN SHARE MODE")
                there[key] = {row[0] for row in found}
            known = coming | there[key]
            for value, one in rows:
                if value in known:
                    continue
                if of_two(keys, key):
                    one.waits = True
                    waiting += 1
                    for user in one.users:
                        step.backs[user].waiting.append(one)
                else:
                    step.refuse(one.users, _orphaned(key))
        if len(step.refused) == before and not waiting:
            return


def of_two(keys: Graph, key: ForeignKey) -> bool:
    """Whether rows say something about two objects, as a foreign key of one table to another does."""
    return key.table not in OWNERS and key.table != "SDS" and key.to not in SHARED and len(keys.parents(key.table)) > 1


def _orphaned(key: ForeignKey) -> str:
    if key.table in OWNERS and key.to in _PARENT:
        return f"its {_PARENT[key.to]} is not there. Restore that first; one that was made since is another."
    return f"{key.to} does not have what {key.table} refers to."
