"""What the modules of health ask the servers, and what these answer. The other kinds are asked in the unit tests."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.modules import run_module


def ask(host: Any, kind: str, port: int, **more: Any) -> dict[str, Any]:
    """What the module that each role waits with answers, run on the controller."""
    address = host.run("hostname -i").stdout.split()[0]
    result: dict[str, Any] = run_module(
        "hopshive_answers", {"kind": kind, "host": address, "port": port, "timeout": 30, **more}
    )
    assert not result.get("changed")
    return result


@pytest.mark.group("resourcemanager")
def test_a_resourcemanager_is_active(host: Any) -> None:
    assert ask(host, "resourcemanager", 8088)["facts"]["state"] == "active"


@pytest.mark.group("nodemanager")
def test_a_nodemanager_is_known_to_its_resourcemanager(host: Any) -> None:
    site = host.file("/etc/hadoop/conf/yarn-site.xml").content_string
    found = re.search(r"yarn.resourcemanager.webapp.address</name>\s*<value>([^<:]+):(\d+)", site)
    assert found
    address = host.run(f"getent hosts {found[1]}").stdout.split()[0]
    resourcemanager = f"http://{address}:{found[2]}"
    facts = ask(host, "nodemanager", 8042, resourcemanager=resourcemanager)["facts"]
    assert facts["resourcemanager"] == resourcemanager
    assert facts["name"].startswith(host.backend.host)


@pytest.mark.group("metastore")
def test_a_metastore_answers_with_its_catalogs(host: Any) -> None:
    assert ask(host, "metastore", 9083)["facts"] == {"version": "4.0.1", "catalogs": ["hive"]}


@pytest.mark.group("server2")
def test_a_hiveserver2_opens_a_session_and_runs_a_statement(host: Any) -> None:
    assert ask(host, "server2", 10000, login_user="hive")["facts"] == {"version": "4.0.1"}
    shown = ask(host, "server2", 10000, login_user="hive", statement="SHOW DATABASES LIKE 'default'")
    assert shown["facts"] == {"version": "4.0.1", "rows": 1}


@pytest.mark.group("server2")
def test_a_statement_that_fails_is_told(host: Any) -> None:
    refused = ask(host, "server2", 10000, login_user="hive", statement="SELEKT 1", timeout=0)
    assert refused["failed"]
    assert "cannot recognize input near 'SELEKT'" in refused["msg"]
