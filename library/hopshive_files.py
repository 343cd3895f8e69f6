#!/usr/bin/python
"""Many small configuration files in one trip to the host."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: hopshive_files
short_description: Directories and text files, many in one trip
description:
  - Brings directories and text files to the wanted content, owner, group and mode. A daemon has a dozen of them; one call
    for all costs one trip to the host instead of one or two for each.
  - Each file is written to a temporary name beside it, with its final owner and mode, and then renamed into place.
notes:
  - Most roles use this module.
options:
  directories:
    description: Directories that must exist; parents first. Missing parents are not made.
    type: list
    elements: dict
    default: []
    suboptions:
      path: {description: The directory., type: path, required: true}
      owner: {description: Name of the owner; by default O(owner)., type: str}
      group: {description: Name of the group; by default O(group)., type: str}
      mode: {description: Permissions in octal., type: str, default: "0755"}
  files:
    description: Files that must have this content.
    type: list
    elements: dict
    default: []
    suboptions:
      path: {description: The file., type: path, required: true}
      content: {description: The whole text., type: str, required: true}
      owner: {description: Name of the owner; by default O(owner)., type: str}
      group: {description: Name of the group; by default O(group)., type: str}
      mode: {description: Permissions in octal; by default O(mode)., type: str}
  owner:
    description: Owner of what names none.
    type: str
    default: root
  group:
    description: Group of what names none.
    type: str
    default: root
  mode:
    description: Permissions, in octal, of files that name none.
    type: str
    default: "0644"
attributes:
  check_mode:
    support: full
    description: Says what would change and changes nothing.
  diff_mode:
    support: full
    description: Shows each changed file's text, and changed owners and modes.
  idempotent:
    support: full
    description: A second run changes nothing.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Write a daemon's configuration
  hopshive_files:
    group: hdfs
    mode: "0640"
    directories:
      - {path: /etc/hadoop/conf.namenode, mode: "0750"}
    files:
      - path: /etc/hadoop/conf.namenode/hdfs-site.xml
        content: "{{ namenode_hdfs_site | site_xml(cluster_managed) }}"
"""

RETURN = r"""
paths:
  description: The directories and files that were changed, or would be.
  returned: always
  type: list
  elements: str
  sample: [/etc/hadoop/conf.namenode/hdfs-site.xml]
"""

import grp
import os
import pwd
import stat
import tempfile
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule


class RefusedError(Exception):
    """What keeps a path from being as wanted, as a sentence."""


def _number(kind: str, name: str, predicted: bool) -> int:
    """The id of a user or group; -1 where it does not exist yet and nothing is written anyway."""
    try:
        return pwd.getpwnam(name).pw_uid if kind == "user" else grp.getgrnam(name).gr_gid
    except KeyError:
        if predicted:
            return -1
        raise RefusedError(f"the {kind} {name} does not exist on this host") from None


def _state(path: Path) -> str:
    """Owner, group and mode of a path, as a line to compare and to show; empty where there is nothing."""
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            # The owner of the directory chose the link's target; root follows only links in its own directories.
            if path.parent.stat().st_uid != 0:
                raise RefusedError(f"{path} is a symbolic link in a directory that is not root's: remove it")
            status = path.stat()
    except FileNotFoundError:
        return ""
    return f"owner={status.st_uid} group={status.st_gid} mode={stat.S_IMODE(status.st_mode):04o}"


def _directory(path: Path, wanted: str, owner: int, group: int, mode: int, check: bool) -> dict[str, str] | None:
    before = _state(path)
    if before and not path.is_dir():
        raise RefusedError(f"{path} is there but is no directory")
    if before == wanted:
        return None
    if not check:
        if not before:
            path.mkdir(mode=0o700)
        os.chown(path, owner, group)
        path.chmod(mode)
    return {"before": f"{before or 'absent'}\n", "after": f"{wanted}\n"}


def _file(
    path: Path, wanted: str, content: bytes, owner: int, group: int, mode: int, check: bool
) -> dict[str, str] | None:
    before = _state(path)
    if path.is_dir():
        raise RefusedError(f"{path} is a directory, not a file")
    old = path.read_bytes() if before else b""
    if before == wanted and old == content:
        return None
    if not check:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as partial:
                partial.write(content)
                os.fchown(partial.fileno(), owner, group)
                os.fchmod(partial.fileno(), mode)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    if old == content:
        return {"before": f"{before}\n", "after": f"{wanted}\n"}
    return {"before": old.decode(errors="replace"), "after": content.decode()}


def apply(params: dict[str, Any], check: bool) -> list[tuple[str, dict[str, str]]]:
    """Bring everything to its wanted state; return each changed path with its diff. Raises RefusedError."""
    changes: list[tuple[str, dict[str, str]]] = []
    for kind in ("directories", "files"):
        for item in params[kind]:
            path = Path(item["path"])
            text = item.get("mode") or params["mode"]
            try:
                mode = int(text, 8)
            except ValueError:
                raise RefusedError(f"{path}: the mode {text!r} is not octal, such as 0640") from None
            owner = _number("user", item.get("owner") or params["owner"], check)
            group = _number("group", item.get("group") or params["group"], check)
            wanted = f"owner={owner} group={group} mode={mode:04o}"
            try:
                if kind == "directories":
                    change = _directory(path, wanted, owner, group, mode, check)
                else:
                    change = _file(path, wanted, item["content"].encode(), owner, group, mode, check)
            except OSError as error:
                raise RefusedError(f"{path}: {error.strerror}") from error
            if change is not None:
                changes.append((str(path), change))
    return changes


def main() -> None:
    place = {"path": {"type": "path", "required": True}, "owner": {"type": "str"}, "group": {"type": "str"}}
    module = AnsibleModule(
        argument_spec={
            "directories": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {**place, "mode": {"type": "str", "default": "0755"}},
            },
            "files": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {**place, "content": {"type": "str", "required": True}, "mode": {"type": "str"}},
            },
            "owner": {"type": "str", "default": "root"},
            "group": {"type": "str", "default": "root"},
            "mode": {"type": "str", "default": "0644"},
        },
        supports_check_mode=True,
    )
    try:
        changes = apply(module.params, module.check_mode)
    except RefusedError as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=bool(changes),
        paths=[path for path, _ in changes],
        diff=[{"before_header": path, "after_header": path, **change} for path, change in changes],
    )


if __name__ == "__main__":
    main()
