#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""Desired state of paths on HDFS."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_hdfs
short_description: Bring paths on HDFS to a state
version_added: "0.1.0"
description:
  - Makes directories, uploads files, deletes, and sets owner, group, mode and replication, through WebHDFS, without a
    JVM.
  - Paths are done in their order, so a later one may lie in an earlier one. Missing parents are made.
  - A file is uploaded to a name beside and renamed into place with its owner and mode, so that no reader sees half of it.
  - A file of the same path and the same length counts as unchanged, since HDFS keeps no digest of the content. Put one
    into the name.
  - Waits for a NameNode that starts, is standby or in safe mode, and for a first DataNode.
notes:
  - "Roles that use this module: C(namenode), C(spark), C(tez)."
seealso:
  - module: hopshive_hdfs_check
options:
  url:
    description: URLs of the NameNodes, C(http://namenode:9870). Several of a pair are tried in turn.
    type: list
    elements: str
    required: true
  authority:
    description: >-
      File with the certificates of the authority (CA) that vouches for NameNodes and DataNodes, where O(url) is C(https://).
      The default is those of the system.
    type: path
  user:
    description: The user of the calls. To set owners it must be the user that the NameNode runs as.
    type: str
    default: hdfs
  timeout:
    description: How long a NameNode that cannot answer yet is waited for, in seconds.
    type: int
    default: 60
  parent_owner:
    description: Owner of parents that have to be made. The default is O(user).
    type: str
  parent_group:
    description: Group of parents that have to be made. The default is that of the directory above.
    type: str
  parent_mode:
    description: Mode of parents that have to be made.
    type: str
    default: "0755"
  paths:
    description: The wanted paths.
    type: list
    elements: dict
    required: true
    suboptions:
      path:
        description: An absolute path, without a scheme.
        type: str
        required: true
      state:
        description: A directory, a file with the content of O(paths[].src), or nothing.
        type: str
        choices: [directory, file, absent]
        default: directory
      owner:
        description: Its owner. Left as it is if not given.
        type: str
      group:
        description: Its group. Left as it is if not given.
        type: str
      mode:
        description: Its mode, octal and quoted; V("1777") has the sticky bit. Left as it is if not given.
        type: str
      acl:
        description:
          - Entries that the ACL of a directory has besides owner, group and others, as C(hdfs dfs -getfacl) writes them.
            Other entries stay.
          - The mode of a directory with an ACL bounds what its entries allow, by the digit of the group.
        type: list
        elements: str
      tree:
        description:
          - Whether all directories below get O(paths[].acl), too, when the directory itself lacks it or O(paths[].mode).
          - The mode is set last, so that an interrupted run begins again.
        type: bool
        default: false
      src:
        description: A file on the host, for V(state=file).
        type: path
      replication:
        description: Copies of each block of a file. Left as it is, or to the NameNode, if not given.
        type: int
      recursive:
        description: Whether a directory to be absent may have entries.
        type: bool
        default: false
requirements:
  - the hopshive package in the Python that runs the module
attributes:
  check_mode:
    support: full
    description: Reads HDFS and foretells. A property that the NameNode chooses is empty in the foretold state.
  diff_mode:
    support: full
    description: The properties of each path that changes.
  idempotent:
    support: full
    description: As far as length and name tell the content of a file.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Make the warehouse's directories
  hopshive_hdfs:
    url: "{{ cluster_webhdfs }}"
    authority: "{{ __cluster_tls_authority or omit }}"
    user: hdfs
    paths:
      - {path: /tmp, owner: hdfs, group: hadoop, mode: "1777"}
      - {path: "{{ cluster_warehouse_managed }}", owner: hive, group: hadoop, mode: "0770"}

- name: Upload the Tez archive
  hopshive_hdfs:
    url: [http://namenode1:9870, http://namenode2:9870]
    paths:
      - path: /apps/tez/tez-0.10.4-1a2b3c4d.tar.gz
        state: file
        src: /opt/hopshive/tez/current/share/tez.tar.gz
        owner: hdfs
        group: hadoop
        mode: "0644"

- name: Remove what an older version left
  hopshive_hdfs:
    url: http://namenode:9870
    paths:
      - {path: /apps/tez/old, state: absent, recursive: true}
"""

RETURN = r"""
changes:
  description: Each path that changed, parents that were made included, in the order of the changes.
  returned: always
  type: list
  elements: dict
  sample:
    - path: /tmp
      operations: [MakeDirectory, SetOwner]
      before: null
      after: {state: directory, owner: hdfs, group: hadoop, mode: "1777"}
"""

from typing import Any

from ansible.module_utils.hopshive_module import importing, start

with importing:
    from hopshive.hdfs.batch import Batch, local_length
    from hopshive.hdfs.wanted import Parents, Wanted, WebHdfsError, normal_mode, normal_path
    from hopshive.hdfs.webhdfs import WebHdfs


def mode_of(text: str | None, path: str) -> str | None:
    """A mode as the NameNode writes it."""
    try:
        return None if text is None else normal_mode(text)
    except ValueError:
        raise WebHdfsError(
            f'The mode {text!r} of {path} is none of HDFS. Give it octal and quoted, from "0000" to "1777".'
        ) from None


def wanted(entry: dict[str, Any], *, dry: bool) -> Any:
    """An entry of `paths`, checked. In a dry run a source that an earlier task would make may be missing."""
    path = normal_path(entry["path"])
    length = 0
    if entry["state"] == "file":
        if not entry["src"]:
            raise WebHdfsError(f"{path} must be a file, so it needs src, a file on the host.")
        try:
            length = local_length(entry["src"])
        except WebHdfsError:
            if not dry:
                raise
    return Wanted(
        path=path,
        state=entry["state"],
        owner=entry["owner"],
        group=entry["group"],
        mode=mode_of(entry["mode"], path),
        src=entry["src"],
        length=length,
        replication=entry["replication"],
        recursive=entry["recursive"],
        acl=None if entry["acl"] is None else frozenset(entry["acl"]),
        tree=entry["tree"],
    )


def shown(outcome: Any) -> dict[str, Any]:
    """An outcome as it is returned."""
    return {
        "path": outcome.path,
        "operations": [type(operation).__name__ for operation in outcome.operations],
        "before": outcome.before.shown() if outcome.before else None,
        "after": outcome.after.shown() if outcome.after else None,
    }


def main() -> None:
    module = start(
        argument_spec={
            "url": {"type": "list", "elements": "str", "required": True},
            "authority": {"type": "path"},
            "user": {"type": "str", "default": "hdfs"},
            "timeout": {"type": "int", "default": 60},
            "parent_owner": {"type": "str"},
            "parent_group": {"type": "str"},
            "parent_mode": {"type": "str", "default": "0755"},
            "paths": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "path": {"type": "str", "required": True},
                    "state": {"type": "str", "choices": ["directory", "file", "absent"], "default": "directory"},
                    "owner": {"type": "str"},
                    "group": {"type": "str"},
                    "mode": {"type": "str"},
                    "src": {"type": "path"},
                    "replication": {"type": "int"},
                    "recursive": {"type": "bool", "default": False},
                    "acl": {"type": "list", "elements": "str"},
                    "tree": {"type": "bool", "default": False},
                },
            },
        },
    )
    parameters = module.params
    changes: list[dict[str, Any]] = []
    client = WebHdfs(
        parameters["url"],
        parameters["user"],
        timeout=parameters["timeout"],
        authority=parameters["authority"] or "",
    )
    try:
        parents = Parents(
            owner=parameters["parent_owner"],
            group=parameters["parent_group"],
            mode=mode_of(parameters["parent_mode"], "parents"),
        )
        batch = Batch(client, parents, dry=module.check_mode)
        for entry in [wanted(entry, dry=module.check_mode) for entry in parameters["paths"]]:
            changes += [shown(outcome) for outcome in batch.bring(entry)]
    except WebHdfsError as error:
        module.fail_json(msg=str(error), changed=bool(changes) and not module.check_mode, changes=changes)
    finally:
        client.close()
    module.exit_json(
        changed=bool(changes),
        changes=changes,
        diff={
            "before": {change["path"]: change["before"] for change in changes},
            "after": {change["path"]: change["after"] for change in changes},
        },
    )


if __name__ == "__main__":
    main()
