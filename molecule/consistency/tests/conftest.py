"""The warehouse that the tests are about, and a database of its own for each of them.

HOPSHIVE_LAB names the lab by its label; without it, it is the scenario's own.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from tests.contract import ELSEWHERE, Footprint, OwnDatabase
from tests.warehouse import Warehouse

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

_WAREHOUSE = pytest.StashKey[Warehouse]()


@pytest.fixture(scope="session", name="warehouse")
def the_warehouse(request: pytest.FixtureRequest) -> Iterator[Warehouse]:
    """It is quiet and led before the first test."""
    with Warehouse.find(os.environ.get("HOPSHIVE_LAB", "molecule-consistency")) as warehouse:
        warehouse.wait_leader()
        warehouse.wait_quiet()
        request.config.stash[_WAREHOUSE] = warehouse
        yield warehouse


@pytest.fixture(name="db")
def own_database(warehouse: Warehouse, request: pytest.FixtureRequest) -> Iterator[OwnDatabase]:
    """An empty database with the test's name."""
    name = re.sub(r"\W+", "_", request.node.name.removeprefix("test_")).strip("_").lower()
    db = OwnDatabase(warehouse, f"ct_{name[:60]}")
    db.create()
    warehouse.wait_quiet()
    yield db
    db.drop()
    warehouse.wait_quiet()


@pytest.fixture
def an_empty_elsewhere(warehouse: Warehouse) -> Iterator[None]:
    """A directory of no database, which no metadata knows."""
    warehouse.hdfs.mkdir(ELSEWHERE)
    yield
    warehouse.hdfs.delete(ELSEWHERE)


@pytest.fixture(scope="session")
def dropped() -> list[Footprint]:
    """What statements dropped in the whole run."""
    return []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure shows what the daemons said last."""
    report = yield
    warehouse = item.config.stash.get(_WAREHOUSE, None)
    if report.failed and warehouse:
        for cleaner in warehouse.cleaners:
            title = f"{cleaner.unit} on {cleaner.host.name}"
            report.sections.append((title, cleaner.journal(40)))
    return report
