"""The hosts of a lab: which there are, which service runs where, and commands in their containers."""

from __future__ import annotations

import ipaddress
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import yaml

ROOT = Path(__file__).parents[2]


class CommandError(Exception):
    """A command on a host failed; the message has its output."""


class UnknownLab(click.ClickException, LookupError):
    """No inventory has the label that a command was given: one line, and exit code 1."""


@dataclass(frozen=True)
class Host:
    """A container. `address` works from the controller too."""

    name: str
    address: str

    def run(
        self, *argv: str, user: str = "root", stdin: str = "", check: bool = True, timeout: float = 300
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end. Raises CommandError unless it ends with 0 or `check` is False."""
        done = subprocess.run(
            self.argv(*argv, user=user), input=stdin, capture_output=True, text=True, timeout=timeout, check=False
        )
        if check and done.returncode:
            said = (done.stderr.strip() or done.stdout.strip())[-3000:]
            raise CommandError(f"{self.name}: {shlex.join(argv)}: exit {done.returncode}: {said}")
        return done

    def argv(self, *argv: str, user: str = "root") -> list[str]:
        """The command line on the controller."""
        return ["docker", "exec", "--interactive", "--user", user, self.name, *argv]


@dataclass(frozen=True)
class Lab:
    """The hosts of an inventory, by name and by group."""

    inventory: Path
    label: str
    hosts: dict[str, Host]
    groups: dict[str, tuple[str, ...]]

    def group(self, name: str) -> list[Host]:
        """The hosts of a group, none if there is no such group."""
        return [self.hosts[host] for host in self.groups.get(name, ())]

    def one(self, group: str) -> Host:
        """The first host of a group. Raises LookupError."""
        hosts = self.group(group)
        if not hosts:
            raise LookupError(f"{self.inventory} has no host in the group {group}")
        return hosts[0]


def read_lab(inventory: Path) -> Lab:
    """The lab that an inventory describes: its directory, or its hosts.yml."""
    path = inventory / "hosts.yml" if inventory.is_dir() else inventory
    content = yaml.safe_load(path.read_text())
    everything = content["all"]
    network = ipaddress.ip_network(everything["vars"]["lab_subnet"])
    hosts = {name: Host(name, str(network[variables["lab_number"]])) for name, variables in everything["hosts"].items()}
    groups: dict[str, tuple[str, ...]] = {}
    for name, group in content.items():
        if name != "all":
            _walk(name, group, groups)
    return Lab(path, str(everything["vars"]["lab_label"]), hosts, groups)


def _walk(name: str, group: dict[str, Any] | None, groups: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    group = group or {}
    found = list(group.get("hosts") or {})
    for child, content in (group.get("children") or {}).items():
        found += _walk(child, content, groups)
    groups[name] = tuple(dict.fromkeys((*groups.get(name, ()), *found)))
    return groups[name]


def find_lab(label: str = "lab") -> Lab:
    """The lab with a label, among this tree's inventories and scenarios. Raises UnknownLab."""
    files = [*ROOT.glob("inventories/*/hosts.yml"), *ROOT.glob("molecule/*/inventory/hosts.yml")]
    for path in sorted(files):
        content = yaml.safe_load(path.read_text())
        if ((content.get("all") or {}).get("vars") or {}).get("lab_label") == label:
            return read_lab(path)
    places = ", ".join(str(path.parent.relative_to(ROOT)) for path in sorted(files))
    raise UnknownLab(f"LABEL={label}: no inventory has this lab_label; looked in {places}.")
