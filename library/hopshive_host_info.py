#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""What preflight must know of a host. Standard library only: it runs before anything is installed there."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_host_info
short_description: Collect what preflight checks of a host
version_added: "0.1.0"
description:
  - Returns the distribution, the architecture, the memory, the release of a JDK, the version of a Python, the free
    space for paths that need not exist yet, the addresses of names, users and groups, and the listening TCP ports with
    the process and the systemd unit that hold each.
  - Needs Python 3.9 and nothing else on the host, and runs no command there but O(python), and C(nft) if O(firewall) is
    true. Run it as root, or the holders of other users' ports stay unknown.
notes:
  - "Role that uses this module: C(preflight)."
  - The page of documentation is C(docs/hosts.md).
seealso:
  - module: hopshive_preflight
options:
  java_home:
    description: Home of a JDK, whose file C(release) names its version.
    type: path
    required: true
  paths:
    description: Paths whose file systems are asked for free space, or their nearest parents that exist.
    type: list
    elements: path
    default: []
  python:
    description: A Python interpreter, which is run to tell its version. Empty asks for none.
    type: path
    default: ""
  resolve:
    description: Names that are resolved to IPv4 addresses as the host's programs resolve them.
    type: list
    elements: str
    default: []
  users:
    description: Names of users, and the uid that each must have, or null.
    type: dict
    default: {}
  groups:
    description: Names of groups.
    type: list
    elements: str
    default: []
  firewall:
    description: Whether C(nft) is asked to check, without loading it, whether the host takes rules.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Changes nothing.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Look at the host
  hopshive_host_info:
    java_home: /usr/lib/jvm/java-17-openjdk-amd64
    paths: [/opt/hopshive, /var/lib/hopshive]
    python: /usr/bin/python3
    resolve: [master1.example.com]
    users: {hive: 1513}
    groups: [hive, hadoop]
  register: host
"""

RETURN = r"""
distribution:
  description: The C(ID) of os-release.
  returned: always
  type: str
  sample: debian
version:
  description: The C(VERSION_ID) of os-release.
  returned: always
  type: str
  sample: "12"
architecture:
  description: The machine's architecture.
  returned: always
  type: str
  sample: x86_64
memory_mb:
  description: The memory of the host, or the limit of the control group that the host is, in MiB.
  returned: always
  type: int
  sample: 16384
java_release:
  description: The feature release of the JDK at O(java_home), or null if there is none.
  returned: always
  type: int
  sample: 17
python_version:
  description: The version of O(python), empty if it does not run, null if it is not there.
  returned: always
  type: str
  sample: "3.11"
addresses:
  description: The IPv4 addresses of each name of O(resolve); none if it does not resolve.
  returned: always
  type: dict
  sample: {master1.example.com: [192.0.2.11]}
users:
  description:
    - The users of O(users). C(uid) is null if there is no such user. C(holder) is the user who has the wanted uid,
      empty if no user has it.
  returned: always
  type: list
  elements: dict
  sample:
    - {name: hive, uid: 1513, holder: hive}
groups:
  description: Those of O(groups) that exist.
  returned: always
  type: list
  elements: str
  sample: [hive]
firewall:
  description: Why the host takes no rules, empty if it takes them, null without O(firewall).
  returned: always
  type: str
  sample: ""
entered_as:
  description: The user that the module ran as, empty if that is root.
  returned: always
  type: str
  sample: admin
disks:
  description: Each file system once, with the paths that it holds and its free space in MiB.
  returned: always
  type: list
  elements: dict
  sample:
    - {paths: [/opt/hopshive, /var/lib/hopshive], free_mb: 40960}
listeners:
  description: Listening TCP ports. C(pid) is 0, C(process) and C(unit) are empty where they could not be told.
  returned: always
  type: list
  elements: dict
  sample:
    - {port: 22, pid: 612, process: sshd, unit: ssh.service}
"""

import contextlib
import grp
import os
import platform
import pwd
import re
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

LISTEN = "0A"
VERSION_OF_PYTHON = "import sys; print('%d.%d' % sys.version_info[:2])"


def parse_os_release(text: str) -> tuple[str, str]:
    """ID and VERSION_ID of an os-release file; empty where absent."""
    values = dict(re.findall(r"^(\w+)=[\"']?(.*?)[\"']?\s*$", text, re.MULTILINE))
    return values.get("ID", ""), values.get("VERSION_ID", "")


def parse_java_release(text: str) -> int | None:
    """The feature release from a JDK's file `release`: 17 of 17.0.9, 8 of 1.8.0_392."""
    found = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    return int(found.group(1)) if found else None


def parse_meminfo(text: str) -> int:
    """MemTotal of /proc/meminfo in MiB."""
    found = re.search(r"^MemTotal:\s+(\d+) kB", text, re.MULTILINE)
    return int(found.group(1)) // 1024 if found else 0


def parse_sockets(text: str) -> dict[str, tuple[int, int]]:
    """Listening sockets of /proc/net/tcp or tcp6: inode, and its port and user id."""
    sockets = {}
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == LISTEN:
            sockets[fields[9]] = (int(fields[1].rpartition(":")[2], 16), int(fields[7]))
    return sockets


def parse_unit(text: str) -> str:
    """The systemd unit of /proc/PID/cgroup: the innermost service or scope; empty if there is none."""
    paths = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        paths[controllers] = path
    # systemd keeps its units in its own hierarchy (version 1), or in the only one (version 2).
    path = paths.get("name=systemd") or paths.get("") or ""
    units = [part for part in path.split("/") if part.endswith((".service", ".scope"))]
    return units[-1] if units else ""


def _read(path: Path) -> str:
    """A file's text; empty if it is not there, not ours to read, or of a process that has just ended."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _memory_mb(proc: Path, cgroup: Path) -> int:
    memory = parse_meminfo(_read(proc / "meminfo"))
    limit = _read(cgroup / "memory.max").strip()
    return min(memory, int(limit) // 2**20) if limit.isdigit() else memory


def _link(descriptor: Path) -> str:
    """Where a descriptor leads; empty if it was closed meanwhile. Raises PermissionError where that may not be seen."""
    try:
        return str(descriptor.readlink())
    except FileNotFoundError:
        return ""


def _holders(proc: Path, users: dict[str, int]) -> dict[str, int]:
    """The process that holds each of the sockets (inode and user id): inode and the lowest process id.

    In a container root may not look into the processes of other users; there, a socket is taken to be held by the first
    such process of the socket's user.
    """
    holders: dict[str, int] = {}
    hidden: dict[int, int] = {}
    for pid in sorted(int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()):
        process = proc / str(pid)
        try:
            for descriptor in (process / "fd").iterdir():
                target = _link(descriptor)
                inode = target[len("socket:[") : -1] if target.startswith("socket:[") else ""
                if inode in users:
                    holders.setdefault(inode, pid)
        except PermissionError:
            hidden.setdefault(process.stat().st_uid, pid)
        except OSError:
            continue
    guessed = {inode: hidden[user] for inode, user in users.items() if user in hidden}
    return {**guessed, **holders}


def listeners(proc: Path = Path("/proc")) -> list[dict[str, Any]]:
    """Every listening TCP port of this network namespace, with process and unit."""
    sockets = {**parse_sockets(_read(proc / "net/tcp")), **parse_sockets(_read(proc / "net/tcp6"))}
    holders = _holders(proc, {inode: user for inode, (_, user) in sockets.items()})
    found = {}
    for inode, (port, _) in sockets.items():
        pid = holders.get(inode, 0)
        found[port, pid] = {
            "port": port,
            "pid": pid,
            "process": _read(proc / str(pid) / "comm").strip() if pid else "",
            "unit": parse_unit(_read(proc / str(pid) / "cgroup")) if pid else "",
        }
    return [found[key] for key in sorted(found)]


def disks(paths: list[str]) -> list[dict[str, Any]]:
    """Each file system that holds or will hold one of the paths, and its free MiB."""
    found: dict[int, dict[str, Any]] = {}
    for path in paths:
        place = Path(path)
        while not place.exists():
            place = place.parent
        status = os.statvfs(place)
        free_mb = status.f_bavail * status.f_frsize // 2**20
        disk = found.setdefault(place.stat().st_dev, {"paths": [], "free_mb": free_mb})
        if path not in disk["paths"]:
            disk["paths"].append(path)
    return list(found.values())


def python_version(interpreter: str) -> str | None:
    """The version of an interpreter; empty if it does not run, None if there is none."""
    if not interpreter or not Path(interpreter).exists():
        return None
    try:
        done = subprocess.run(
            [interpreter, "-I", "-c", VERSION_OF_PYTHON], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    version = done.stdout.strip()
    return version if done.returncode == 0 and re.fullmatch(r"\d+\.\d+", version) else ""


def _addresses(name: str) -> list[str]:
    try:
        found = socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return sorted({str(address[0]) for *_, address in found})


def resolve(names: list[str]) -> dict[str, list[str]]:
    """The IPv4 addresses of each name. Side by side, because a name server that does not answer takes its time."""
    with ThreadPoolExecutor(max_workers=16) as pool:
        asked = {name: pool.submit(_addresses, name) for name in names}
        return {name: answer.result() for name, answer in asked.items()}


def users(wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """Each user's uid, and the holder of its wanted uid; asked for one by one, as a directory may not list all."""
    found = []
    for name, uid in wanted.items():
        user: dict[str, Any] = {"name": name, "uid": None, "holder": ""}
        with contextlib.suppress(KeyError):
            user["uid"] = pwd.getpwnam(name).pw_uid
        with contextlib.suppress(KeyError):
            user["holder"] = "" if uid is None else pwd.getpwuid(int(uid)).pw_name
        found.append(user)
    return found


def firewall() -> str:
    """Why the host takes no firewall rules, in one line; empty if it takes them. Loads none."""
    rules = "table inet hopshive_probe { chain input { type filter hook input priority filter; } }"
    try:
        done = subprocess.run(
            ["nft", "--check", rules],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except FileNotFoundError:
        return "it has no command nft"
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    said = (done.stderr.strip().splitlines() or [f"nft ended with {done.returncode}"])[0]
    return said if done.returncode else ""


def entered_as() -> str:
    """The user that the module runs as; empty for root."""
    uid = os.geteuid()
    if uid == 0:
        return ""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def groups(names: list[str]) -> list[str]:
    """Those of the groups that exist."""
    found = []
    for name in names:
        with contextlib.suppress(KeyError):
            found.append(grp.getgrnam(name).gr_name)
    return found


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "java_home": {"type": "path", "required": True},
            "paths": {"type": "list", "elements": "path", "default": []},
            "python": {"type": "path", "default": ""},
            "resolve": {"type": "list", "elements": "str", "default": []},
            "users": {"type": "dict", "default": {}},
            "groups": {"type": "list", "elements": "str", "default": []},
            "firewall": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    distribution, version = parse_os_release(_read(Path("/etc/os-release")))
    module.exit_json(
        changed=False,
        distribution=distribution,
        version=version,
        architecture=platform.machine(),
        memory_mb=_memory_mb(Path("/proc"), Path("/sys/fs/cgroup")),
        java_release=parse_java_release(_read(Path(module.params["java_home"]) / "release")),
        python_version=python_version(module.params["python"]),
        addresses=resolve(module.params["resolve"]),
        users=users(module.params["users"]),
        groups=groups(module.params["groups"]),
        firewall=firewall() if module.params["firewall"] else None,
        entered_as=entered_as(),
        disks=disks(module.params["paths"]),
        listeners=listeners(),
    )


if __name__ == "__main__":
    main()
