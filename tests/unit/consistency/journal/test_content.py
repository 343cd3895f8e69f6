"""What an entry of the journal holds comes out as it went in."""

from __future__ import annotations

import json
import zlib
from datetime import date, datetime
from decimal import Decimal

import pytest

from hopshive.consistency.journal.content import ContentError, decode, encode, fragment
from hopshive.metastore.closure import TableRows

VALUES = [
    None,
    0,
    -(2**63),
    2**64,
    0.1,
    -1e308,
    5e-324,
    "",
    'Größe \u20ac \x00 \\ "',
    "\ud800",
    b"",
    bytes(range(256)),
    datetime(2024, 3, 31, 2, 30, 0, 123456),
    date(2024, 2, 29),
    Decimal("-12345678901234567890.0001"),
]


def _entry(**changes: object) -> bytes:
    whole = {"format": 1, "schema": "4.0.0", "names": ["hive"], "rows": {}, "shared": [], "named": {}}
    return zlib.compress(json.dumps(whole | changes).encode())


def test_every_kind_of_value_comes_out_as_it_went_in() -> None:
    columns = tuple(f"c{at}" for at in range(len(VALUES)))
    rows = fragment({"T": TableRows(columns, [tuple(VALUES), tuple(reversed(VALUES))])})
    content = decode(encode("4.0.0", ("hive", "db"), rows, [rows, rows], fragment({})))
    assert (content.schema, content.names, content.named) == ("4.0.0", ("hive", "db"), {})
    assert len(content.shared) == 2
    for found in (content.rows["T"], *(one["T"] for one in content.shared)):
        assert found.columns == columns
        assert found.rows == [tuple(VALUES), tuple(reversed(VALUES))]
        assert list(map(type, found.rows[0])) == list(map(type, VALUES))


def test_another_format_is_named() -> None:
    with pytest.raises(ContentError, match="format 2, and this hopshive reads 1"):
        decode(_entry(format=2))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense",
        zlib.compress(b"{}"),
        zlib.compress(b"[]"),
        zlib.compress(b"\xff"),
        _entry()[:-1],
        _entry(rows={"T": [["a"], [[{"x": "y"}]]]}),
        _entry(rows={"T": [["a"], [[{"b": "!"}]]]}),
        _entry(rows={"T": [["a"]]}),
        _entry(rows=[]),
    ],
)
def test_what_is_damaged_is_said_to_be(data: bytes) -> None:
    with pytest.raises(ContentError, match="damaged"):
        decode(data)


def test_a_value_that_cannot_be_written_is_an_error() -> None:
    with pytest.raises(TypeError, match="cannot hold a set"):
        fragment({"T": TableRows(("a",), [({1},)])})
