"""What a journal entry holds: the rows of one object, in a format that outlives an upgrade of the metastore's schema.

zlib over JSON. Rows stand under their table with the names of their columns, so they can be put back as long as those exist.
What JSON does not know is written as an object with one member: bytes {"b": base64}, a point in time {"t": ISO 8601, UTC},
a decimal {"n": digits}. Floats are written so that the same float is read.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hopshive.metastore.closure import TableRows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Raised with every change of what stands below; older formats are read as long as their entries may exist.
FORMAT = 1
# The fastest level: entries are small, and a removal writes many of them.
_LEVEL = 1

Tables = dict[str, TableRows]


class ContentError(Exception):
    """An entry cannot be read; the message is a sentence for the operator."""


@dataclass(frozen=True, slots=True)
class Content:
    """The rows of an object.

    `names`: catalog, database, table, partition, as many as it has. `rows` went with it. `shared` are objects that others
    may use as well. `named` belong to it by name (hopshive.metastore.transactional). `schema` is the metastore's schema version.
    """

    schema: str
    names: tuple[str, ...]
    rows: Tables
    shared: Sequence[Tables] = ()
    named: Tables = field(default_factory=dict)


def fragment(tables: Mapping[str, TableRows]) -> str:
    """Rows as text; one text may be put into many entries."""
    return _dumps({name: [found.columns, found.rows] for name, found in tables.items()})


def encode(schema: str, names: Sequence[str], rows: str, shared: Sequence[str], named: str) -> bytes:
    """An entry from its fragments."""
    head = f'{{"format":{FORMAT},"schema":{_dumps(schema)},"names":{_dumps(names)}'
    text = f'{head},"rows":{rows},"shared":[{",".join(shared)}],"named":{named}}}'
    return zlib.compress(text.encode("utf-8", "surrogatepass"), _LEVEL)


def decode(data: bytes) -> Content:
    """Read an entry. Raises ContentError."""
    try:
        read = json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))
        if read["format"] != FORMAT:
            raise ContentError(f"it has the format {read['format']}, and this hopshive reads {FORMAT}")
        return Content(
            schema=read["schema"],
            names=tuple(read["names"]),
            rows=_tables(read["rows"]),
            shared=[_tables(one) for one in read["shared"]],
            named=_tables(read["named"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
        raise ContentError(f"it is damaged ({error})") from error


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, bytes | bytearray):
        return {"b": b64encode(value).decode()}
    if isinstance(value, datetime):
        return {"t": value.isoformat()}
    if isinstance(value, date):
        return {"d": value.isoformat()}
    if isinstance(value, Decimal):
        return {"n": str(value)}
    raise TypeError(f"the journal cannot hold a {type(value).__name__}")


def _value(value: Any) -> object:
    if not isinstance(value, dict):
        return value
    ((kind, text),) = value.items()
    match kind:
        case "b":
            return b64decode(text, validate=True)
        case "t":
            return datetime.fromisoformat(text)
        case "d":
            return date.fromisoformat(text)
        case "n":
            return Decimal(text)
    raise ValueError(f"an unknown kind of value: {kind}")


def _tables(read: Mapping[str, Any]) -> Tables:
    return {
        name: TableRows(tuple(columns), [tuple(map(_value, row)) for row in rows])
        for name, (columns, rows) in read.items()
    }
