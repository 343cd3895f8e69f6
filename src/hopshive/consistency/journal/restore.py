"""Putting removed objects back, with their old ids, each whole or not at all.

First it is found out, without a change, what cannot come back and why; then the rows of all others are inserted at once,
parents before children. A row that is there already with the same content (columns that several descriptors share) stays
as it is. What a constraint between two tables says comes back when both are there, in whatever order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pymysql

from hopshive.consistency.journal.content import Content, ContentError, decode, encode, fragment
from hopshive.consistency.journal.obstacles import compare, find_clashes, find_orphans, gather, rename, unfit
from hopshive.consistency.journal.record import COLUMNS, REFERENCE, WAITING, Entry, entry
from hopshive.consistency.journal.step import KINDS, Back, Step, Wanted
from hopshive.database import Contention, chunks, marks, quoted
from hopshive.metastore import transactional
from hopshive.metastore.closure import TableRows, graph, select
from hopshive.metastore.transactional import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hopshive.database import Row, Transaction
    from hopshive.metastore.closure import Graph, Table


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


def restore_next(tx: Transaction, ids: Sequence[int], limit: int) -> RestoreProgress:
    """Put back up to `limit` of the journal's entries, those that stand first.

    Owners stand before what belongs to them, as `restorable` gives them. Entries that are back already do not count. A
    reason not to restore is written into the journal too; do not ask for that entry again in the same round.

    Raises ClosureError, and Contention if another session wrote the same rows: nothing is done then, and the same may succeed.
    """
    keys = graph(tx)
    left = {row[0] for some in chunks(ids) for row in _left(tx, some)}
    ordered = [id_ for id_ in dict.fromkeys(ids) if id_ in left]
    now = _affordable(tx, ordered[:limit])
    backs, refused = _load(tx, now)
    restored: list[Entry] = []
    for kind in KINDS:
        step = Step(kind, {id_: back for id_, back in backs.items() if back.entry.kind == kind})
        if not step.backs:
            continue
        try:
            _restore(tx, keys, step)
        except pymysql.IntegrityError as error:
            raise Contention(f"Another session wrote what was being restored ({error.args[-1]}). Try again.") from error
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


def _load(tx: Transaction, ids: Sequence[int]) -> tuple[dict[int, Back], dict[int, str]]:
    """Read entries, in their order; and sentences on those that cannot be read."""
    rows: dict[int, Row] = {}
    for some in chunks(ids):
        sql = f"SELECT {COLUMNS}, j.content FROM {{state}}.journal j WHERE j.state = 'removed' AND j.id IN ({marks(some)})"
        rows |= {row[0]: row for row in tx.rows(f"{sql} FOR UPDATE", some)}
    backs: dict[int, Back] = {}
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
        backs[id_] = Back(one, content, content.names)
    return backs, refused


def _restore(tx: Transaction, keys: Graph, step: Step) -> None:
    """Put back entries of one kind, but those that end in step.refused."""
    for id_, back in step.backs.items():
        problem = unfit(keys, back.content)
        if problem:
            step.refuse([id_], problem)
    if step.kind == "partition":
        rename(tx, step)
    gather(keys, step)
    compare(tx, step)
    find_clashes(tx, step)
    find_orphans(tx, keys, step)
    fit = {id_: back for id_, back in step.backs.items() if id_ not in step.refused}
    named = [(_scope(id_, back), back.content.named) for id_, back in fit.items() if back.content.named]
    plan = transactional.plan(tx, named)
    for id_, why in plan.refused.items():
        step.refuse([id_], why)
    for table in keys.order:
        _insert(tx, step.rows(table))
    transactional.put_back(tx, keys, [one for one in named if one[0].owner not in step.refused], plan)
    _keep_waiting(tx, step)


def _scope(id_: int, back: Back) -> Scope:
    return Scope(id_, *back.names[1:])


def _insert(tx: Transaction, wanted: Iterable[Wanted]) -> None:
    groups: dict[tuple[str, tuple[str, ...]], list[Row]] = {}
    for one in wanted:
        groups.setdefault((one.table.name, one.columns), []).append(one.row)
    for (table, columns), rows in groups.items():
        tx.many(f"INSERT INTO `{table}` ({quoted(columns)}) VALUES ({marks(columns)})", rows)


def _keep_waiting(tx: Transaction, step: Step) -> None:
    """Write an entry with the rows of an object that cannot come back yet, because they are about another one too."""
    for id_, back in step.backs.items():
        if id_ in step.refused or not back.waiting:
            continue
        rows: dict[str, TableRows] = {}
        for one in back.waiting:
            rows.setdefault(one.table.name, TableRows(one.columns)).rows.append(one.row)
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
        if unfit(keys, content):
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
