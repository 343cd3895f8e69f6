"""Whether an answer is right: row for row, with legitimate freedom in the order of ties and in the last digits of doubles."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.answers.statements import Kind

# Doubles are sums in any order.
RELATIVE = 1e-9
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Expected:
    """All rows that a statement has without its LIMIT, in its order. `ties` are the lengths of runs of rows with equal keys.

    Without an order the whole answer is one run.
    """

    rows: tuple[Row, ...]
    ties: tuple[int, ...]
    limit: int | None = None


def expected(rows: Sequence[Row], keys: Sequence[Row] | None, limit: int | None) -> Expected:
    """`keys` are what the rows are sorted by, one a row; None without an order."""
    if keys is None:
        return Expected(tuple(rows), (len(rows),), limit)
    ties: list[int] = []
    for at in range(len(rows)):
        if at and _close(keys[at - 1], keys[at]):
            ties[-1] += 1
        else:
            ties.append(1)
    return Expected(tuple(rows), tuple(ties), limit)


def difference(wanted: Expected, answer: Sequence[Row]) -> str:
    """What is wrong with an answer, or nothing."""
    length = len(wanted.rows) if wanted.limit is None else min(wanted.limit, len(wanted.rows))
    if len(answer) != length:
        return f"{len(answer)} rows instead of {length}" + _leftover(wanted, answer)
    begin = 0
    for run in wanted.ties:
        if begin >= length:
            break
        end = min(begin + run, length)
        if missing := _unmatched(wanted.rows[begin : begin + run], answer[begin:end]):
            where = "" if len(wanted.ties) == 1 else f", in rows {begin + 1} to {end}"
            return f"{len(missing)} wrong rows{where}: {_shown(missing)}"
        begin += run
    return ""


def _leftover(wanted: Expected, answer: Sequence[Row]) -> str:
    if wanted.limit is not None:
        return ""
    more, fewer = _unmatched(wanted.rows, answer), _unmatched(answer, wanted.rows)
    return (f"; too many: {_shown(more)}" if more else "") + (f"; missing: {_shown(fewer)}" if fewer else "")


def _shown(rows: Sequence[Row], most: int = 3) -> str:
    return ", ".join(map(str, rows[:most])) + (", ..." if len(rows) > most else "")


def _unmatched(allowed: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """Those of `rows` that have no partner of their own among `allowed`."""
    free = Counter(allowed)
    left = []
    for row in rows:
        if free[row] > 0:
            free[row] -= 1
        else:
            left.append(row)
    spare = list(free.elements())
    unmatched = []
    for row in left:
        partner = next((at for at, other in enumerate(spare) if _close(other, row)), None)
        if partner is None:
            unmatched.append(row)
        else:
            spare.pop(partner)
    return unmatched


def _close(one: Row, other: Row) -> bool:
    return len(one) == len(other) and all(map(same, one, other))


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same: exact ones exactly, doubles nearly, a decimal for a double up to the decimal's digits."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=1e-12) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, float) and isinstance(other, int | Decimal):
        one, other = other, one
    if isinstance(one, Decimal) and isinstance(other, float):
        digits = Decimal(1).scaleb(int(one.as_tuple().exponent))
        return math.isfinite(other) and abs(float(one) - other) <= float(digits) + RELATIVE * abs(other)
    if isinstance(one, int) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=RELATIVE)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return _close(one, other)
    return bool(one == other)


def row(values: Sequence[Any], kinds: Sequence[Kind]) -> Row:
    """Values as an engine's client has them, as values that can be compared."""
    return tuple(value(one, kind) for one, kind in zip(values, kinds, strict=True))


def value(one: Any, kind: Kind) -> Any:
    """One of them. Raises ValueError for what its type does not have."""
    if one is None:
        return None
    if kind in ("array", "map", "struct"):
        return _nested(json.loads(one) if isinstance(one, str) else one)
    if kind == "decimal":
        return Decimal(str(one))
    if kind == "double":
        return float(one)
    if kind == "int":
        return int(one)
    if kind == "boolean":
        return one if isinstance(one, bool) else {"true": True, "false": False}[str(one).lower()]
    return str(one)


def _nested(one: Any) -> Any:
    """Lists, objects and the values of structs as tuples; the entries of a map in one order."""
    if isinstance(one, dict):
        if set(one) == {"x", "y"}:
            return (one["x"], one["y"])
        return tuple(sorted(one.items()))
    return tuple(map(_nested, one)) if isinstance(one, list | tuple) else one
