"""Scenarios of molecule share one base, and a name says which scenario a label, a host or a log belongs to."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.support.servers import ROOT

if TYPE_CHECKING:
    from pathlib import Path

BASE = ROOT / ".config/molecule/config.yml"
SCENARIOS = sorted(path.parent for path in (ROOT / "molecule").glob("*/molecule.yml"))
NAMES = [path.name for path in SCENARIOS]
# The keys of the base that a scenario may give another value.
OVERRIDES = {
    "consistency_ndb": ["provisioner.inventory.links.group_vars"],
    "default": ["scenario.test_sequence"],
    "tenancy": ["scenario.test_sequence"],
}


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text())
    return content


def shared(base: dict[str, Any], own: dict[str, Any], place: str = "") -> dict[str, bool]:
    """The keys that both have, as paths, each with whether both give the same value."""
    found: dict[str, bool] = {}
    for key, value in own.items():
        path = f"{place}{key}"
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            found |= shared(base[key], value, f"{path}.")
        elif key in base:
            found[path] = base[key] == value
    return found


@pytest.mark.parametrize("scenario", SCENARIOS, ids=NAMES)
def test_a_scenario_says_only_what_differs_from_the_base(scenario: Path) -> None:
    keys = shared(read(BASE), read(scenario / "molecule.yml"))
    assert [key for key, same in keys.items() if same] == [], f"{BASE.relative_to(ROOT)} has it"
    assert list(keys) == OVERRIDES.get(scenario.name, [])


def test_a_key_that_the_base_has_is_named() -> None:
    assert shared({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 1, "c": 5}, "d": 3, "e": 4}) == {
        "a.b": True,
        "a.c": False,
        "d": True,
    }


@pytest.mark.parametrize("target", ["molecule", "molecule-create", "molecule-verify", "molecule-destroy"])
def test_make_names_the_base_in_a_tree_that_is_no_clone(target: str) -> None:
    """Molecule looks for it at the root of a clone, and runs its own default steps where it finds none."""
    done = subprocess.run(
        ["make", "--dry-run", "VENV_READY=/dev/null", "BIN=bin", target],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    calls = re.findall(r"bin/molecule (.*)", done.stdout)
    assert calls
    assert [call for call in calls if not call.startswith(f"--base-config {BASE} ")] == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=NAMES)
def test_label_and_hosts_have_the_name_of_the_scenario(scenario: Path) -> None:
    inventory = read(scenario / "inventory/hosts.yml")["all"]
    label = "molecule-" + scenario.name.replace("_", "-")
    assert inventory["vars"]["lab_label"] == label
    hosts = list(inventory["hosts"])
    assert [host for host in hosts if not host.startswith(f"{label}-")] == []
    assert [platform["name"] for platform in read(scenario / "molecule.yml")["platforms"]] == hosts


def test_labs_can_run_beside_each_other() -> None:
    files = [*ROOT.glob("inventories/*/hosts.yml"), *ROOT.glob("molecule/*/inventory/hosts.yml")]
    tops = [read(path).get("all") or {} for path in files]
    labs = [top for top in tops if "lab_label" in (top.get("vars") or {})]
    assert len(labs) > len(SCENARIOS)
    for what in ("lab_label", "lab_subnet"):
        values = [lab["vars"][what] for lab in labs if what in lab["vars"]]
        assert len(values) == len(set(values)), what
    hosts = [host for lab in labs for host in lab["hosts"]]
    assert len(hosts) == len(set(hosts))
