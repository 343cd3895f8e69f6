"""The collection, installed where nothing of the repository is, runs the warehouse that a clone has made."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.support.collection import NAME, ROOT, Installed, install
from tools.collection import rewrite

INVENTORY = Path(__file__).parents[1] / "inventory"


@pytest.fixture(name="collection", scope="module")
def the_installed_collection(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """With the scenario's inventory beside it, which names filters in full there."""
    installed = install(tmp_path_factory.mktemp("collection"))
    names = rewrite.read_names(ROOT)
    copy = installed.directory / "inventory"
    shutil.copytree(INVENTORY, copy)
    for path in copy.rglob("*.yml"):
        path.write_text(rewrite.tasks(path.read_text(), names))
    return installed


def nothing_changed(collection: Installed, *arguments: str) -> str:
    """Run site on the scenario's hosts; it must end well without a change. Returns what it printed."""
    done = collection.run("ansible-playbook", "-i", "inventory", f"{NAME}.site", *arguments)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    recap = re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+)", done.stdout, flags=re.MULTILINE)
    assert len(recap) > 1
    assert {host: changed for host, changed in recap if changed != "0"} == {}, done.stdout[-6000:]
    return done.stdout


def test_it_finds_every_service_well(collection: Installed) -> None:
    output = nothing_changed(collection, "--tags", "check")
    for role in ("namenode", "metastore", "cleaner", "server2"):
        assert f"TASK [{NAME}.{role} : " in output


def test_it_writes_the_configuration_that_the_hosts_have(collection: Installed) -> None:
    output = nothing_changed(collection, "--tags", "config", "--check", "--diff")
    for role in ("common", "hdfs", "metastore", "spark"):
        assert f"TASK [{NAME}.{role} : " in output
