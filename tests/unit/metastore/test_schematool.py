"""Which schema of Hive is there, what is to be done, and what only a human may decide."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hopshive.metastore.schematool import (
    MUTEX_KEYS,
    Plan,
    SchemaError,
    SchemaState,
    decide,
    parse_order,
    told,
    verify,
)

VERSIONS = ("3.1.0", "3.2.0", "4.0.0-alpha-1", "4.0.0")


SOME = frozenset({"VERSION", "DBS", "TBLS"})


ALL_KEYS = frozenset(MUTEX_KEYS)


@pytest.mark.parametrize(
    ("found", "plan"),
    [
        (SchemaState(), Plan("init", "", "4.0.0", MUTEX_KEYS)),
        (SchemaState(SOME, "4.0.0", ALL_KEYS), Plan("none", "4.0.0", "4.0.0", ())),
        (SchemaState(SOME, "4.0.0", ALL_KEYS - {"Cleaner"}), Plan("none", "4.0.0", "4.0.0", ("Cleaner",))),
        (SchemaState(SOME, "4.0.0-alpha-1", ALL_KEYS), Plan("upgrade", "4.0.0-alpha-1", "4.0.0", ())),
        (SchemaState(SOME, "3.1.0"), Plan("upgrade", "3.1.0", "4.0.0", MUTEX_KEYS)),
    ],
)
def test_what_is_there_decides(found: SchemaState, plan: Plan) -> None:
    assert decide(found, VERSIONS, "the database") == plan


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (SchemaState(SOME), r"3 tables \(DBS, TBLS, VERSION ...\) but no row in VERSION.*Nothing was changed"),
        (SchemaState(frozenset({"wordpress"})), r"1 tables \(wordpress ...\) but no row in VERSION"),
        (SchemaState(SOME, "4.1.0"), "is 4.1.0, the installed Hive has 4.0.0.*it is newer"),
        (SchemaState(SOME, "0.13"), "is 0.13, the installed Hive has 4.0.0"),
    ],
)
def test_what_only_a_human_may_decide_is_refused(found: SchemaState, sentence: str) -> None:
    with pytest.raises(SchemaError, match=sentence):
        decide(found, VERSIONS, "the database")


def test_the_order_of_upgrades_names_each_version_once() -> None:
    assert parse_order("3.1.0-to-3.2.0\n3.2.0-to-4.0.0-alpha-1\n4.0.0-alpha-1-to-4.0.0\n") == VERSIONS
    for text in ("3.1.0-to-3.2.0\n4.0.0-to-4.1.0\n", "3.1.0\n", ""):
        with pytest.raises(SchemaError, match=r"upgrade\.order\.mysql"):
            parse_order(text)


def test_only_the_end_of_an_output_is_told() -> None:
    assert told("SLF4J: x\n\n" + "\n".join(f"line {n}" for n in range(30)) + "\n") == " | ".join(
        f"line {n}" for n in range(15, 30)
    )


def test_a_dump_must_be_whole(tmp_path: Path) -> None:
    good, cut, torn = (tmp_path / name for name in ("good", "cut", "torn"))
    good.write_bytes(gzip.compress(b"INSERT;\n" * 100_000 + b"-- Dump completed on 2025-01-01 12:00:00\n"))
    verify(good)
    cut.write_bytes(gzip.compress(b"INSERT;\n"))
    torn.write_bytes(good.read_bytes()[:-100])
    with pytest.raises(SchemaError, match="is not whole"):
        verify(cut)
    with pytest.raises(SchemaError, match="cannot be read back"):
        verify(torn)
