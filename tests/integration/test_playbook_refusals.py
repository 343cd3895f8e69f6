"""Playbooks that would do nothing, or a part of what they are for, say so and end. Run against the labs' inventories."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PART = "Nothing was changed. --limit leaves out"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("ndb_backup -i lab", "Nothing was changed. The groups ndb_management, ndb_data and ndb_sql have no host"),
        ("ndb_restore -i lab", "Nothing was changed. The groups ndb_management, ndb_data and ndb_sql have no host"),
        ("ndb_backup -i lab_ha --limit ndb_management", PART),
        ("ndb_restore -i lab_ha --limit ha-one -e ndb_restore_backup=1 -e ndb_restore_replace=true", PART),
        ("decommission -i lab_ha --limit ha-two", "Nothing was changed. Name the component"),
        ("decommission -i lab_ha -e component=metastore -e host=ha-one --limit ha-two", "ha-one, ha-two, within --limit ha-two."),
        ("rolling_restart -i lab_ha --limit ha-two", "Nothing was restarted. Name the component"),
        ("rolling_restart -i lab_ha -e component=namenode --limit ha-three", "but not all within --limit ha-three."),
    ],
)  # fmt: skip
def test_a_playbook_that_would_do_nothing_or_a_part_is_refused(command: str, sentence: str) -> None:
    playbook, _, inventory, *more = command.split()
    argv = [sys.executable, "-m", "ansible.cli.playbook", f"playbooks/{playbook}.yml", "-i", f"inventories/{inventory}"]
    done = subprocess.run([*argv, *more], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert sentence in " ".join(done.stdout.split())
    assert "changed=0" in done.stdout
    assert "changed=1" not in done.stdout


@pytest.mark.parametrize(
    "playbook",
    [
        "site",
        "playbooks/smoke",
        "playbooks/rolling_restart",
        "playbooks/decommission",
        "playbooks/purge",
        "playbooks/lab",
        "playbooks/lab_down",
    ],
)
@pytest.mark.parametrize("content", ["all: {hosts: {one: }, children: {mariadb: {hosts: {one: }}}}", "[]", None])
def test_an_inventory_without_hosts_is_refused(tmp_path: Path, playbook: str, content: str | None) -> None:
    inventory = tmp_path / "hosts.yml"
    if content is not None:
        inventory.write_text(content)
    argv = [sys.executable, "-m", "ansible.cli.playbook", f"{playbook}.yml", "-i", str(inventory)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert f"Nothing was changed. The group hopshive has no host in {inventory}:" in " ".join(done.stdout.split())


def test_an_inventory_of_no_lab_removes_none(tmp_path: Path) -> None:
    """Such as that of a site: it has hosts, and no label of a lab."""
    inventory = tmp_path / "hosts.yml"
    inventory.write_text("hopshive: {children: {mariadb: {hosts: {one: }}}}")
    argv = [sys.executable, "-m", "ansible.cli.playbook", "playbooks/lab_down.yml", "-i", str(inventory)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert f"Nothing was changed. lab_label is not set in {inventory}" in " ".join(done.stdout.split())
