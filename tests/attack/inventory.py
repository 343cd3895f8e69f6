"""People, projects and secrets of a lab, as its inventory has them on the controller."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pyotp

from hopshive.tenancy.projects import Project, read
from tests.warehouse.hosts import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.warehouse.hosts import Lab

VARIABLES = {
    "people": "lab_people",
    "projects": "projects",
    "authority": "cluster_tls_authority_dir ~ '/authority.pem'",
    "sealing": "login_sealing_key",
    "gateway": "cluster_gateway_secret | default('')",
    "clients": "lab_clients_dir | default('')",
    "separator": "login_code_separator | default('')",
}


class NoTenancyError(click.ClickException):
    """The lab has nobody to attack, or nobody who attacks: one line, and exit code 1."""


@dataclass(frozen=True)
class Person:
    """Someone who logs in. `totp`: the secret of one-time codes, "" for a person without."""

    login: str
    account: str
    password: str = field(repr=False)
    totp: str = field(default="", repr=False)

    def code(self, past: int = 0) -> str:
        """The one-time code of now, or of so many half minutes ago."""
        return str(pyotp.TOTP(self.totp).at(time.time() - 30 * past))


@dataclass(frozen=True)
class Inventory:
    """`clients`: the directory of client certificates, None without a gateway."""

    people: Mapping[str, Person]
    projects: Mapping[str, Project]
    authority: Path
    sealing: str = field(repr=False)
    gateway: str = field(repr=False)
    clients: Path | None
    separator: str


@dataclass(frozen=True)
class Cast:
    """`outsider` is a member of `home`, where they write, and has no rights in `victim`, of which `owner` is one."""

    victim: str
    owner: Person
    home: str
    outsider: Person
    coder: Person | None

    @property
    def owner_user(self) -> str:
        """The project user of the owner."""
        return f"{self.victim}__{self.owner.account}"

    @property
    def outsider_user(self) -> str:
        """The project user of the outsider."""
        return f"{self.home}__{self.outsider.account}"


def read_inventory(lab: Lab) -> Inventory:
    """What Ansible makes of the inventory's variables. Raises NoTenancyError."""
    wanted = ", ".join(f"'{name}': {expression}" for name, expression in VARIABLES.items())
    argv = [str(Path(sys.executable).parent / "ansible"), lab.one("login").name, "-i", str(lab.inventory.parent)]
    argv += ["-m", "ansible.builtin.debug", "-a", f"msg={{{{ {{{wanted}}} | to_json | b64encode }}}}"]
    plain = {"ANSIBLE_STDOUT_CALLBACK": "minimal", "ANSIBLE_CALLBACK_RESULT_FORMAT": "json", "ANSIBLE_NOCOLOR": "1"}
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), **plain}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    try:
        said = json.loads(done.stdout[done.stdout.index("{") :])["msg"]
        return parsed(json.loads(base64.b64decode(said, validate=True)))
    except (ValueError, KeyError) as error:
        raise NoTenancyError(
            f"{lab.inventory.parent}: lab_people and projects cannot be read: {error}. Ansible said: "
            f"{(done.stderr or done.stdout)[-300:].strip()}"
        ) from None


def parsed(found: Mapping[str, Any]) -> Inventory:
    """The inventory of Ansible's values. Raises KeyError and ValueError."""
    people = {
        login: Person(login, one["account"], one["password"], one.get("totp", ""))
        for login, one in found["people"].items()
    }
    return Inventory(
        people,
        read(found["projects"]),
        Path(found["authority"]),
        found["sealing"],
        found["gateway"],
        Path(found["clients"]) if found["clients"] else None,
        found["separator"],
    )


def cast(inventory: Inventory) -> Cast:
    """Who attacks whom. Raises NoTenancyError if nobody is outside of anybody's project."""
    easy = [one for one in inventory.people.values() if not one.totp]
    coder = next((one for one in inventory.people.values() if one.totp), None)
    for victim in inventory.projects.values():
        for owner in easy:
            if victim.members.get(owner.account) is None or victim.members[owner.account].role != "owner":
                continue
            for home in inventory.projects.values():
                if home.name == victim.name or home.name in victim.readers:
                    continue
                for outsider in easy:
                    if outsider.account in victim.members or f"{home.name}__{outsider.account}" not in home.writers:
                        continue
                    return Cast(victim.name, owner, home.name, outsider, coder)
    raise NoTenancyError(
        "The inventory needs two projects, an owner of the one, and a writing member of the other who has no rights in the"
        " first, both without one-time codes."
    )
