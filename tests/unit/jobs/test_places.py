"""Which names the tables of the job have, in databases of its own and in the database of a project."""

from __future__ import annotations

import re

from jobs.flights import acid
from jobs.flights.figures import DIMENSIONS, QUERIES
from jobs.flights.places import OWN, Places

SALES = Places("sales")
STATEMENTS = [*acid.CREATE, *acid.STEPS.values(), acid.COMPACT, acid.SHOW_COMPACTIONS, *acid.EXPORT]
STATEMENTS += [query.sql for query in (*QUERIES, acid.CARRIERS, DIMENSIONS)]


def test_without_a_project_a_statement_stays_as_it_is() -> None:
    assert [OWN.sql(statement) for statement in STATEMENTS] == STATEMENTS
    assert OWN.emptied("nycflights_acid", ["flights"]) == [
        "DROP DATABASE IF EXISTS nycflights_acid CASCADE",
        "CREATE DATABASE nycflights_acid",
    ]


def test_in_a_project_every_table_is_in_its_database() -> None:
    for statement in STATEMENTS:
        placed = SALES.sql(statement)
        tables = re.findall(r"\bnycflights(?:_acid)?\.([a-z]+)", statement)
        assert tables or statement.startswith("SET "), statement
        assert re.findall(r"\bsales\.nycflights_(?:acid_)?([a-z]+)", placed) == tables
        assert not re.search(r"\bnycflights(?:_acid)?\.", placed)
    assert SALES.emptied("nycflights_acid", ["flights", "carriers"]) == [
        "DROP TABLE IF EXISTS sales.nycflights_acid_flights",
        "DROP TABLE IF EXISTS sales.nycflights_acid_carriers",
    ]


def test_tables_that_look_alike_are_told_apart() -> None:
    assert SALES.sql("SELECT * FROM nycflights.flights JOIN nycflights_acid.flights") == (
        "SELECT * FROM sales.nycflights_flights JOIN sales.nycflights_acid_flights"
    )


def test_a_compaction_is_found_by_the_name_that_the_table_has() -> None:
    row = ["7", "sales", "nycflights_acid_flights", "", "MAJOR", "succeeded", *[""] * 6, ""]
    assert acid.compaction([row], SALES) == ("succeeded", "")
    assert acid.compaction([row]) == ("unknown", "")
