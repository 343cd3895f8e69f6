"""What `make lab` prints at its end, rendered by Ansible's own templar."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

ROOT = Path(__file__).parents[3]
ROLE = ROOT / "roles/lab"


def printed(inventory: str) -> str:
    """What a lab of an inventory prints, whose name is as Ansible knows it."""
    loader = DataLoader()
    variables = loader.load_from_file(str(ROLE / "vars/main.yml"), trusted_as_template=True)
    known = {"groups": {"client": ["edge"]}, "role_path": str(ROLE), "ansible_inventory_sources": [inventory]}
    templar = Templar(loader=loader, variables={**variables, **known})
    return str(templar.template(trust_as_template("{{ __lab_connect }}")))


@pytest.mark.parametrize(
    ("inventory", "argument"),
    [
        (str(ROOT / "inventories/lab"), ""),
        (str(ROOT / "inventories/lab_ha"), " INVENTORY=inventories/lab_ha"),
        (str(ROOT / "inventories/mine/hosts.yml"), " INVENTORY=inventories/mine/hosts.yml"),
        ("/srv/labs/one", " INVENTORY=/srv/labs/one"),
    ],
)
def test_the_commands_that_follow_name_another_lab(inventory: str, argument: str) -> None:
    lines = printed(inventory).splitlines()
    assert f"job      make smoke{argument} runs it again" in lines
    assert f"the end  make lab-down{argument} removes the containers; the cache stays" in lines
