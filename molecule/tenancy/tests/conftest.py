"""The lab whose people log in. HOPSHIVE_LAB names another one by its label; without it, it is the scenario's own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.jdbc_client import JdbcClient
from tests.warehouse import CommandError
from tests.warehouse.database import MetastoreDatabase
from tests.warehouse.people import PeopleLab

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

# The scenario's log is of what users run.
os.environ.pop("ANSIBLE_LOG_PATH", None)

_LAB = pytest.StashKey[PeopleLab]()
# Whose journals a failure shows.
UNITS = {"login": "hopshive-login", "gateway": "hopshive-gateway", "server2": "hive-server2"}
STATE = "hopshive"


@pytest.fixture(scope="session", name="people")
def the_lab(request: pytest.FixtureRequest) -> PeopleLab:
    found = PeopleLab.find(os.environ.get("HOPSHIVE_LAB", "molecule-tenancy"))
    request.config.stash[_LAB] = found
    return found


@pytest.fixture(scope="session", name="jdbc")
def a_program_on_the_jvm(tmp_path_factory: pytest.TempPathFactory) -> JdbcClient:
    return JdbcClient.build(tmp_path_factory.mktemp("jdbc"))


@pytest.fixture(scope="session", name="database")
def tables_of_hopshive(people: PeopleLab) -> Iterator[MetastoreDatabase]:
    found = MetastoreDatabase(people.lab, STATE)
    yield found
    found.close()


@pytest.fixture(autouse=True)
def no_wrong_passwords_of_before(database: MetastoreDatabase) -> None:
    """All tests come from one address, which has a limit of wrong passwords."""
    database.execute(f"DELETE FROM {STATE}.login_limit")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure shows what the services of a login said last."""
    report = yield
    found = item.config.stash.get(_LAB, None)
    if report.failed and found:
        for group, unit in UNITS.items():
            for host in found.lab.group(group):
                try:
                    said = host.run("journalctl", "--no-pager", "--output=cat", "-n", "30", "-u", unit).stdout
                except CommandError as error:
                    said = str(error)
                report.sections.append((f"{unit} on {host.name}", said))
    return report
