"""A smaller statement that still has a wrong answer: parts are left out or replaced by simpler ones while it has."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from tests.answers.statements import AGGREGATES, Expr, Group, Join, Select, SetOperation, names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.answers.statements import Query


def reduced(query: Query, is_wrong: Callable[[Query], bool], tries: int = 200) -> Query:
    """The smallest statement found with so many calls of `is_wrong`, which says whether a statement still shows the fault."""
    seen = {query}
    progress = True
    while progress and tries > 0:
        progress = False
        for smaller in sorted(candidates(query), key=size):
            if smaller in seen or size(smaller) >= size(query):
                continue
            seen.add(smaller)
            tries -= 1
            if is_wrong(smaller):
                query, progress = smaller, True
                break
            if tries <= 0:
                break
    return query


def size(one: Any) -> int:
    """How many parts something has."""
    if isinstance(one, tuple):
        return sum(map(size, one))
    if is_dataclass(one):
        # A plain column is simpler than a literal, NULL is simplest, and each clause counts.
        return 1 + sum(size(getattr(one, field.name)) for field in fields(one))
    return 0 if one is None or one == "" or one is False else 1


def candidates(query: Query) -> Iterator[Query]:
    """All statements that are one step smaller. Some mean nothing, such as a column of a table that was left out."""
    yield from (one for one in _smaller(query) if isinstance(one, Select | SetOperation))


def _smaller(one: Any) -> Iterator[Any]:
    yield from _here(one)
    if isinstance(one, tuple):
        for at, part in enumerate(one):
            for other in _smaller(part):
                yield (*one[:at], other, *one[at + 1 :])
    elif isinstance(one, Group):
        # What a key is, columns repeat: keys are only left out.
        return
    elif is_dataclass(one) and not isinstance(one, type):
        for field in fields(one):
            if field.name == "window":
                continue
            for other in _smaller(getattr(one, field.name)):
                yield replace(one, **{field.name: other})


def _here(one: Any) -> Iterator[Any]:
    """What can stand in the place of a part itself."""
    if isinstance(one, SetOperation):
        yield from _unordered(one)
        yield one.left
        yield one.right
        yield from _narrower(one)
    elif isinstance(one, Select):
        yield from _unordered(one)
        yield from _select(one)
    elif isinstance(one, Join):
        yield one.left
        yield one.right
        if one.how != "INNER" and one.on is not None:
            yield replace(one, how="INNER")
    elif isinstance(one, Group):
        yield from _group(one)
    elif isinstance(one, Expr):
        yield from _expression(one)
    elif hasattr(one, "query"):
        # A derived table for what it is made from.
        if isinstance(one.query, Select):
            yield one.query.source
    elif hasattr(one, "array"):
        yield one.source


def _unordered(one: Query) -> Iterator[Query]:
    """Without LIMIT first: which rows it would keep without an order is up to the engine."""
    if one.limit is not None:
        yield replace(one, limit=None)
    else:
        for at in range(len(one.order)):
            yield replace(one, order=one.order[:at] + one.order[at + 1 :])


def _select(one: Select) -> Iterator[Select]:
    if one.where is not None:
        yield replace(one, where=None)
    if one.having is not None:
        yield replace(one, having=None)
    if one.distinct:
        yield replace(one, distinct=False)
    if one.group is not None:
        yield replace(one, group=None)
    kept = {order.name for order in one.order}
    for at, column in enumerate(one.columns):
        if len(one.columns) > 1 and column.name not in kept:
            yield replace(one, columns=one.columns[:at] + one.columns[at + 1 :])


def _narrower(one: SetOperation) -> Iterator[SetOperation]:
    """Without a column, which both sides lose."""
    left, right = one.left, one.right
    if not isinstance(left, Select) or not isinstance(right, Select) or len(left.columns) < 2:
        return
    kept = {order.name for order in one.order}
    for at, name in enumerate(names(one)):
        if name not in kept:
            without = [replace(side, columns=side.columns[:at] + side.columns[at + 1 :]) for side in (left, right)]
            yield replace(one, left=without[0], right=without[1])


def _group(one: Group) -> Iterator[Group]:
    if one.how != "plain":
        yield replace(one, how="plain", sets=())
    for at in range(len(one.sets)):
        if len(one.sets) > 1:
            yield replace(one, sets=one.sets[:at] + one.sets[at + 1 :])
    if len(one.keys) > 1 and one.how != "sets":
        for at in range(len(one.keys)):
            yield replace(one, keys=one.keys[:at] + one.keys[at + 1 :])


def _expression(one: Expr) -> Iterator[Expr]:
    yield from (arg for arg in one.args if arg.kind == one.kind)
    if one.op in ("column", "literal", "null") or one.kind in ("array", "map", "struct"):
        return
    if one.window is not None or one.op in AGGREGATES:
        return
    if one.op in ("in", "not in") and len(one.args) > 2:
        yield from (replace(one, args=one.args[:at] + one.args[at + 1 :]) for at in range(1, len(one.args)))
    yield Expr(one.kind, "null")
