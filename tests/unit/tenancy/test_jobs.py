"""Which jobs on YARN end when people leave a project."""

from __future__ import annotations

import pytest

from hopshive.services.health import NoAnswer
from hopshive.services.resourcemanager import Job, ResourceManager
from hopshive.tenancy.jobs import WHY, JobsError, end_former

ALICE = Job("application_1700000000000_0001", "sales__alice")
BOB = Job("application_1700000000000_0002", "sales__bob")
OTHERS = [
    Job("application_1700000000000_0003", "hive"),
    Job("application_1700000000000_0004", "plans__bob"),
    Job("application_1700000000000_0005", "sales"),
]


class Manager(ResourceManager):
    """A ResourceManager with these jobs; None: it does not answer."""

    def __init__(self, *jobs: Job, state: str | None = "active", refuses: bool = False) -> None:
        super().__init__("rm:8088")
        self.listed = list(jobs)
        self.state = state
        self.refuses = refuses
        self.ended: list[tuple[str, str]] = []

    def is_active(self) -> bool:
        if self.state is None:
            raise NoAnswer("rm:8088: connection refused")
        return self.state == "active"

    def jobs(self) -> list[Job]:
        return self.listed

    def end(self, application: str, why: str) -> None:
        if self.refuses:
            raise NoAnswer("AccessControlException: no")
        self.ended.append((application, why))


def test_jobs_of_former_members_end_and_no_others() -> None:
    manager = Manager(ALICE, BOB, *OTHERS)
    assert end_former([manager], {"sales"}, {"sales__alice"}) == [BOB]
    assert manager.ended == [(BOB.application, WHY)]


def test_a_removed_project_has_no_members() -> None:
    manager = Manager(ALICE, BOB, *OTHERS)
    assert end_former([manager], {"sales", "plans"}, set()) == [ALICE, BOB, OTHERS[1]]


def test_a_dry_run_ends_none() -> None:
    manager = Manager(ALICE, BOB)
    assert end_former([manager], {"sales"}, {"sales__alice"}, dry=True) == [BOB]
    assert manager.ended == []


def test_the_active_resourcemanager_is_asked() -> None:
    silent, standby, active = Manager(BOB, state=None), Manager(BOB, state="standby"), Manager(BOB)
    assert end_former([silent, standby, active], {"sales"}, set()) == [BOB]
    assert (silent.ended, standby.ended, active.ended) == ([], [], [(BOB.application, WHY)])


def test_without_an_active_resourcemanager_the_operator_is_told() -> None:
    with pytest.raises(JobsError, match=r"No ResourceManager is active.*connection refused"):
        end_former([Manager(state=None), Manager(state="standby")], {"sales"}, set())


def test_a_refusal_is_told() -> None:
    with pytest.raises(JobsError, match="did not end jobs of former members: AccessControlException"):
        end_former([Manager(BOB, refuses=True)], {"sales"}, set())
