"""Rights to see and to end an application on YARN where people log in: a real ResourceManager with the settings of the roles."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError

import pytest
import yaml

from hopshive.services.health import NoAnswer
from hopshive.services.resourcemanager import ResourceManager
from tests.support.modules import run_module
from tests.support.patience import until
from tests.support.servers import ROOT, free_port, hadoop_classpath, run_java, unpack, wait_until, write_site

if TYPE_CHECKING:
    from collections.abc import Iterator

ALICE, BOB, DAVE = "sales__alice", "sales__bob", "plans__dave"
PROJECTS = {
    "sales": {"id": 20000, "members": {"alice": {"id": 30000, "role": "owner"}}},
    "plans": {"id": 20002, "members": {"dave": {"id": 30011, "role": "owner"}}},
}


# What docs/tenancy.md shows. GROUPS are those that the ResourceManager finds.
QUEUE = "sales"
QUEUES = {
    "queues": f"default,{QUEUE}",
    "default.capacity": 80,
    f"{QUEUE}.capacity": 20,
    "acl_submit_applications": " ",
    f"{QUEUE}.acl_submit_applications": f" {QUEUE}",
    "default.acl_submit_applications": "*",
}
GROUPS = ";".join(f"{user}={user.partition('__')[0]}" for user in (ALICE, BOB, DAVE))


def settings_of(role: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / f"roles/{role}/vars/main.yml").read_text())[name]
    return found


@dataclass
class Yarn:
    """The ResourceManager's two ports."""

    http_port: int
    port: int

    def manager(self, user: str = "yarn") -> ResourceManager:
        return ResourceManager(f"127.0.0.1:{self.http_port}", f"127.0.0.1:{self.port}", user)

    def submit(self, user: str, queue: str = "default") -> str:
        """An application of a user; without a NodeManager it waits. Raises HTTPError if the user may not use the queue."""
        made = self._post("new-application", user, {})["application-id"]
        master = {"commands": {"command": "true"}}
        job = {"application-id": made, "application-name": "job", "am-container-spec": master, "queue": queue}
        self._post("", user, job)
        until(lambda: made in self.seen("yarn"), 20, lambda: f"{made} is not listed")
        return str(made)

    def seen(self, user: str) -> list[str]:
        return [job.application for job in self.manager(user).jobs()]

    def _post(self, path: str, user: str, content: object) -> Any:
        url = f"http://127.0.0.1:{self.http_port}/ws/v1/cluster/apps/{path}".rstrip("/") + f"?user.name={user}"
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(url, json.dumps(content).encode(), headers)  # noqa: S310 - http
        with urllib.request.urlopen(request, timeout=20) as response:  # noqa: S310 - http
            return json.loads(response.read() or "null")


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yarn]:
    directory = tmp_path_factory.mktemp("yarn")
    hadoop = unpack("hadoop", directory)
    ports = {name: free_port() for name in ("", "scheduler.", "resource-tracker.", "admin.", "webapp.")}
    queue_rights = settings_of("resourcemanager", "__resourcemanager_queue_rights_properties")
    write_site(
        directory / "conf/core-site.xml",
        {"hadoop.tmp.dir": directory / "tmp", "hadoop.user.group.static.mapping.overrides": f"{GROUPS};yarn=hadoop"},
    )
    write_site(
        directory / "conf/yarn-site.xml",
        {f"yarn.resourcemanager.{name}address": f"127.0.0.1:{port}" for name, port in ports.items()}
        | {
            name: str(value).lower()
            for name, value in settings_of("cluster", "__cluster_yarn_rights_properties").items()
        },
    )
    write_site(
        directory / "conf/capacity-scheduler.xml",
        {f"yarn.scheduler.capacity.root.{name}": value for name, value in QUEUES.items()} | queue_rights,
    )
    log = directory / "resourcemanager.log"
    main_class = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
    classpath = [str(directory / "conf"), *hadoop_classpath(hadoop)]
    yarn = Yarn(ports["webapp."], ports[""])

    def answers() -> bool:
        try:
            return yarn.manager().is_active()
        except NoAnswer:
            return False

    with run_java(main_class, classpath, log, environment={"HADOOP_USER_NAME": "yarn"}):
        wait_until(answers, "the ResourceManager", log, 60)
        yield yarn


def test_a_person_sees_the_own_applications_alone(yarn: Yarn) -> None:
    alices, daves = yarn.submit(ALICE), yarn.submit(DAVE)
    assert {alices, daves} <= set(yarn.seen("yarn"))
    assert alices in yarn.seen(ALICE)
    assert alices not in yarn.seen(DAVE)
    # Another member of the project, and the name of a request that brings none.
    assert yarn.seen(BOB) == yarn.seen("nobody") == []


def test_only_its_user_and_yarn_end_an_application(yarn: Yarn) -> None:
    first, second = yarn.submit(ALICE), yarn.submit(ALICE)
    for other in (DAVE, BOB):
        with pytest.raises(NoAnswer, match=f"User {other} cannot perform operation MODIFY_APP on {first}"):
            yarn.manager(other).end(first, "a test")
    yarn.manager(ALICE).end(first, "a test")
    yarn.manager().end(second, "a test")
    until(lambda: not {first, second} & set(yarn.seen("yarn")), 20, lambda: "the applications did not end")


def test_a_queue_of_a_project_takes_its_members_alone(yarn: Yarn) -> None:
    for user in (ALICE, BOB):
        assert yarn.submit(user, QUEUE) in yarn.seen(user)
    with pytest.raises(HTTPError) as refused:
        yarn.submit(DAVE, QUEUE)
    assert f"{DAVE} does not have permission to submit" in refused.value.read().decode()
    for job in yarn.seen(BOB):
        yarn.manager(BOB).end(job, "a test")
    until(lambda: not yarn.seen(BOB), 20, lambda: "the applications of Bob did not end")


def test_jobs_of_people_who_left_end(yarn: Yarn) -> None:
    alices, bobs = yarn.submit(ALICE), yarn.submit(BOB)
    arguments = {
        "projects": PROJECTS,
        "resourcemanager": ["127.0.0.1"],
        "port": yarn.port,
        "http_port": yarn.http_port,
    }
    foretold = run_module("hopshive_project_jobs", arguments, check=True)
    assert (foretold["changed"], foretold["ended"]) == (True, [{"application": bobs, "user": BOB}])
    assert bobs in yarn.seen("yarn")
    assert run_module("hopshive_project_jobs", arguments)["ended"] == foretold["ended"]
    until(lambda: bobs not in yarn.seen("yarn"), 20, lambda: f"{bobs} did not end")
    assert alices in yarn.seen("yarn")
    assert run_module("hopshive_project_jobs", arguments)["changed"] is False


def test_a_resourcemanager_that_is_silent_is_named() -> None:
    port = free_port()
    said = run_module(
        "hopshive_project_jobs", {"projects": PROJECTS, "resourcemanager": ["127.0.0.1"], "http_port": port}
    )
    assert said["failed"]
    assert "No ResourceManager is active" in said["msg"]
    assert f"127.0.0.1:{port}" in said["msg"]
