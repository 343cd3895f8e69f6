"""Another release of Hive rolls in, and back again to the one that was kept; what was written stays."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from hopshive.services.health import wait_for
from tests.warehouse.hosts import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.faults.site import Site

OTHER = "4.0.0"
TABLE = "default.upgraded"


@pytest.fixture
def other_release(tmp_path: Path) -> Path:
    """This tree with the lock of another release of Hive."""
    tree = tmp_path / "tree"
    shutil.copytree(
        ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv", "build", "*_cache", "__pycache__"), symlinks=True
    )
    shutil.rmtree(tree / "artifacts" / "hive")
    shutil.copytree(ROOT / "molecule" / "ha" / f"hive-{OTHER}", tree / "artifacts" / "hive")
    return tree


def converge(tree: Path, site: Site) -> None:
    inventory = site.lab.inventory.parent.relative_to(ROOT)
    environment = {**os.environ, "ANSIBLE_CONFIG": str(tree / "ansible.cfg"), "PYTHONPATH": str(tree / "src")}
    done = subprocess.run(
        [ROOT / ".venv/bin/ansible-playbook", "-i", str(inventory), "site.yml"],
        cwd=tree, env=environment, capture_output=True, text=True, timeout=1800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]


def beeline(site: Site, statement: str) -> list[str]:
    options = ("-n", "hive", "-p", "", "--silent=true", "--outputformat=tsv2", "--showHeader=false", "-e", statement)
    return site.lab.one("client").run("beeline", *options, user="spark").stdout.split()


def versions(site: Site) -> set[str]:
    return {
        wait_for(site.target(component, host), 60).facts["version"]
        for component in ("metastore", "server2")
        for host in site.lab.group(component)
    }


@pytest.mark.long
def test_another_release_rolls_in_and_back(site: Site, other_release: Path) -> None:
    (now,) = versions(site)
    beeline(
        site,
        f"DROP TABLE IF EXISTS {TABLE}; CREATE TABLE {TABLE} (n INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    )
    beeline(site, f"INSERT INTO {TABLE} VALUES (1)")

    converge(other_release, site)
    assert versions(site) == {OTHER}
    assert beeline(site, f"SELECT n FROM {TABLE} ORDER BY n") == ["1"]
    beeline(site, f"INSERT INTO {TABLE} VALUES (2)")

    converge(ROOT, site)
    assert versions(site) == {now}
    assert beeline(site, f"SELECT n FROM {TABLE} ORDER BY n") == ["1", "2"]
    beeline(site, f"DROP TABLE {TABLE}")
